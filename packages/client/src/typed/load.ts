/** Typed bulk loads: a function beside the typed interface, so that web pages that load nothing do not carry it. */
import type { AshlarClient } from '../client.ts'
import { AshlarRequestError } from '../errors.ts'
import type { LoadOptions } from '../options.ts'
import type { BulkCreation, BulkSummary } from '../wire.ts'
import type { ClassName, Concrete, Database } from './database.ts'
import type { NewValues } from './schema-types.ts'
import { isFields } from './statement.ts'

/** Creates any number of objects, in several commits. Throws the first failure, unless `onError` is `skip`. */
export async function load<S, N extends ClassName<S>>(
  { client }: Database<S, AshlarClient>,
  className: Concrete<S, N>,
  objects: AsyncIterable<NewValues<S[N]>> | Iterable<NewValues<S[N]>>,
  options: LoadOptions = {},
): Promise<BulkSummary['summary']> {
  async function* lines(): AsyncGenerator<BulkCreation> {
    for await (const values of objects)
      yield { class: className, attributes: escaped(values, className) as Record<string, unknown> }
  }
  for await (const reply of client.loadObjects(lines(), options)) {
    if ('summary' in reply) return reply.summary
    if (reply.error !== undefined && options.onError !== 'skip')
      throw new AshlarRequestError(reply.error.status, reply.error)
  }
  throw new TypeError('The load has ended without a summary.')
}

const referenceText = /^(\$+)\{[A-Za-z_][A-Za-z0-9_-]*\}$/

/** In a line, the text `${a}` refers to another line, and `$${a}` is the text `${a}`, so that no line has the text `$${a}`. */
function escaped(value: unknown, className: string, attribute = ''): unknown {
  if (typeof value === 'string') {
    const dollars = referenceText.exec(value)?.[1]?.length
    if (dollars === 2)
      throw new TypeError(
        `load of ${className}: ${attribute} cannot be '${value}' in a load. Create this object by itself.`,
      )
    return dollars === 1 ? `$${value}` : value
  }
  if (Array.isArray(value)) return value.map((element) => escaped(element, className, attribute))
  if (!isFields(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, escaped(inner, className, attribute || name)]),
  )
}
