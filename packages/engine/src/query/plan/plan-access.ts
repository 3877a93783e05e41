/** From conditions to the access paths that could answer them; which one is taken is decided when the data is there. */
import { type IndexKeyFormat, indexKeyFormat } from '../../indexes/index-key.ts'
import type { RecordFormats } from '../../records/record-formats.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { IndexDefinition } from '../../schema/class-definition.ts'
import type { Bound, BoundAttribute, BoundOrderItem } from '../bind/bound.ts'
import type { Compiler } from '../evaluate/compile-expression.ts'
import { typeOfSpec } from '../values/value-type.ts'
import type { Access, IndexAccess, KeyEquality, KeyRangeEnd, KeyValue, OrderedAccess, ReverseWay } from './access.ts'
import { type Condition, pathOf } from './conditions.ts'
import { keyValueOf } from './key-value.ts'

export interface AccessPlanning {
  readonly formats: RecordFormats
  readonly compiler: Compiler
  readonly text: string
}

type PathCondition = Exclude<Condition, { kind: 'or' }>

/** Every access that answers at least one of the conditions, for objects of the class. */
export function accessesFor(cls: SchemaClass, conditions: readonly Condition[], planning: AccessPlanning): Access[] {
  const own = conditions.filter(
    (condition): condition is PathCondition => condition.kind !== 'or' && condition.path.steps.length === 0,
  )
  const accesses: Access[] = []
  for (const condition of own) accesses.push(...objectAccesses(condition, planning))
  for (const index of cls.indexes) {
    const access = indexAccess(index, cls, own, planning)
    if (access !== undefined) accesses.push(access)
  }
  accesses.push(...reverseAccesses(cls, conditions, planning))
  for (const condition of conditions) {
    if (condition.kind !== 'or') continue
    const parts = condition.parts.map((part) => bestOf(accessesFor(cls, part, planning)))
    if (parts.every((part) => part !== undefined)) accesses.push({ kind: 'union', parts })
  }
  return accesses
}

/** Before the data is there: OIDs, then unique equality, then the index of which most is known. */
export function bestOf(accesses: readonly Access[]): Access | undefined {
  const [best] = [...accesses].sort((one, other) => rank(other) - rank(one))
  return best
}

function rank(access: Access): number {
  switch (access.kind) {
    case 'objects':
      return 100
    case 'index': {
      const isWhole = access.equal.length === access.format.parts.length
      const range = (access.lower === undefined ? 0 : 1) + (access.upper === undefined ? 0 : 1)
      return (isWhole && access.format.index.isUnique ? 50 : 0) + access.equal.length * 4 + range
    }
    case 'reverse':
      return 3
    case 'union':
      return Math.min(...access.parts.map(rank)) - 1
    case 'extent':
      return 0
  }
}

/** `$$ID = …`, `$$ID IN …`. */
function objectAccesses(condition: PathCondition, planning: AccessPlanning): Access[] {
  if (condition.path.key.length > 0) return []
  if (condition.kind === 'equal') return [{ kind: 'objects', references: constant(condition.value, planning) }]
  if (condition.kind === 'anyOf') return [{ kind: 'objects', references: constant(condition.values, planning) }]
  return []
}

function constant(bound: Bound, { compiler, text }: AccessPlanning): KeyValue {
  return { evaluate: compiler.compile(bound), text: text.slice(bound.start, bound.end) }
}

/** Equality on the first key attributes, then perhaps a range on the next; undefined where not even the first is asked. */
function indexAccess(
  index: IndexDefinition,
  cls: SchemaClass,
  conditions: readonly PathCondition[],
  planning: AccessPlanning,
): IndexAccess | undefined {
  if (index.state !== 'ready') return undefined
  const format = indexKeyFormat(index, planning.formats.of(cls))
  const equal: KeyEquality[] = []
  let lower: KeyRangeEnd | undefined
  let upper: KeyRangeEnd | undefined
  let isSpread = false
  for (const { path } of index.keyAttributes) {
    const asked = conditions.filter((condition) => isSamePath(condition.path.key, path))
    const equality = equalityOf(asked, isSpread, planning)
    if (equality === undefined) {
      lower = rangeEnd(asked, 'lower', planning)
      upper = rangeEnd(asked, 'upper', planning)
      break
    }
    isSpread ||= equality.kind === 'anyOf'
    equal.push(equality)
  }
  if (equal.length === 0 && lower === undefined && upper === undefined) return undefined
  return { kind: 'index', format, equal, lower, upper, isTruncated: hasTexts(format) }
}

export function isSamePath(attributes: readonly BoundAttribute[], path: readonly number[]): boolean {
  return attributes.length === path.length && attributes.every(({ number }, i) => number === path[i])
}

/** `isSpread`: an IN came before; a second one would multiply the ranges. */
function equalityOf(
  conditions: readonly PathCondition[],
  isSpread: boolean,
  planning: AccessPlanning,
): KeyEquality | undefined {
  for (const condition of conditions) {
    if (condition.kind === 'equal') {
      return { kind: 'value', value: keyValueOf(condition.value, condition.path.key, 'equal', planning) }
    }
  }
  for (const condition of conditions) {
    if (condition.kind === 'anyOf' && !isSpread) {
      return { kind: 'anyOf', values: keyValueOf(condition.values, condition.path.key, 'equal', planning) }
    }
    if (condition.kind === 'null') return { kind: 'null' }
  }
  return undefined
}

function rangeEnd(
  conditions: readonly PathCondition[],
  kind: 'lower' | 'upper',
  planning: AccessPlanning,
): KeyRangeEnd | undefined {
  const found = conditions.find((condition) => condition.kind === kind)
  if (found === undefined || found.kind !== kind) return undefined
  return { ...keyValueOf(found.value, found.path.key, kind, planning), isInclusive: found.isInclusive }
}

function hasTexts(format: IndexKeyFormat): boolean {
  return format.parts.some(({ format: part }) => part.attribute.spec.logicalType === 'string')
}

/** Conditions at the end of references: found there, and followed back. */
function reverseAccesses(cls: SchemaClass, conditions: readonly Condition[], planning: AccessPlanning): Access[] {
  const byStep = new Map<number, { step: BoundAttribute; inner: Condition[] }>()
  const accesses: Access[] = []
  for (const condition of conditions) {
    if (condition.kind === 'or') continue
    const [step, ...steps] = condition.path.steps
    if (step === undefined) {
      accesses.push(...fromKnownObjects(cls, condition, planning))
      continue
    }
    const group = byStep.get(step.number) ?? { step, inner: [] }
    group.inner.push({ ...condition, path: { steps, key: condition.path.key } })
    byStep.set(step.number, group)
  }
  for (const { step, inner } of byStep.values()) {
    if (step.type.kind !== 'reference' || step.type.cls === null) continue
    const target = step.type.cls
    for (const access of accessesFor(target, inner, planning)) {
      for (const way of reverseWays(cls, step, target, planning)) {
        accesses.push({ kind: 'reverse', inner: access, cls: target, attribute: step, way })
      }
    }
  }
  return accesses
}

/** `ref = an OID`: over the inverse; an index on the reference is an access of its own. */
function fromKnownObjects(cls: SchemaClass, condition: PathCondition, planning: AccessPlanning): Access[] {
  const [step] = condition.path.key
  if (step === undefined || condition.path.key.length > 1) return []
  if (condition.kind !== 'equal' && condition.kind !== 'anyOf') return []
  if (step.type.kind !== 'reference' || step.type.cls === null) return []
  const references = constant(condition.kind === 'equal' ? condition.value : condition.values, planning)
  const target = step.type.cls
  const ways = reverseWays(cls, step, target, planning).filter(({ kind }) => kind === 'inverse')
  return ways.map((way) => ({
    kind: 'reverse',
    inner: { kind: 'objects', references },
    cls: target,
    attribute: step,
    way,
  }))
}

function reverseWays(
  cls: SchemaClass,
  step: BoundAttribute,
  target: SchemaClass,
  { formats }: AccessPlanning,
): ReverseWay[] {
  const ways: ReverseWay[] = []
  const inverse = inverseAttribute(step, target, formats)
  if (inverse !== undefined) ways.push({ kind: 'inverse', inverse })
  for (const index of cls.indexes) {
    const [first] = index.keyAttributes
    if (index.state !== 'ready' || first === undefined || !isSamePath([step], first.path)) continue
    ways.push({ kind: 'index', format: indexKeyFormat(index, formats.of(cls)) })
  }
  return ways
}

function inverseAttribute(
  step: BoundAttribute,
  target: SchemaClass,
  formats: RecordFormats,
): BoundAttribute | undefined {
  if (step.spec.logicalType !== 'reference' || step.spec.inverseAttribute === null) return undefined
  const { attribute, index, linkStorage } = formats.of(target).attribute(step.spec.inverseAttribute)
  const { number, outputName: name, spec } = attribute
  return { cls: target, number, name, index, spec, linkStorage, type: typeOfSpec(spec, formats.catalog) }
}

/** An index in whose order the rows are asked for: after what is fixed by equality, the same attributes one by one. */
export function orderedAccess(
  cls: SchemaClass,
  slot: number,
  orderBy: readonly BoundOrderItem[],
  conditions: readonly Condition[],
  planning: AccessPlanning,
): OrderedAccess | undefined {
  const paths = orderBy.map(({ expression }) => pathOf(expression, slot))
  const isReverse = orderBy[0]?.isDescending === true
  const isUniform = orderBy.length > 0 && orderBy.every(({ isDescending }) => isDescending === isReverse)
  if (!isUniform || paths.some((path) => path === undefined || path.steps.length > 0 || path.key.length === 0))
    return undefined
  const own = conditions.filter(
    (condition): condition is PathCondition => condition.kind !== 'or' && condition.path.steps.length === 0,
  )
  for (const index of cls.indexes) {
    if (index.state !== 'ready') continue
    const access = orderedBy(
      index,
      cls,
      paths.map((path) => path?.key ?? []),
      own,
      planning,
    )
    if (access !== undefined) return { kind: 'ordered', index: access, isReverse }
  }
  return undefined
}

function orderedBy(
  index: IndexDefinition,
  cls: SchemaClass,
  order: readonly (readonly BoundAttribute[])[],
  conditions: readonly PathCondition[],
  planning: AccessPlanning,
): IndexAccess | undefined {
  const format = indexKeyFormat(index, planning.formats.of(cls))
  const equal: KeyEquality[] = []
  const { keyAttributes } = index
  let at = 0
  while (at < keyAttributes.length && !isSamePath(order[0] ?? [], keyAttributes[at]?.path ?? [])) {
    const path = keyAttributes[at]?.path ?? []
    const found = conditions.find((condition) => condition.kind === 'equal' && isSamePath(condition.path.key, path))
    if (found === undefined || found.kind !== 'equal') return undefined
    equal.push({ kind: 'value', value: keyValueOf(found.value, found.path.key, 'equal', planning) })
    at++
  }
  // In an index the reference to nothing comes before all others, in ORDER BY it stands with the nulls.
  if (order.some((path) => path.at(-1)?.spec.logicalType === 'reference')) return undefined
  const isSameOrder = order.every((attributes, i) => isSamePath(attributes, keyAttributes[at + i]?.path ?? []))
  if (!isSameOrder) return undefined
  const first = conditions.filter((condition) => isSamePath(condition.path.key, keyAttributes[at]?.path ?? []))
  const lower = rangeEnd(first, 'lower', planning)
  const upper = rangeEnd(first, 'upper', planning)
  return { kind: 'index', format, equal, lower, upper, isTruncated: hasTexts(format) }
}
