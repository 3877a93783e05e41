/** Recreates the sequences of another federated database with their next numbers. */
import { runInCatalogTransaction } from '../ddl/catalog-transaction.ts'
import type { CatalogWriter } from '../ddl/catalog-writer.ts'
import { AshlarError } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CreateSequence } from '../schema/commands.ts'
import type { OpenDatabase } from '../write/open-database.ts'

/** Throws ClassExists. */
export function requireNoClasses({ state }: Catalog): void {
  if (state.classes.length === 0) return
  throw new AshlarError('ClassExists', 'The federated database has classes already: it has to be empty.')
}

/** `sequences`: the JSON output of `listSequences`. Throws InvalidDefinition, ClassExists, and the errors of `createSequence`. */
export async function makeSequences(
  database: OpenDatabase,
  writer: CatalogWriter,
  sequences: readonly unknown[],
): Promise<void> {
  if (sequences.length === 0) return
  const read = sequences.map(readSequence)
  await runInCatalogTransaction(
    database,
    writer,
    async (open, transaction) => {
      const scope = open(transaction)
      requireNoClasses(scope.catalog)
      for (const { next, ...command } of read) {
        await scope.createSequence(command)
        scope.restartSequence({ name: command.name, next })
      }
    },
    {},
  )
}

/** `next` is undefined if the sequence is exhausted. */
function readSequence(input: unknown): CreateSequence & { readonly next: bigint | undefined } {
  const { name, start, step, next } = input as Readonly<Record<string, unknown>>
  if (typeof name !== 'string') throw malformed('A sequence has no name.')
  const int64Of = (field: string, digits: unknown): bigint => {
    if (typeof digits === 'string' && /^-?\d{1,19}$/.test(digits)) return BigInt(digits)
    throw malformed(`Sequence ${name.slice(0, 60)}: ${field} is no integer of 64 bits, as decimal digits in a text.`)
  }
  const following = next === null ? undefined : int64Of('next', next)
  return { name, start: int64Of('start', start), step: int64Of('step', step), next: following }
}

function malformed(message: string): AshlarError {
  return new AshlarError('InvalidDefinition', message)
}
