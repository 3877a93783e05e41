/** The commands that talk to a server: what each of them does, and what they have in common when they run. */

import { setMaxListeners } from 'node:events'
import { runBench } from './client/bench.ts'
import { listChanges } from './client/changes.ts'
import { exportData } from './client/export.ts'
import { listFds, showFd } from './client/fds.ts'
import { importFile } from './client/import.ts'
import { createIndex, dropIndex, listIndexes } from './client/indexes.ts'
import { createObjects, deleteObjects, getObjects, updateObject } from './client/objects.ts'
import { runQuery } from './client/query.ts'
import {
  applySchema,
  checkSchema,
  diffSchema,
  drawSchema,
  planSchema,
  pullSchema,
  showSchemaLog,
} from './client/schema.ts'
import { showStatus } from './client/status.ts'
import { listTools, runTool } from './client/tools.ts'
import {
  dropDeadLetter,
  listDeadLetters,
  listWebhooks,
  redeliverDeadLetter,
  resumeWebhook,
  showDeadLetter,
} from './client/webhooks.ts'
import type { CommandContext } from './command-context.ts'
import { CommandError } from './command-error.ts'
import { type ConnectionOptions, connect } from './connection.ts'
import { exitCodes } from './exit-codes.ts'
import { tellCommandFailure } from './failure.ts'
import { Output, type OutputOptions, ReaderGone } from './output.ts'
import { runShell } from './shell/run-shell.ts'

export { loadDemo } from './client/load-demo.ts'

/** By name, as their declarations have them. */
const commands = {
  applySchema,
  checkSchema,
  createIndex,
  createObjects,
  deleteObjects,
  diffSchema,
  drawSchema,
  dropDeadLetter,
  dropIndex,
  exportData,
  getObjects,
  importFile,
  listChanges,
  listDeadLetters,
  listFds,
  listIndexes,
  listTools,
  listWebhooks,
  planSchema,
  pullSchema,
  redeliverDeadLetter,
  resumeWebhook,
  runBench,
  runQuery,
  runShell,
  runTool,
  showDeadLetter,
  showFd,
  showSchemaLog,
  showStatus,
  updateObject,
} satisfies Readonly<Record<string, unknown>>

/** What it is told to be after Ctrl-C, where its work has nothing better to say. */
const stopped =
  'Stopped. A change that was under way was made as a whole, or not at all: look before you make it again.'

export type ClientCommandName = keyof typeof commands

/** `words`: the operands. Sets the exit code of the process; throws only by a fault of ours. */
export async function runClientCommand(name: ClientCommandName, words: unknown[], options: object): Promise<void> {
  const interrupted = new AbortController()
  const interrupt = (): void => {
    // A second one ends the process as ever.
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    interrupted.abort(new CommandError(exitCodes.interrupted, stopped))
  }
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  // As many listen as requests are under way.
  setMaxListeners(0, interrupted.signal)
  let text: string | undefined
  try {
    const output = new Output(options as OutputOptions)
    try {
      const connection = connect(options as ConnectionOptions, process.env, interrupted.signal)
      const context: CommandContext = {
        connection,
        client: connection.client,
        output,
        signal: interrupted.signal,
        explainWith(explained) {
          text = explained
        },
      }
      const work = commands[name] as (context: CommandContext, words: unknown[], options: object) => Promise<void>
      await work(context, words, options)
      await output.finish()
    } catch (error) {
      await output.discard()
      throw error
    }
  } catch (error) {
    if (error instanceof ReaderGone) return
    const told = interrupted.signal.aborted && !(error instanceof CommandError) ? interrupted.signal.reason : error
    tellCommandFailure(told, { isJson: (options as OutputOptions).json === true, text })
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
  }
}
