/** The server as a library. `exports/` has further exports for the command line. */
export { type Config, ConfigError, type ConfigSource } from './config/config.ts'
export { mergeConfig } from './config/merge-config.ts'
export { type ProblemType, problemEntry, problemTypes } from './errors/server-errors.ts'
export { buildServer, type ServerOptions } from './http/server.ts'
export { openApiDocument } from './openapi/openapi.ts'
export { type RunningServer, startServer } from './start-server.ts'
export { Worker } from './workers/worker.ts'
