/** The tree of all commands, from which parsing, help, completions, the manual page and docs/command-line.md follow. */

import { version } from '@ashlar/server/shared'
import { Command } from 'commander'
import {
  addBenchCommand,
  addChangesCommand,
  addDataCommands,
  addIndexCommand,
  addObjectCommands,
  addQueryCommand,
  addSchemaCommand,
  addServerCommands,
  addShellCommand,
  addToolCommand,
  addTypesCommand,
  addWebhookCommand,
} from '../declaration/command-declarations.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { addRoleCommand, addTokenCommand, addUserCommand } from '../security/security-commands.ts'
import { addDemoCommand } from '../serve/demo.ts'
import { addDevCommand } from '../serve/dev.ts'
import { addInitCommand } from '../serve/init.ts'
import { addNewCommand } from '../serve/new.ts'
import { failureLine } from '../serve/process.ts'
import { addServeCommand } from '../serve/serve.ts'
import { addBackupCommand, addRestoreCommand } from '../stores/backup.ts'
import { addCompactCommand } from '../stores/compact.ts'
import { addCopyCommand } from '../stores/copy.ts'
import { addVerifyCommand } from '../stores/verify.ts'
import { addCompletionCommand } from './completion.ts'

interface Declared {
  /** The first words that select the commands. */
  readonly names: readonly string[]
  add(program: Command): void
}

const sections: Readonly<Record<string, readonly Declared[]>> = {
  'Server:': [
    { names: ['serve'], add: addServeCommand },
    { names: ['init'], add: addInitCommand },
    { names: ['new'], add: addNewCommand },
    { names: ['dev'], add: addDevCommand },
    { names: ['demo'], add: addDemoCommand },
    { names: ['status', 'fd'], add: addServerCommands },
  ],
  'Data:': [
    { names: ['query'], add: addQueryCommand },
    { names: ['shell'], add: addShellCommand },
    { names: ['get', 'create', 'update', 'delete'], add: addObjectCommands },
    { names: ['import', 'export'], add: addDataCommands },
    { names: ['changes'], add: addChangesCommand },
  ],
  'Schema and administration:': [
    { names: ['schema'], add: addSchemaCommand },
    { names: ['types'], add: addTypesCommand },
    { names: ['index'], add: addIndexCommand },
    { names: ['tool'], add: addToolCommand },
    { names: ['webhook'], add: addWebhookCommand },
    { names: ['user'], add: addUserCommand },
    { names: ['token'], add: addTokenCommand },
    { names: ['role'], add: addRoleCommand },
    { names: ['bench'], add: addBenchCommand },
  ],
  'On the machine of the server:': [
    { names: ['backup'], add: addBackupCommand },
    { names: ['restore'], add: addRestoreCommand },
    { names: ['copy'], add: addCopyCommand },
    { names: ['verify'], add: addVerifyCommand },
    { names: ['compact'], add: addCompactCommand },
  ],
  'Other:': [{ names: ['completion'], add: addCompletionCommand }],
}

/**
 * Throws CommanderError for an invalid command line. `first`: its first word; if it is a command, the other commands are not declared, which would
 * take longer than many commands do. `isJson`: errors are printed as JSON.
 */
export function programOf(first?: string, isJson = false): Command {
  const program = new Command('ashlar')
    .description('An open, federated object database behind plain REST.')
    .version(version)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(failureLine(exitCodes.usage, sentenceOf(text), isJson)) })
    .showSuggestionAfterError()
  const selected = Object.values(sections)
    .flat()
    .find(({ names }) => first !== undefined && names.includes(first))
  if (selected !== undefined) {
    selected.add(program)
    return program
  }
  for (const [heading, commands] of Object.entries(sections)) {
    program.commandsGroup(heading)
    for (const { add } of commands) add(program)
  }
  return program.addHelpText('after', `\nExit codes: ${exitCodesText()}.`)
}

function exitCodesText(): string {
  return Object.entries(exitCodes)
    .map(([name, code]) => `${code} ${name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`)
    .join(', ')
}

/** Converts a message of Commander, such as `error: unknown option '--x'`, which may have a second line with a suggestion. */
function sentenceOf(text: string): string {
  const [first = '', ...others] = text.trimEnd().split('\n')
  const sentence = first.replace(/^error: (.)/, (_, letter: string) => letter.toUpperCase()).replace(/\.$/, '')
  return [`${sentence}.`, ...others.map((line) => line.replace(/^\((.*)\)$/, '$1'))].join(' ')
}
