/** Suggests, for EXPLAIN, an index that would save most of a statement's full scan. */
import type { SchemaClass } from '../../schema/catalog.ts'
import type { BoundAttribute, BoundOrderItem } from '../bind/bound.ts'
import type { IndexHint } from '../explain/explain-node.ts'
import type { Planning } from '../operators/planning.ts'
import { attributePathOf, directConditions, type IndexCondition } from './sargable-predicates.ts'

/** Undefined if no condition can use an index, or all of them have one. */
export function hintOfConditions(
  cls: SchemaClass,
  conditions: readonly IndexCondition[],
  planning: Planning,
): IndexHint | undefined {
  const own = directConditions(conditions).filter(({ path }) => isKey(path.key, planning))
  const equal = own.filter(({ kind }) => kind === 'equal' || kind === 'anyOf')
  const range = own.find(({ kind }) => kind === 'lower' || kind === 'upper')
  const paths = [...equal, ...(range === undefined ? [] : [range])].map(({ path }) => path.key)
  const keys = paths.filter((key, i) => paths.findIndex((other) => nameOf(other) === nameOf(key)) === i)
  const statement = createIndex(cls, keys, planning)
  // The number of objects in a range is unknown until it is searched.
  return statement === undefined ? undefined : { statement, rows: undefined, isLikely: equal.length > 0 }
}

/** For the first rows in the order of attributes, all in the same direction. */
export function hintOfOrder(
  cls: SchemaClass,
  slot: number,
  orderBy: readonly BoundOrderItem[],
  rowLimit: number,
  planning: Planning,
): IndexHint | undefined {
  const paths = orderBy.map(({ expression }) => attributePathOf(expression, slot))
  const keys = paths.flatMap((path) => (path === undefined || path.steps.length > 0 ? [] : [path.key]))
  const isUniform = orderBy.every(({ isDescending }) => isDescending === orderBy[0]?.isDescending)
  const isOnKeys = keys.length === orderBy.length && keys.every((key) => isKey(key, planning))
  if (!isUniform || !isOnKeys || keys.some((key) => key.at(-1)?.type.kind === 'reference')) return undefined
  const statement = createIndex(cls, keys, planning)
  return statement === undefined ? undefined : { statement, rows: rowLimit, isLikely: true }
}

function isKey(key: readonly BoundAttribute[], { formats }: Planning): boolean {
  const last = key.at(-1)
  if (last === undefined) return false
  return formats.of(last.cls).attribute(last.number).codec.key !== undefined
}

/** The statement that creates the index; undefined without attributes or if such an index exists. */
function createIndex(
  cls: SchemaClass,
  keys: readonly (readonly BoundAttribute[])[],
  { formats }: Planning,
): string | undefined {
  if (keys.length === 0) return undefined
  const isThere = cls.indexes.some(({ keyAttributes }) =>
    keys.every((key, i) => keyAttributes[i]?.path.join() === key.map(({ number }) => number).join()),
  )
  if (isThere) return undefined
  const names = keys.map(nameOf)
  const simple = cls.name.slice(cls.name.lastIndexOf('.') + 1)
  const words = names.flatMap((name) => name.split(/[.:]+/))
  const base = [
    simple.charAt(0).toLowerCase() + simple.slice(1),
    ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)),
  ].join('')
  let name = base
  for (let n = 2; formats.catalog.indexByName(name) !== undefined; n++) name = `${base}${n}`
  return `CREATE INDEX ${name} ON ${cls.name} (${names.join(', ')})`
}

function nameOf(key: readonly BoundAttribute[]): string {
  return key.map(({ name }) => name).join('.')
}
