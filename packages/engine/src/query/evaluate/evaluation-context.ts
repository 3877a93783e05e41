/** What expressions are worked out with: the row in its slots, and what is the same for all rows. */
import type { RequestMemory } from '../../budget/request-memory.ts'
import type { Entry } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import type { Work } from '../functions/work.ts'
import type { ObjectView } from './object-view.ts'

/** Reads what expressions follow. Throws `needsFetch` where the store answers later: the row is then worked out again. */
export interface ObjectReader {
  object(oid: Oid): ObjectView
  /** Says before going through them that all of these objects will be asked for, so that none is waited for alone. */
  prefetch(oids: readonly unknown[]): void
  /** Elements of a list or set, or pairs of a map, that are kept as link entries. */
  links(view: ObjectView, attribute: BoundAttribute): readonly unknown[]
  /** The same as they are stored; `index`: position of the attribute in the object's class. */
  linkEntries(view: ObjectView, index: number): readonly Entry[]
}

/** Thrown where an object has to be waited for. One value, because making an error each time would cost too much. */
export const needsFetch: unique symbol = Symbol('needs fetch')

/** Thrown where EXPLAIN, which carries nothing out, has no value: of variables and nested statements. */
export const unknownValue: unique symbol = Symbol('unknown value')

export interface EvaluationContext {
  /** The context objects (ObjectView) and elements of the row at hand. */
  readonly slots: unknown[]
  readonly reader: ObjectReader
  /** Values that are the same for all rows, by the place that was given out for them; `undefined` = not yet known. */
  readonly constants: unknown[]
  readonly variables: ReadonlyMap<string, unknown>
  readonly nested: readonly unknown[]
  /** Results of aggregates, of the group at hand. */
  aggregates: readonly unknown[]
  /** Ticks since 0001-01-01 in UTC, the same during the statement. */
  readonly now: number
  readonly text: string
  /** Charged with what expressions make, before they make it. */
  readonly memory: RequestMemory
  readonly textCharactersMax: number
  readonly work: Work
}

export type Evaluate = (evaluation: EvaluationContext) => unknown
