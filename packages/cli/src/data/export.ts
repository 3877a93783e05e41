/** `ashlar export`: writes a class, a query result or a whole federated database to a file. */

import type { ExportOptions } from '@ashlar/client'
import type { CommandContext } from '../connection/command-context.ts'
import { type CommandError, interruptedError, usageError } from '../errors/command-error.ts'
import { defined } from '../output/defined.ts'
import { ProgressLine } from '../output/progress.ts'

interface Options {
  readonly query?: string
  readonly format?: 'ndjson' | 'csv' | 'archive'
  readonly columns?: string
  readonly escapeFormulas?: boolean
  readonly after?: string
  readonly quiet?: boolean
}

/** Files are complete or not written; standard output may be incomplete. */
function stoppedExport(file: string | undefined, { class: className, format }: ExportOptions): CommandError {
  const proceeds =
    className === undefined || format === 'csv' ? '' : ' --after <OID of the last whole line> goes on from there.'
  const left =
    file === undefined
      ? `What was written is not all of it.${proceeds}`
      : `${file} was not written; run the same command again.`
  return interruptedError(`The export was stopped. ${left}`)
}

/** Refuses contradictory options in the terms of the command; the server refuses the rest. */
function refuseContradictions(className: string | undefined, options: Options): void {
  const { query, format, columns, escapeFormulas, after } = options
  const isUnfiltered = className === undefined && query === undefined
  const contradictions: readonly (readonly [boolean | undefined, string])[] = [
    [className !== undefined && query !== undefined, 'Give a class or --query, not both.'],
    [after !== undefined && className === undefined, '--after is for the export of a class.'],
    [columns !== undefined && format !== 'csv', '--columns is for --format csv.'],
    [escapeFormulas === true && format !== 'csv', '--escape-formulas is for --format csv.'],
    [
      format === 'csv' && isUnfiltered,
      '--format csv takes a class or --query, since CSV has the columns of one of them.',
    ],
    [
      format === 'archive' && !isUnfiltered,
      `An archive is of a whole federated database: leave out ${query === undefined ? 'the class' : '--query'}, or choose another --format.`,
    ],
  ]
  const [, message] = contradictions.find(([isContradiction]) => isContradiction === true) ?? []
  if (message !== undefined) throw usageError(message)
}

export async function exportData(
  { client, output, signal }: CommandContext,
  [className]: readonly (string | undefined)[],
  options: Options,
): Promise<void> {
  refuseContradictions(className, options)
  const { query, format, columns, escapeFormulas, after } = options
  const isArchive = format === 'archive' || (format === undefined && className === undefined && query === undefined)
  if (isArchive && output.terminal !== undefined) {
    throw usageError('An archive is not for a terminal: name a file by --output.')
  }
  if (output.isJson && output.file === undefined && (isArchive || format === 'csv')) {
    const message = `${isArchive ? 'An archive' : 'CSV'} is not JSON: name a file by --output, or leave out --json.`
    throw usageError(message)
  }
  const names = columns?.split(',')
  const request = defined({ signal, class: className, query, format, columns: names, escapeFormulas, after })
  const progress = new ProgressLine({ unit: 'bytes', isQuiet: output.hidesProgress || output.terminal !== undefined })
  let bytes = 0
  try {
    for await (const chunk of client.export(request)) {
      await output.write(chunk)
      bytes += chunk.length
      progress.update(bytes)
    }
  } catch (error) {
    throw signal.aborted ? stoppedExport(output.file, request) : error
  } finally {
    progress.stop()
  }
}
