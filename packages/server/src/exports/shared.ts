/** The exports that the command line uses before it starts a server: settings, limits, version. Loads neither the engine nor the HTTP server. */
export { acceptsAnyHost, isLoopback } from '../browsers/host-names.ts'
export { type Config, ConfigError, type ConfigSource, storesOf } from '../config/config.ts'
export { clientVariables, configFromEnvironment } from '../config/config-environment.ts'
export { mergeConfig } from '../config/merge-config.ts'
export { readDuration, readPort, splitValues, suggestSetting, unreadableFile } from '../config/read-value.ts'
export {
  defaultText,
  optionName,
  renamedNote,
  renamedOptions,
  type Setting,
  settings,
} from '../config/settings.ts'
export { defaultServerLimits } from '../limits.ts'
export { noTokenId, tokenIdOf } from '../security/secrets.ts'
export { packageName, version } from '../version.ts'
