/** Follows references backwards, from the objects of another access path to the objects that refer to them. */
import { type IndexKeyFormat, indexKeyFormat, type KeyCondition, keyConditionRange } from '../../indexes/index-key.ts'
import { linkHeaderBytes, linkKind, linkRange, targetOfKey } from '../../records/link-keys.ts'
import type { RecordFormats } from '../../records/record-formats.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { KeyRange } from '../../store/store.ts'
import { noOid, type Oid, oidFromBytes } from '../../types/oid.ts'
import type { AttributeNumber } from '../../types/type-spec.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ConstantElements } from '../evaluate/known-elements.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateConstants } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import { typeOfSpec } from '../values/value-type.ts'
import { type AccessRequest, constantKey, type OidAccess, type PlanAccess } from './access-path.ts'
import { type EntryFilter, planEntryFilter } from './entry-filter.ts'
import {
  byRange,
  conditionTexts,
  entriesOf,
  evaluatesOf,
  type KeyConditions,
  keyConditionOf,
  keyConditionsOf,
  soundRange,
} from './index-scan.ts'
import { OidLookup } from './oid-lookup.ts'
import { OidList, type OidSource } from './oid-source.ts'
import { ChainedSource, type Owners, type OwnersPlan, OwnersSource } from './owners-source.ts'
import {
  directConditions,
  type IndexCondition,
  isPathCondition,
  isSamePath,
  type PathCondition,
} from './sargable-predicates.ts'
import { planScannedOids, ScannedOids } from './scanned-oids.ts'
import { UnlinkedObjects } from './unlinked-objects.ts'

type Way =
  /** The partner attribute of a bidirectional link, on the objects found first. */
  | { readonly kind: 'inverse'; readonly inverse: BoundAttribute }
  /** An index whose first key attribute is the reference, with conditions on the next ones. */
  | {
      readonly kind: 'index'
      readonly format: IndexKeyFormat
      readonly conditions: KeyConditions
      readonly filter: EntryFilter | undefined
    }

/** For conditions at the end of references: finds the targets and follows the references backwards. */
export const planReverseNavigations: PlanAccess = (request) => {
  const { conditions, planning, accessesFor } = request
  const byStep = new Map<number, { step: BoundAttribute; inner: IndexCondition[] }>()
  const accesses: OidAccess[] = []
  for (const condition of conditions) {
    if (condition.kind === 'within') accesses.push(...fromElements(request, condition))
    if (!isPathCondition(condition)) continue
    const [step, ...steps] = condition.path.steps
    if (step === undefined) {
      accesses.push(...fromOids(request, condition))
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
    const targetAccesses = accessesFor(target, inner, planning)
    // Conditions fully answered by an index need no scan.
    const isAnswered = targetAccesses.some(({ conjunctsAnswered }) => conjunctsAnswered >= inner.length)
    for (const access of [...targetAccesses, ...(scanned === undefined || isAnswered ? [] : [scanned])]) {
      for (const way of waysBack(request, step, target)) {
        accesses.push(new ReverseNavigation(access, target, step, way))
      }
    }
  }
  return accesses
}

/** Conditions on one element of a collection: finds the elements and follows the inverse. */
function fromElements(
  { planning, accessesFor }: AccessRequest,
  { collection, conditions, bound }: Extract<IndexCondition, { kind: 'within' }>,
): OidAccess[] {
  const { type } = collection
  const element = type.kind === 'collection' ? type.element : undefined
  if (element?.kind !== 'reference' || element.cls === null) return []
  const target = element.cls
  const inverse = inverseAttribute(collection, target, planning.formats)
  if (inverse === undefined) return []
  const way = { kind: 'inverse', inverse } as const
  // A value from another row changes with that row.
  const isSame = conditions.every((condition) => condition.kind !== 'equal' || condition.value.kind !== 'given')
  const isToOne = inverse.spec.logicalType === 'reference'
  const place = isSame && isToOne ? planning.compiler.placeOf(bound) : undefined
  return accessesFor(target, conditions, planning).map((access) => {
    return new ReverseNavigation(access, target, collection, way, 0, undefined, place)
  })
}

/** `ref = an OID`, using the inverse; an index on the reference is a separate access. */
function fromOids({ cls, planning }: AccessRequest, condition: PathCondition): OidAccess[] {
  const [step] = condition.path.key
  if (step === undefined || condition.path.key.length > 1) return []
  if (condition.kind !== 'equal' && condition.kind !== 'anyOf') return []
  if (step.type.kind !== 'reference' || step.type.cls === null) return []
  const target = step.type.cls
  const inverse = inverseAttribute(step, target, planning.formats)
  if (inverse === undefined) return []
  const way = { kind: 'inverse', inverse } as const
  const isOne = condition.kind === 'equal'
  const lookup = new OidLookup(constantKey(isOne ? condition.value : condition.values, planning))
  const areAllOfClass = isOne && holdsOnly(inverse, cls)
  const unlinked = { lookup, objects: new UnlinkedObjects(cls, step.index) }
  return [new ReverseNavigation(lookup, target, step, way, areAllOfClass ? 1 : 0, unlinked)]
}

/** Whether every object that the attribute links is of the class. */
function holdsOnly({ spec }: BoundAttribute, cls: SchemaClass): boolean {
  if (spec.logicalType !== 'list' && spec.logicalType !== 'set') return false
  const { element } = spec
  if (element.logicalType !== 'reference') return false
  return element.referencedClass === cls.number
}

function waysBack(
  { cls, conditions, planning, predicate }: AccessRequest,
  step: BoundAttribute,
  target: SchemaClass,
): Way[] {
  const { formats } = planning
  const ways: Way[] = []
  const inverse = inverseAttribute(step, target, formats)
  if (inverse !== undefined) ways.push({ kind: 'inverse', inverse })
  const own = directConditions(conditions)
  for (const index of cls.indexes) {
    const [first, ...next] = index.keyAttributes
    if (index.state !== 'ready' || first === undefined || !isSamePath([step], first.path)) continue
    const format = indexKeyFormat(index, formats.of(cls))
    const keyConditions = keyConditionsOf(next, own, planning, true)
    const filter =
      predicate && planEntryFilter(format, byRange(keyConditions, format.parts.slice(1)), predicate, planning)
    ways.push({ kind: 'index', format, conditions: keyConditions, filter })
  }
  // For equal numbers of entries, conditions checked on keys leave fewer objects.
  return ways.sort((one, other) => checksOf(other) - checksOf(one))
}

function checksOf(way: Way): number {
  return way.kind === 'index' ? (way.filter?.texts.length ?? 0) : 0
}

function inverseAttribute(
  step: BoundAttribute,
  target: SchemaClass,
  formats: RecordFormats,
): BoundAttribute | undefined {
  const { spec } = step
  const reference = spec.logicalType === 'list' || spec.logicalType === 'set' ? spec.element : spec
  if (reference.logicalType !== 'reference' || reference.inverseAttribute === null) return undefined
  const { attribute, index, linkStorage } = formats.of(target).attribute(reference.inverseAttribute)
  const { number, outputName: name } = attribute
  const type = typeOfSpec(attribute.spec, formats.catalog)
  return { cls: target, number, name, index, spec: attribute.spec, linkStorage, type }
}

/** Owners are counted for this many targets; beyond, the estimate is extrapolated. */
const countedObjectsMax = 16

/** The values may include the null reference `0-0-0-0`: objects without a target cannot be found backwards. */
interface Unlinked {
  readonly lookup: OidLookup
  readonly objects: UnlinkedObjects
}

class ReverseNavigation implements OidAccess {
  readonly rank: number
  readonly isAtMostOne = false
  /** The links of one object are exactly its referrers. Otherwise 0, since many targets may be visited before the first match. */
  readonly conjunctsAnswered: number
  readonly isExact: boolean
  readonly narrowedBy: readonly AttributeNumber[]
  readonly mayRepeat: boolean
  readonly entries: string
  private readonly inner: OidAccess
  private readonly cls: SchemaClass
  private readonly attribute: BoundAttribute
  private readonly way: Way
  private readonly unlinked: Unlinked | undefined
  /** The slot for the targets, if they are few: they decide the condition on a collection that may contain them. */
  private readonly place: number | undefined
  readonly findElements: OidAccess['findElements']

  constructor(
    inner: OidAccess,
    cls: SchemaClass,
    attribute: BoundAttribute,
    way: Way,
    conjunctsAnswered = 0,
    unlinked?: Unlinked,
    place?: number,
  ) {
    this.place = place
    if (place !== undefined) this.findElements = (evaluation, context) => this.findFew(evaluation, context)
    this.unlinked = unlinked
    this.conjunctsAnswered = conjunctsAnswered
    this.isExact = conjunctsAnswered > 0
    this.inner = inner
    // A target with an index is preferred.
    this.rank = inner instanceof ScannedOids ? 1 : 3
    this.cls = cls
    this.attribute = attribute
    this.narrowedBy = [attribute.number]
    // With a single reference, each owner is found from exactly one target.
    this.mayRepeat = inner.mayRepeat || attribute.spec.logicalType !== 'reference'
    this.way = way
    this.entries = way.kind === 'index' ? `index '${way.format.index.name}'` : `attribute ${way.inverse.name}`
  }

  describe(className: string): ExplainNode {
    const { way, attribute } = this
    const over = way.kind === 'inverse' ? { inverse: way.inverse.name } : describeIndex(way)
    const details = { class: className, attribute: attribute.name, ...over }
    return explainNode('reverseNavigation', details, [this.inner.describe(this.cls.name)])
  }

  async estimate(evaluation: EvaluationContext, context: StatementContext, max: number): Promise<number> {
    const { inner, cls } = this
    const keyCondition = await this.condition(evaluation, context)
    if (keyCondition === undefined) return 0
    // All objects would be scanned.
    if ((await this.unlinked?.lookup.includesNull(evaluation, context)) === true) return max
    const found: Oid[] = []
    let objects = 0
    // This many are scanned before the first target is found.
    let count = inner instanceof ScannedOids ? await inner.estimate(evaluation, context, max) : 0
    if (count >= max) return max
    for await (const oids of inner.oids(evaluation, context, inner.describe(cls.name))) {
      context.entriesCounted += oids.length
      for (const target of oids) {
        if (++objects > countedObjectsMax) continue
        found.push(target)
        const range = this.rangeOf(target, keyCondition)
        if (range === 'none') continue
        const owners = range === undefined ? 1 : await context.countAbout(range, max - count)
        count += owners
        if (count >= max) return max
      }
      if (objects >= max) return max
    }
    this.keep(objects, found, evaluation)
    const scale = objects > countedObjectsMax ? objects / countedObjectsMax : 1
    return Math.min(max, Math.ceil(count * scale))
  }

  private async findFew(evaluation: EvaluationContext, context: StatementContext): Promise<void> {
    const { inner, cls } = this
    const max = countedObjectsMax + 1
    const isFew = (await inner.estimate(evaluation, context, max)) < max
    if (!isFew) return
    const found: Oid[] = []
    for await (const oids of inner.oids(evaluation, context, inner.describe(cls.name)))
      for (const oid of oids) found.push(oid)
    context.entriesCounted += found.length
    this.keep(found.length, found, evaluation)
  }

  private keep(objects: number, oids: readonly Oid[], { constants }: EvaluationContext): void {
    const { place, way } = this
    if (place === undefined || way.kind === 'index' || objects > oids.length) return
    const elements: ConstantElements = { oids, cls: this.cls, inverse: way.inverse.number }
    constants[place] = elements
  }

  async *oids(
    evaluation: EvaluationContext,
    context: StatementContext,
    plan: ExplainNode,
    batch?: number,
  ): AsyncGenerator<Oid[]> {
    const keyCondition = await this.condition(evaluation, context)
    if (keyCondition === undefined) return
    const { unlinked } = this
    // In a look-up the value belongs to a row, so it may differ for later rows.
    const hasUnlinked = (await unlinked?.lookup.includesNull(evaluation, context)) === true
    const mayQualify = this.way.kind === 'index' ? this.way.filter?.forRun(evaluation) : undefined
    const found = plan.inputs[0] as ExplainNode
    for await (const targets of context.measured(this.inner.oids(evaluation, context, found), found)) {
      found.returned += targets.length
      for (const oid of targets) {
        const range = this.rangeOf(oid, keyCondition)
        if (range === 'none') continue
        if (range !== undefined && this.way.kind === 'index') {
          yield* entriesOf(range, context, plan, batch, mayQualify)
        } else yield* this.owners(oid, range, context, plan, batch)
      }
    }
    if (unlinked !== undefined && hasUnlinked) yield* unlinked.objects.oids(evaluation, context, plan)
  }

  /** Objects with a null reference come first, if the condition includes them. */
  async source(
    evaluation: EvaluationContext,
    context: StatementContext,
    explained: ExplainNode | undefined,
  ): Promise<OidSource> {
    const keyCondition = await this.condition(evaluation, context)
    if (keyCondition === undefined) return new OidList([])
    const { inner, way, unlinked } = this
    const found = explained?.inputs[0] ?? inner.describe(this.cls.name)
    const targets =
      (await inner.source?.(evaluation, context, found)) ?? (await collectOids(inner, found, evaluation, context))
    const plan: OwnersPlan = {
      ownersOf: (oid) => this.ownersOf(oid, keyCondition, context),
      isInKey: way.kind === 'inverse' && way.inverse.linkStorage === 'set',
      at: way.kind === 'inverse' && way.inverse.linkStorage === 'set' ? linkHeaderBytes : 0,
      mayQualify: way.kind === 'index' ? way.filter?.forRun(evaluation) : undefined,
    }
    const owners = new OwnersSource(targets, plan, this.mayRepeat, context, explained)
    if ((await unlinked?.lookup.includesNull(evaluation, context)) !== true || unlinked === undefined) return owners
    const others: Oid[] = []
    for await (const oids of unlinked.objects.oids(evaluation, context, explained ?? explainNode('extentScan')))
      for (const oid of oids) others.push(oid)
    return new ChainedSource([owners, new OidList(others)])
  }

  private ownersOf(target: Oid, keyCondition: KeyCondition, context: StatementContext): Owners {
    const range = this.rangeOf(target, keyCondition)
    if (range === 'none') return undefined
    if (range !== undefined || this.way.kind === 'index') return range
    return this.partnerOf(context.reader.objectOnce(target), this.way.inverse)
  }

  /** The conditions on key attributes after the reference; undefined if no entry can match. */
  private async condition(evaluation: EvaluationContext, context: StatementContext): Promise<KeyCondition | undefined> {
    if (this.way.kind !== 'index') return { equal: [] }
    const { conditions } = this.way
    return keyConditionOf(conditions, await evaluateConstants(evaluatesOf(conditions), evaluation, context))
  }

  /** The objects linked by the partner attribute of one target. */
  private async *owners(
    target: Oid,
    range: KeyRange | undefined,
    context: StatementContext,
    plan: ExplainNode,
    batch: number | undefined,
  ): AsyncGenerator<Oid[]> {
    const { way } = this
    if (way.kind === 'index') return
    if (range === undefined) {
      const [view] = await context.reader.load([target])
      const partner = view && this.partnerOf(view, way.inverse)
      plan.examined++
      if (partner !== undefined && partner !== noOid) yield [partner]
      return
    }
    const use =
      way.inverse.linkStorage === 'set' ? targetOfKey : (_key: Uint8Array, value: Uint8Array) => oidFromBytes(value, 0)
    for await (const oids of context.snapshot.scan(range, use, batch === undefined ? {} : { batch })) {
      plan.examined += oids.length
      context.check()
      yield oids
    }
  }

  /** A given OID may belong to an object of any class, which may have another attribute in that position. */
  private partnerOf(view: ObjectView, { number }: BoundAttribute): Oid | undefined {
    const { format } = view
    if (format?.cls.isOrInherits(this.cls.number) !== true) return undefined
    return (view.value(format.attribute(number).index) as Oid | null) ?? undefined
  }

  /** Undefined if the partner attribute is to-one, and so in the record. */
  private rangeOf(target: Oid, { equal, lower, upper }: KeyCondition): KeyRange | undefined | 'none' {
    const { way } = this
    if (way.kind === 'index') {
      return soundRange(way.format, { equal: [target, ...equal], lower, upper }) ?? 'none'
    }
    if (way.inverse.linkStorage === undefined) return undefined
    const kind = way.inverse.linkStorage === 'set' ? linkKind.target : linkKind.position
    return linkRange(target, way.inverse.number, kind)
  }
}

/** Collects all OIDs of an asynchronous access, or one with duplicates. */
async function collectOids(
  access: OidAccess,
  plan: ExplainNode,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<OidList> {
  const found = new Set<Oid>()
  for await (const oids of access.oids(evaluation, context, plan)) {
    context.hold(0, oids.length * oidBytes)
    for (const oid of oids) found.add(oid)
  }
  return new OidList([...found])
}

const oidBytes = 64

function describeIndex({ format, conditions, filter }: Extract<Way, { kind: 'index' }>): object {
  const texts = conditionTexts(format.parts.slice(1), conditions)
  return {
    index: format.index.name,
    ...(texts.length === 0 ? {} : { conditions: texts }),
    ...(filter === undefined ? {} : { entryFilter: filter.texts }),
  }
}

/** All entries whose first key attribute refers to the object. */
export function referringRange(format: IndexKeyFormat, target: Oid): KeyRange {
  return keyConditionRange(format, { equal: [target] })
}
