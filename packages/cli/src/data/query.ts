/** `ashlar query`: executes statements of DO, and prints their rows as they arrive. */
import { type CommandContext, parseJsonInput, readInput, readInputFile } from '../connection/command-context.ts'
import { invalidInput, usageError } from '../errors/command-error.ts'
import { stringifyExactly } from '../output/exact-json.ts'
import { durationText, numberText } from '../output/texts.ts'
import { type RowFormat, writeFormattedRows } from './rows.ts'

interface QueryOptions {
  readonly file?: string
  readonly param?: readonly string[]
  readonly format?: RowFormat
  readonly explain?: boolean
  readonly analyze?: boolean
  readonly quiet?: boolean
}

export async function runQueryCommand(
  context: CommandContext,
  [word]: readonly (string | undefined)[],
  options: QueryOptions,
): Promise<void> {
  const { client, output, signal } = context
  if (output.isJson && options.format !== undefined && options.format !== 'json')
    throw usageError(`Give --json or --format ${options.format}, not both.`)
  const text = queryText(word, options.file)
  context.explainWith(text)
  const parameters = parametersOf(options.param ?? [])
  if (options.explain === true || options.analyze === true) {
    const plans = await client.explain(text, parameters, { isAnalyzed: options.analyze === true })
    return output.data(plans, () => [stringifyExactly(plans, 2)])
  }
  const rows = client.queryStream<unknown>(text, parameters, { signal })
  const format = output.isJson ? 'json' : (options.format ?? 'table')
  const started = performance.now()
  const count = await writeFormattedRows(format, rows, output, options.quiet === true)
  if (format === 'table')
    output.note(`${numberText(count)} ${count === 1 ? 'row' : 'rows'}, ${durationText(performance.now() - started)}`)
}

function queryText(word: string | undefined, file: string | undefined): string {
  if (word !== undefined && file !== undefined) throw usageError('Give the statements or --file, not both.')
  const text = file !== undefined ? readInputFile(file) : word === '-' || word === undefined ? readInput('-') : word
  if (text.trim() === '') throw invalidInput('There is no statement.')
  return text
}

/** Parses `name=text` and `name:=<JSON>`. */
export function parametersOf(words: readonly string[]): Record<string, unknown> | undefined {
  if (words.length === 0) return undefined
  const pairs = words.map((word) => {
    const [, name = '', colon, value = ''] = /^\$?([^=:]+)(:?)=(.*)$/s.exec(word) ?? []
    if (name === '') throw usageError(`${word} is neither name=text nor name:=JSON.`)
    return [name, colon === ':' ? parseJsonInput(value, `The value of ${name}`) : value] as const
  })
  return Object.fromEntries(pairs)
}
