/** The configuration of a server from the options of `ashlar serve`, which follow from its settings. */
import {
  ConfigError,
  type ConfigSource,
  defaultText,
  optionName,
  renamedNote,
  renamedOptions,
  type Setting,
  settings,
} from '@ashlar/server/shared'
import { type Command, Option } from 'commander'

const optionSettings = settings.flatMap((setting) =>
  setting.option === undefined ? [] : [{ setting, flags: setting.option }],
)

export function addOptions(command: Command): Command {
  for (const { setting, flags } of optionSettings) command.addOption(optionOf(setting, flags))
  for (const name of renamedOptions) command.addOption(new Option(name).hideHelp())
  return command
}

function optionOf(setting: Setting, flags: string): Option {
  const note = [
    setting.isRepeatable === true ? 'repeatable' : '',
    flags.includes(' ') ? `default: ${defaultText(setting)}` : '',
  ].filter((one) => one !== '')
  const option = new Option(flags, `${setting.help}${note.length === 0 ? '' : ` (${note.join('; ')})`}`)
  const collect = (value: string, previous: readonly string[] = []): string[] => [...previous, value]
  return setting.isRepeatable === true ? option.argParser(collect) : option
}

/** `options`: as parsed by commander. */
export function configFromOptions(options: Readonly<Record<string, unknown>>): ConfigSource {
  const source: Record<string, unknown> = {}
  const former = renamedOptions.find((name) => options[new Option(name).attributeName()] !== undefined)
  if (former !== undefined) throw new ConfigError(renamedNote(former))
  for (const { setting, flags } of optionSettings) {
    const value = options[new Option(flags).attributeName()]
    if (value !== undefined) source[setting.field] = setting.read(value, optionName(flags))
  }
  return source
}
