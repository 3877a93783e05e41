/** The implementations of the commands that talk to a server, and how they run. */
import { runBench } from './client/bench.ts'
import { listChanges } from './client/changes.ts'
import { exportData } from './client/export.ts'
import { importFile } from './client/import.ts'
import { createIndex, dropIndex, listIndexes } from './client/indexes.ts'
import { createObjects, deleteObjects, getObjects, updateObject } from './client/objects.ts'
import { runQuery } from './client/query.ts'
import * as schema from './client/schema.ts'
import { listFds, showFd, showStatus } from './client/status.ts'
import * as tools from './client/tools.ts'
import * as webhooks from './client/webhooks.ts'
import type { CommandContext } from './command-context.ts'
import { type ConnectionOptions, connect } from './connection.ts'
import type { OutputOptions } from './output.ts'
import { runCommand, stopped } from './run-command.ts'
import { runShell } from './shell/run-shell.ts'

export { loadDemo } from './client/load-demo.ts'

const others = {
  createIndex,
  createObjects,
  deleteObjects,
  dropIndex,
  exportData,
  getObjects,
  importFile,
  listChanges,
  listFds,
  listIndexes,
  runBench,
  runQuery,
  runShell,
  showFd,
  showStatus,
  updateObject,
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
]

function stoppedText(name: ClientCommandName, options: object): string {
  const isPlan = 'explain' in options || 'analyze' in options
  if (name === 'runQuery') return isPlan ? stopped.amidReading : stopped.amidStatements
  return readingCommands.includes(name) ? stopped.amidReading : stopped.amidChange
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
