/** The configuration file: our JSON, or the XML of the original server. */
import { readFileSync } from 'node:fs'
import { ConfigError, type ConfigFile, type ConfigSource } from './config.ts'
import { configFromXml } from './config-xml.ts'
import { didYouMean, objectOf } from './read-value.ts'
import { nowhere, renamedNote, settings } from './settings.ts'
import { withoutComments } from './strip-comments.ts'
import { unreadableFile } from './unreadable-file.ts'

const byKey = new Map(
  settings.filter(({ readInFile }) => readInFile !== nowhere).map((setting) => [setting.field as string, setting]),
)

/** Throws ConfigError. */
export function readConfigFile(file: string): ConfigFile {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(
      `The configuration file ${file} cannot be read: ${unreadableFile(error as NodeJS.ErrnoException)}`,
    )
  }
  if (text.trimStart().startsWith('<')) return configFromXml(text, file)
  return { source: configFromJson(text, file), notes: [] }
}

/** `file`: its name, for messages. Throws ConfigError. */
export function configFromJson(text: string, file: string): ConfigSource {
  let json: unknown
  try {
    json = JSON.parse(withoutComments(text))
  } catch (error) {
    throw new ConfigError(`The configuration file ${file} is not JSON: ${(error as Error).message}`)
  }
  const source: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(objectOf(json, `The configuration file ${file}`))) {
    const setting = byKey.get(name)
    if (setting === undefined) {
      const note = renamedNote(name) ?? `there is no setting ${name}.${didYouMean(name, [...byKey.keys()])}`
      throw new ConfigError(`${file}: ${note}`)
    }
    const read = (setting.readInFile ?? setting.read)(value, `${name} in ${file}`)
    if (read !== undefined) source[name] = read
  }
  return source
}
