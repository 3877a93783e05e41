/** The configuration file: JSON, or the XML of the original server. */
import { readFileSync } from 'node:fs'
import { parse as parseLossless } from 'lossless-json'
import { ConfigError, type ConfigSource, type NotedSource } from './config.ts'
import { configFromXml } from './config-xml.ts'
import { requireConfigObject, suggestSetting, unreadableFile } from './read-value.ts'
import { mayBeNull, renamedNote, settings } from './settings.ts'

const byKey = new Map(
  settings.filter(({ isNotInFile }) => isNotInFile !== true).map((setting) => [setting.field as string, setting]),
)

export function readConfigFile(file: string): NotedSource {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`The configuration file ${file} cannot be read: ${unreadableFile(error)}.`)
  }
  if (text.trimStart().startsWith('<')) return configFromXml(text, file)
  return { source: configFromJson(text, file), notes: [] }
}

/** JSON.parse does not always report the position. */
function faultOf(text: string, { message: nativeMessage }: Error): string {
  try {
    parseLossless(text)
  } catch (error) {
    const [, what, position] = /^(.*) at position (\d+)$/s.exec((error as Error).message) ?? []
    if (what !== undefined) {
      const before = text.slice(0, Number(position)).split('\n')
      return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${what}`
    }
  }
  return nativeMessage
}

/** `file`: the file name, for messages. */
export function configFromJson(text: string, file: string): ConfigSource {
  let json: unknown
  try {
    json = JSON.parse(withoutComments(text))
  } catch (error) {
    throw new ConfigError(
      `The configuration file ${file} is not JSON: ${faultOf(withoutComments(text), error as Error)}`,
    )
  }
  const source: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(requireConfigObject(json, `The configuration file ${file}`))) {
    const setting = byKey.get(name)
    if (setting === undefined) {
      const note = renamedNote(name) ?? `there is no setting ${name}.${suggestSetting(name, [...byKey.keys()])}`
      throw new ConfigError(`${file}: ${note}`)
    }
    if (value === null && mayBeNull(setting)) continue
    source[name] = (setting.readInFile ?? setting.read)(value, `${name} in ${file}`)
  }
  return source
}

const commentOrText = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g

export function withoutComments(text: string): string {
  return text.replaceAll(commentOrText, (found) => (found.startsWith('"') ? found : found.replaceAll(/[^\n]/g, ' ')))
}
