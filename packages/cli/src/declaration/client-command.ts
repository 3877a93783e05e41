/** Declares commands that talk to a server, with their common options. The implementation is loaded when a command runs. */

import { clientVariables } from '@ashlar/server/shared'
import { type Command, Option } from 'commander'
import type { ClientCommandName } from './client-commands.ts'

export interface ClientCommandOptions {
  /** Whether the command has no result for a file or a program. */
  readonly hasNoOutput?: true
  /** The command concerns the server, not one federated database. */
  readonly isServerWide?: true
}

/** Adds the command to `parent`. `usage`: its name and operands in the syntax of commander; `name`: its key in `client-commands.ts`. */
export function addClientCommand(
  parent: Command,
  usage: string,
  description: string,
  name: ClientCommandName,
  options: ClientCommandOptions = {},
): Command {
  const command = parent.command(usage).summary(firstSentence(description)).description(description)
  addConnectionOptions(command, options)
  if (options.hasNoOutput !== true) addOutputOptions(command)
  return command.optionsGroup('Options:').action(async () => {
    const { runClientCommand } = await import('./client-commands.ts')
    await runClientCommand(name, command.processedArgs, command.opts())
  })
}

/** Returns the summary for lists of commands. */
export function firstSentence(text: string): string {
  return /^.*?[.:](?= |$)/s.exec(text)?.[0].replace(/:$/, '.') ?? text
}

export function addConnectionOptions(command: Command, { isServerWide }: ClientCommandOptions): void {
  const { url, fd, token, tokenFile, user, password, ca, profile } = clientVariables
  const all: readonly (readonly [string, string])[] = [
    ['--url <url>', `URL of the server (${url}; default: http://127.0.0.1:8185)`],
    ...(isServerWide === true
      ? []
      : ([['--fd <alias>', `the federated database (${fd}; default: the server's default)`]] as const)),
    [
      '--token <token>',
      `authenticate with this token; ${token} is safer, since the process list shows options to other users`,
    ],
    ['--token-file <file>', `file that contains the token (${tokenFile})`],
    ['--user <name>', `authenticate as this user (${user}), with the password in ${password}`],
    ['--ca <file>', `trusted certificate authorities, a PEM file (${ca})`],
    ['--profile <name>', `use this profile of the profile file (${profile})`],
  ]
  for (const [flags, text] of all) command.addOption(new Option(flags, text).helpGroup('Connection:'))
}

export function addOutputOptions(command: Command): void {
  addJsonOption(command)
  const all: readonly (readonly [string, string])[] = [
    ['-q, --quiet', 'print only data: no headings, notes or progress'],
    ['-o, --output <file>', 'write to a file, which appears only once it is complete'],
  ]
  for (const [flags, text] of all) command.addOption(new Option(flags, text).helpGroup('Output:'))
}

export function addJsonOption(command: Command): Command {
  return command.addOption(new Option('--json', 'print JSON, for errors too').helpGroup('Output:'))
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value]
}
