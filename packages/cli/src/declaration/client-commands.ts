/** The implementations of the commands that talk to a server, and how they run. */
import { runBench } from '../administration/bench.ts'
import { createIndexCommand, dropIndexCommand, listIndexes } from '../administration/indexes.ts'
import { listFds, showFd, showStatus } from '../administration/status.ts'
import * as tools from '../administration/tools.ts'
import * as webhooks from '../administration/webhooks.ts'
import type { CommandContext } from '../connection/command-context.ts'
import { type ConnectionOptions, connect } from '../connection/connection.ts'
import { listChanges } from '../data/changes.ts'
import { exportData } from '../data/export.ts'
import { createObjects, deleteObjectsCommand, getObjects, updateObjectCommand } from '../data/objects.ts'
import { runQueryCommand } from '../data/query.ts'
import { runImport } from '../import/import.ts'
import type { OutputOptions } from '../output/output.ts'
import { interruptionMessages, runCommand } from '../output/run-command.ts'
import * as schema from '../schema/schema.ts'
import { runShell } from '../shell/run-shell.ts'
import { writeTypes } from '../types/types.ts'

export { followSchema } from '../develop/follow-schema.ts'
export { loadDemo } from '../import/load-demo.ts'

const others = {
  createIndex: createIndexCommand,
  createObjects,
  deleteObjects: deleteObjectsCommand,
  dropIndex: dropIndexCommand,
  exportData,
  getObjects,
  importFile: runImport,
  listChanges,
  listFds,
  listIndexes,
  runBench,
  runQuery: runQueryCommand,
  runShell,
  showFd,
  showStatus,
  updateObject: updateObjectCommand,
  writeTypes,
} satisfies Readonly<Record<string, unknown>>

const commands: Readonly<Record<ClientCommandName, unknown>> = { ...others, ...schema, ...tools, ...webhooks }

export type ClientCommandName = keyof typeof others | keyof typeof schema | keyof typeof tools | keyof typeof webhooks

/** Commands that change nothing, for the message after Ctrl-C. */
const readingCommands: readonly ClientCommandName[] = [
  'checkSchema',
  'diffSchema',
  'drawSchema',
  'getObjects',
  'listChanges',
  'listDeadLetters',
  'listFds',
  'listIndexes',
  'listTools',
  'listWebhooks',
  'planSchema',
  'pullSchema',
  'showDeadLetter',
  'showFd',
  'showSchemaLog',
  'showStatus',
  'writeTypes',
]

function stoppedText(name: ClientCommandName, options: object): string {
  const isPlan = 'explain' in options || 'analyze' in options
  if (name === 'runQuery') return isPlan ? interruptionMessages.amidReading : interruptionMessages.amidStatements
  return readingCommands.includes(name) ? interruptionMessages.amidReading : interruptionMessages.amidChange
}

/** `words`: the operands. Sets the exit code of the process; throws only on an internal error. */
export async function runClientCommand(name: ClientCommandName, words: unknown[], options: object): Promise<void> {
  await runCommand(
    options as OutputOptions,
    async (run) => {
      const connection = connect(options as ConnectionOptions, process.env, run.signal)
      const work = commands[name] as (context: CommandContext, words: unknown[], options: object) => Promise<void>
      await work({ ...run, connection, client: connection.client }, words, options)
    },
    stoppedText(name, options),
  )
}
