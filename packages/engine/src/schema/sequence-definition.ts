/** Sequences: validates their definitions (contract 6.3). */
import { AshlarError, truncateForMessage } from '../errors.ts'
import type { SequenceNumber } from '../types/type-spec.ts'
import type { Catalog, DatabaseAction } from './catalog.ts'
import type { CatalogState, SequenceDefinition } from './class-definition.ts'
import { commandError } from './command-error.ts'
import type { CreateSequence } from './commands.ts'
import { isDefaultExpression, sequencesDrawn } from './expression.ts'
import { checkSequenceName, didYouMean, listOfNames } from './names.ts'

/** The maximum number of attributes that an error names. */
const usersNamedMax = 10

/** Sequence numbers are 64-bit integers. */
export const sequenceMin = -(2n ** 63n)
export const sequenceMax = 2n ** 63n - 1n

/** Returns the definition and the catalog state with it. Throws InvalidName, InvalidDefinition, SequenceExists. */
export function defineSequence(
  catalog: Catalog,
  { name, start, step }: CreateSequence,
): { definition: SequenceDefinition; state: CatalogState } {
  checkSequenceName(name)
  checkNumber(name, 'START', start)
  checkNumber(name, 'STEP', step)
  if (step === 0n) throw commandError('InvalidDefinition', `Sequence ${name}: STEP is not 0.`, ['step'])
  if (catalog.sequenceByName(name) !== undefined) {
    throw commandError('SequenceExists', `There is a sequence '${name}' already.`, ['name'])
  }
  const { state } = catalog
  const number = (state.counters.sequence ?? 1) as SequenceNumber
  const definition: SequenceDefinition = { number, name, start: String(start), step: String(step) }
  const counters = { ...state.counters, sequence: number + 1 }
  return { definition, state: { ...state, counters, sequences: [...state.sequences, definition] } }
}

/** Throws InvalidDefinition. */
export function checkNumber(name: string, word: 'START' | 'STEP' | 'RESTART', value: bigint): void {
  if (value >= sequenceMin && value <= sequenceMax) return
  const message = `Sequence ${name}: ${word} is an integer of 64 bits, from ${sequenceMin} to ${sequenceMax}, not ${value}.`
  throw commandError('InvalidDefinition', message, [word.toLowerCase()])
}

/** Throws SequenceNotFound. */
export function sequenceNamed({ state, sequenceByName }: Catalog, name: string): SequenceDefinition {
  const sequence = sequenceByName(name)
  if (sequence !== undefined) return sequence
  const names = state.sequences.map((one) => one.name)
  throw new AshlarError(
    'SequenceNotFound',
    `There is no sequence '${truncateForMessage(name)}'.${didYouMean(name, names)}`,
  )
}

/** Throws SequenceInUse if a default uses the sequence. */
export function withoutSequence(state: CatalogState, { number, name }: SequenceDefinition): CatalogState {
  const users = state.classes
    .filter(({ isDeleted }) => !isDeleted)
    .flatMap((cls) => {
      const drawing = cls.attributes.filter(({ spec, properties }) => {
        const value = properties?.own.default
        return isDefaultExpression(value, spec) && sequencesDrawn(value).includes(number)
      })
      return drawing.map((attribute) => `${cls.name}.${attribute.name}`)
    })
  if (users.length === 0) {
    return { ...state, sequences: state.sequences.filter((sequence) => sequence.number !== number) }
  }
  const named = users.slice(0, usersNamedMax)
  if (users.length > usersNamedMax) named.push(`${users.length - usersNamedMax} more`)
  throw new AshlarError('SequenceInUse', `Sequence ${name} is named by the defaults of ${listOfNames(named)}.`)
}

/** A sequence belongs to no class, so grants on single classes allow nothing with it. Throws Forbidden. */
export function requireDatabaseRight({ permitsOnDatabase }: Catalog, action: DatabaseAction): void {
  if (permitsOnDatabase === undefined || permitsOnDatabase(action)) return
  throw new AshlarError(
    'Forbidden',
    `Sequences are of the federated database as a whole, on which the caller may not ${action}.`,
  )
}
