/** The server package's entry point: the server as a library, and its command line. */
export { run } from './cli/run.ts'
export { type Config, ConfigError, type ConfigSource } from './config/config.ts'
export { mergeConfig } from './config/merge-config.ts'
export { type ProblemType, problemEntry, problemTypes } from './errors/server-errors.ts'
export { buildServer, type ServerOptions } from './http/server.ts'
export { openApiDocument } from './openapi/openapi.ts'
export { type RunningServer, startServer } from './start-server.ts'
