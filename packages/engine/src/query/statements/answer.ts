/** Replies of statements. */
import type { Oid } from '../../types/oid.ts'
import type { Binder } from '../bind/scope.ts'
import { RowsAtHand, rowBy } from '../execute/row-chunk.ts'
import type { Pipeline } from '../operators/row-operator.ts'
import type { RowChunk, RowChunks } from '../query-request.ts'
import type { TypedValue } from '../values/parameter-value.ts'
import type { ValueType } from '../values/value-type.ts'

/** The rows of a statement; a statement that only reads is executed while they are read. They can be read once. */
export type StatementReply = RowChunks

export const noRows: StatementReply = new RowsAtHand([])

export function rowsAtHand(rows: readonly RowChunk[]): StatementReply {
  return new RowsAtHand(rows)
}

/** `[{"__class__", "__identifier__"}]` of the object that CREATE or UPSERT made or found. */
export function identifierRow({ type, value }: TypedValue): StatementReply {
  const className = type.kind === 'reference' && type.cls !== null ? type.cls.name : ''
  const oid = value as Oid
  return rowsAtHand([
    rowBy((json) => json.ascii(`{"__class__":${JSON.stringify(className)},"__identifier__":"${oid}"}`)),
  ])
}

/** Reads no further than the first row. */
export async function hasRows({ rows }: Pipeline<unknown>): Promise<boolean> {
  for await (const some of rows) if (some.length > 0) return true
  return false
}

interface RowsPlan {
  readonly rowType: ValueType
  readonly isSingle: boolean
}

/** The type of a statement with rows when it is used as a value. */
export function rowsType({ rowType, isSingle }: RowsPlan): ValueType {
  return isSingle ? rowType : { kind: 'collection', form: 'list', element: rowType }
}

/** Like `rowsType`, for a nested statement: also notes in the binder whether it is a single value. */
export function typeWithin(bound: RowsPlan, binder: Binder): ValueType {
  binder.isSingle = bound.isSingle
  return rowsType(bound)
}

export function rowsValue(plan: RowsPlan, values: readonly unknown[]): TypedValue {
  return { type: rowsType(plan), value: plan.isSingle ? (values[0] ?? null) : values }
}
