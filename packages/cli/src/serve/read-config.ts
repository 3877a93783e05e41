/** The configuration of a server from options, environment and file. */
import { type Config, type ConfigSource, configFromEnvironment, mergeConfig } from '@ashlar/server/shared'

/** `notes`: sentences about ignored settings. Throws ConfigError. */
export async function readConfig(
  options: ConfigSource,
): Promise<{ readonly config: Config; readonly notes: readonly string[] }> {
  const environment = configFromEnvironment(process.env)
  const path = options.config ?? environment.source.config
  const file = path === undefined ? undefined : (await import('@ashlar/server/config-file')).readConfigFile(path)
  return {
    config: mergeConfig([options, environment.source, file?.source ?? {}]),
    notes: [...environment.notes, ...(file?.notes ?? [])],
  }
}
