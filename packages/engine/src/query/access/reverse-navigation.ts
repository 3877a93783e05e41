/** From objects found by another access back over references: who refers to them by an attribute. */
import { type IndexKeyFormat, indexKeyFormat, keyConditionRange } from '../../indexes/index-key.ts'
import { countLimited } from '../../indexes/lookup.ts'
import { linkKind, linkRange, targetOfKey } from '../../records/link-keys.ts'
import type { RecordFormats } from '../../records/record-formats.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { KeyRange } from '../../store/store.ts'
import { noOid, type Oid, oidFromBytes } from '../../types/oid.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { Planning } from '../operators/planning.ts'
import { typeOfSpec } from '../values/value-type.ts'
import { type Asked, constantKey, type OidAccess, type PlanAccess } from './access-path.ts'
import { entriesOf } from './index-scan.ts'
import { OidLookup } from './oid-lookup.ts'
import { type Condition, isSamePath, type PathCondition } from './sargable-predicates.ts'
import { planScannedOids, ScannedOids } from './scanned-oids.ts'

type Way =
  /** The partner attribute of a bidirectional link, on the objects found first. */
  | { readonly kind: 'inverse'; readonly inverse: BoundAttribute }
  /** An index whose first key attribute is the reference. */
  | { readonly kind: 'index'; readonly format: IndexKeyFormat }

/** For conditions at the end of references: found there, and followed back. */
export const planReverseNavigations: PlanAccess = (asked) => {
  const { cls, conditions, planning, accessesFor } = asked
  const byStep = new Map<number, { step: BoundAttribute; inner: Condition[] }>()
  const accesses: OidAccess[] = []
  for (const condition of conditions) {
    if (condition.kind === 'or') continue
    const [step, ...steps] = condition.path.steps
    if (step === undefined) {
      accesses.push(...fromKnownObjects(asked, condition))
      continue
    }
    const group = byStep.get(step.number) ?? { step, inner: [] }
    group.inner.push({ ...condition, path: { steps, key: condition.path.key } })
    byStep.set(step.number, group)
  }
  for (const { step, inner } of byStep.values()) {
    if (step.type.kind !== 'reference' || step.type.cls === null) continue
    const target = step.type.cls
    const scanned = planScannedOids(target, inner, planning)
    for (const access of [...accessesFor(target, inner, planning), ...(scanned === undefined ? [] : [scanned])]) {
      for (const way of waysBack(cls, step, target, planning)) {
        accesses.push(new ReverseNavigation(access, target, step, way))
      }
    }
  }
  return accesses
}

/** `ref = an OID`: over the inverse; an index on the reference is an access of its own. */
function fromKnownObjects({ cls, planning }: Asked, condition: PathCondition): OidAccess[] {
  const [step] = condition.path.key
  if (step === undefined || condition.path.key.length > 1) return []
  if (condition.kind !== 'equal' && condition.kind !== 'anyOf') return []
  if (step.type.kind !== 'reference' || step.type.cls === null) return []
  const target = step.type.cls
  const ways = waysBack(cls, step, target, planning).filter(({ kind }) => kind === 'inverse')
  const isOne = condition.kind === 'equal'
  const known = new OidLookup(constantKey(isOne ? condition.value : condition.values, planning))
  return ways.map((way) => {
    const areAllOfClass = way.kind === 'inverse' && isOne && holdsOnly(way.inverse, cls)
    return new ReverseNavigation(known, target, step, way, areAllOfClass ? 1 : 0)
  })
}

/** Whether every object that the attribute links is of the class. */
function holdsOnly({ spec }: BoundAttribute, cls: SchemaClass): boolean {
  if (spec.logicalType !== 'list' && spec.logicalType !== 'set') return false
  const { element } = spec
  if (element.logicalType !== 'reference') return false
  return element.referencedClass === cls.number
}

function waysBack(cls: SchemaClass, step: BoundAttribute, target: SchemaClass, { formats }: Planning): Way[] {
  const ways: Way[] = []
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

/** Objects found first whose owners are counted, where there are more of them the estimate grows with their number. */
const countedObjectsMax = 16

class ReverseNavigation implements OidAccess {
  readonly rank: number
  readonly isAtMostOne = false
  /** The links of one object are what refers to it. Else none: before the first object that qualifies, many ends may have to be gone through. */
  readonly conjunctsAnswered: number
  readonly mayRepeat = true
  readonly entries: string
  private readonly inner: OidAccess
  /** The class whose objects are found first. */
  private readonly cls: SchemaClass
  private readonly attribute: BoundAttribute
  private readonly way: Way

  constructor(inner: OidAccess, cls: SchemaClass, attribute: BoundAttribute, way: Way, conjunctsAnswered = 0) {
    this.conjunctsAnswered = conjunctsAnswered
    this.inner = inner
    // What has an index at its end comes first.
    this.rank = inner instanceof ScannedOids ? 1 : 3
    this.cls = cls
    this.attribute = attribute
    this.way = way
    this.entries = way.kind === 'index' ? `index '${way.format.index.name}'` : `attribute ${way.inverse.name}`
  }

  describe(className: string): ExplainNode {
    const { way, attribute } = this
    const over = way.kind === 'inverse' ? { inverse: way.inverse.name } : { index: way.format.index.name }
    const details = { class: className, attribute: attribute.name, ...over }
    return explainNode('reverseNavigation', details, [this.inner.describe(this.cls.name)])
  }

  async estimate(evaluation: EvaluationContext, context: StatementContext, max: number): Promise<number> {
    const { inner, cls } = this
    let objects = 0
    // That many are looked at before the first is found.
    let count = inner instanceof ScannedOids ? await inner.estimate(evaluation, context, max) : 0
    if (count >= max) return max
    for await (const oids of inner.oids(evaluation, context, inner.describe(cls.name))) {
      context.entriesCounted += oids.length
      for (const far of oids) {
        if (++objects > countedObjectsMax) continue
        const range = this.rangeOf(far)
        const owners = range === undefined ? 1 : await countLimited(context.snapshot, range, max - count)
        context.entriesCounted += owners
        count += owners
        if (count >= max) return max
      }
      if (objects >= max) return max
    }
    const scale = objects > countedObjectsMax ? objects / countedObjectsMax : 1
    return Math.min(max, Math.ceil(count * scale))
  }

  async *oids(evaluation: EvaluationContext, context: StatementContext, plan: ExplainNode): AsyncGenerator<Oid[]> {
    const found = plan.inputs[0] as ExplainNode
    for await (const far of context.measured(this.inner.oids(evaluation, context, found), found)) {
      found.returned += far.length
      for (const oid of far) yield* this.owners(oid, context, plan)
    }
  }

  /** Who refers to one object by the attribute. */
  private async *owners(far: Oid, context: StatementContext, plan: ExplainNode): AsyncGenerator<Oid[]> {
    const { way } = this
    const range = this.rangeOf(far)
    if (way.kind === 'index') {
      if (range !== undefined) yield* entriesOf(range, context, plan)
      return
    }
    if (range === undefined) {
      const [view] = await context.reader.load([far])
      const partner = view?.value(way.inverse.index)
      plan.examined++
      if (typeof partner === 'string' && partner !== noOid) yield [partner as Oid]
      return
    }
    const use =
      way.inverse.linkStorage === 'set' ? targetOfKey : (_key: Uint8Array, value: Uint8Array) => oidFromBytes(value, 0)
    for await (const oids of context.snapshot.scan(range, use)) {
      plan.examined += oids.length
      context.check()
      yield oids
    }
  }

  /** Undefined where the partner attribute is to-one, and so in the record. */
  private rangeOf(far: Oid): KeyRange | undefined {
    const { way } = this
    if (way.kind === 'index') return referringRange(way.format, far)
    if (way.inverse.linkStorage === undefined) return undefined
    const kind = way.inverse.linkStorage === 'set' ? linkKind.target : linkKind.position
    return linkRange(far, way.inverse.number, kind)
  }
}

/** All entries whose first key attribute refers to the object. */
export function referringRange(format: IndexKeyFormat, far: Oid): KeyRange {
  return keyConditionRange(format, { equal: [far] })
}
