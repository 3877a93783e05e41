/** The server package's door: the server as a library, and its command line. */
export { run } from './cli/run.ts'
export { type Config, ConfigError, type ConfigSource, mergeConfig } from './config/config.ts'
export { openApiDocument } from './openapi.ts'
export { buildServer, type ServerOptions } from './server.ts'
export { type ProblemType, problemEntry, problemTypes } from './server-errors.ts'
export { type RunningServer, startServer } from './start-server.ts'
