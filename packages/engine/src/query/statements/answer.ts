/** The replies of statements. */
import type { Oid } from '../../types/oid.ts'
import type { Binder } from '../bind/scope.ts'
import { RowsAtHand, rowBy } from '../execute/row-chunk.ts'
import type { Pipeline } from '../operators/row-operator.ts'
import type { RowChunk, RowChunks } from '../query-request.ts'
import type { TypedValue } from '../values/parameter-value.ts'
import type { ValueType } from '../values/value-type.ts'

/** The rows of a statement, which is carried out while they are taken where it only reads. They are taken once. */
export type Answer = RowChunks

export const noRows: Answer = new RowsAtHand([])

export function rowsAtHand(rows: readonly RowChunk[]): Answer {
  return new RowsAtHand(rows)
}

/** `[{"__class__", "__identifier__"}]` of what CREATE and UPSERT made or found. */
export function identifierRow({ type, value }: TypedValue): Answer {
  const className = type.kind === 'reference' && type.cls !== null ? type.cls.name : ''
  const oid = value as Oid
  return rowsAtHand([
    rowBy((json) => json.ascii(`{"__class__":${JSON.stringify(className)},"__identifier__":"${oid}"}`)),
  ])
}

/** No more is read than what the first rows take. */
export async function hasRows({ rows }: Pipeline<unknown>): Promise<boolean> {
  for await (const some of rows) if (some.length > 0) return true
  return false
}

interface RowsPlan {
  readonly rowType: ValueType
  readonly isSingle: boolean
}

/** What a statement with rows is where a value stands. */
export function rowsType({ rowType, isSingle }: RowsPlan): ValueType {
  return isSingle ? rowType : { kind: 'collection', form: 'list', element: rowType }
}

/** The same of a statement within another one, which is told whether that is one value. */
export function typeWithin(bound: RowsPlan, binder: Binder): ValueType {
  binder.isSingle = bound.isSingle
  return rowsType(bound)
}

export function rowsValue(plan: RowsPlan, values: readonly unknown[]): TypedValue {
  return { type: rowsType(plan), value: plan.isSingle ? (values[0] ?? null) : values }
}
