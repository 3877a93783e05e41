/** A change that is shown before the server has confirmed it: what becomes of a row, and which new row it makes. */
import { type Finding, isFields, type Values } from '../typed/statement.ts'
import { NewObject, Step } from '../typed/steps.ts'
import { isEqual } from './is-equal.ts'

export interface ShownChange {
  readonly kind: 'create' | 'update' | 'delete'
  /** Of a new object. */
  readonly className: string
  /** The OID; that of a new object is provisional until the server has replied. */
  id: string
  /** As they are sent. */
  readonly values: Values
  /** Cells as they are shown where they differ from what is sent, such as those of a selected reference. */
  readonly shown: Values
  readonly isFirst: boolean
  /** Whether the server has made the change. */
  isDone: boolean
}

/** Returns the row as the update leaves it: the same one if it changes none of its cells. */
export function updatedRow(row: Values, { values, shown }: ShownChange, { select }: Finding): Values {
  let updated: Record<string, unknown> | undefined
  const set = (name: string, value: unknown): void => {
    if (!(name in row) || isEqual(row[name], value)) return
    updated ??= { ...row }
    updated[name] = value
  }
  for (const [name, value] of Object.entries(values)) {
    if (name in shown || !isCell(value, select?.[name])) continue
    const former = row[name]
    // An update leaves as they are what it does not give of an embedded object.
    set(name, isFields(value) && isFields(former) ? { ...former, ...value } : value)
  }
  for (const [name, value] of Object.entries(shown)) set(name, value)
  return updated ?? row
}

/** Returns the row of a new object; undefined if the rows are not known to contain it, or if one of its cells is not known. */
export function createdRow(change: ShownChange, className: string, { select, where }: Finding): Values | undefined {
  const { id, values, shown } = change
  if (change.className !== className || select === undefined) return undefined
  for (const [name, condition] of Object.entries(where ?? {})) {
    // Other conditions than equality are evaluated by the server alone.
    if (isFields(condition) || Array.isArray(condition)) return undefined
    if (!isEqual(name in values ? values[name] : shown[name], condition)) return undefined
  }
  const row: Record<string, unknown> = { $id: id }
  for (const name of Object.keys(select)) {
    if (name === '$id') continue
    const value = name in shown ? shown[name] : isCell(values[name], select[name]) ? values[name] : undefined
    if (value === undefined) return undefined
    row[name] = value
  }
  return row
}

/** Whether a value that is sent is also what is shown: the cells of a selected reference or embedded object are others. */
function isCell(value: unknown, selection: unknown): boolean {
  if (value === undefined || value instanceof NewObject || value instanceof Step) return false
  if (Array.isArray(value) && value.some((element) => !isCell(element, undefined))) return false
  return value === null || !isFields(selection)
}
