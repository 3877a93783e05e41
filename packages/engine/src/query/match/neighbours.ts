/** The edges at a vertex: outgoing references of an object, and references to it. */

import { SteadyMap } from '../../budget/steady-map.ts'
import { indexKeyFormat } from '../../indexes/index-key.ts'
import { countLimited, readIndexOids } from '../../indexes/lookup.ts'
import type { AttributeFormat, ClassFormat } from '../../records/class-format.ts'
import { linkKind, linkRange } from '../../records/link-keys.ts'
import { containerExtent } from '../../records/object-key.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { IndexDefinition } from '../../schema/class-definition.ts'
import { withSubclasses } from '../../schema/class-set.ts'
import type { KeyRange } from '../../store/store.ts'
import type { MapPair } from '../../types/map.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import type { AttributeNumber, ClassNumber } from '../../types/type-spec.ts'
import { entriesOf } from '../access/index-scan.ts'
import { referringRange } from '../access/reverse-navigation.ts'
import { isSamePath } from '../access/sargable-predicates.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import { type EdgeObjects, endsAtEdgeObject, headClass, type ReferenceAttribute } from '../bind/reference-attributes.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { explainNode } from '../explain/explain-node.ts'
import type { Edge } from '../values/edge.ts'
import { typeOfSpec } from '../values/value-type.ts'
import { type NarrowedEdge, type NarrowedEdges, narrowedText } from './narrowed-edges.ts'

export interface Step {
  readonly edge: Edge
  readonly neighbour: Oid
  /** Of edges that end at their edge object where a walk ends, and lead through it elsewhere; undefined = both. */
  readonly place: 'inner' | 'last' | undefined
}

/** The classes that the pattern asks for, as written, at the vertices where a walk is begun and ended. */
export interface Labels {
  readonly begin: SchemaClass | null
  readonly end: SchemaClass | null
}

/** Which edge of a walk is looked for. */
export interface StepPlace {
  readonly isFirst: boolean
  readonly mayBeLast: boolean
  readonly mustBeLast: boolean
}

interface Outgoing {
  readonly format: AttributeFormat
  readonly reference: ReferenceAttribute
}

/** So many edge objects are read in one trip. */
const objectsAtOnce = 256
/** About what an OID takes in a list. */
const oidBytes = 64

type EdgeObjectView = ObjectView & { readonly format: ClassFormat }
type EdgeData = Required<Pick<Edge, 'edgeData' | 'edgeDataClass'>>

function edgeDataOf({ oid, format }: EdgeObjectView): EdgeData {
  return { edgeData: oid, edgeDataClass: format.cls.name }
}

/** An index by which it is found who refers to an object. */
function indexOn({ attribute, declaringClass }: ReferenceAttribute): IndexDefinition | undefined {
  if (attribute.spec.logicalType !== 'reference') return undefined
  const own = [{ number: attribute.number } as BoundAttribute]
  return declaringClass.indexes.find(({ keyAttributes, state }) => {
    return state === 'ready' && isSamePath(own, keyAttributes[0]?.path ?? [])
  })
}

/** Whether those that refer to an object are found without going through all objects that could. */
export function isFollowedBack(reference: ReferenceAttribute): boolean {
  return reference.inverse !== null || indexOn(reference) !== undefined
}

/** Finds the edges of one edge pattern; what it works out about classes and scans is kept for the statement. */
export class Neighbours {
  /** How edges are followed back, for EXPLAIN. */
  readonly ways = new Set<string>()
  private readonly context: StatementContext
  private readonly attributes: readonly ReferenceAttribute[]
  /** Classes that the neighbour vertex may have where one edge leads there; undefined = any. */
  private readonly neighbourClass: SchemaClass | undefined
  private readonly labels: Labels
  private readonly forwardOf = new Map<ClassNumber, readonly Outgoing[]>()
  private readonly backwardOf = new Map<string, readonly ReferenceAttribute[]>()
  private readonly scanned = new Map<AttributeNumber, SteadyMap<Oid, Oid[]>>()
  /** What is asked of the neighbours beyond their class, where an index on the edge tells it. */
  private readonly narrowed: NarrowedEdges | undefined

  constructor(
    context: StatementContext,
    attributes: readonly ReferenceAttribute[],
    labels: Labels,
    neighbourClass: SchemaClass | undefined,
    narrowed: NarrowedEdges | undefined,
  ) {
    this.narrowed = narrowed
    this.labels = labels
    this.context = context
    this.attributes = attributes
    this.neighbourClass = neighbourClass
  }

  async forward(view: ObjectView, { mayBeLast, mustBeLast }: StepPlace): Promise<Step[]> {
    const cls = view.format?.cls
    if (cls === undefined) return []
    const steps: Step[] = []
    for (const { format, reference } of this.outgoing(view, cls)) {
      const { outputName, number } = format.attribute
      const edgeTo = (to: Oid): Edge => {
        return { from: view.oid, fromClass: cls.name, attribute: outputName, attributeNumber: number, to, toClass: '' }
      }
      const isSplit = endsAtEdgeObject(reference, this.labels.end)
      const back = this.narrowedForward(reference)
      const targets = back === undefined ? await this.targets(view, format) : await this.byIndex(view, back)
      if (reference.edge === undefined || (isSplit && mayBeLast)) {
        const place = isSplit ? 'last' : undefined
        for (const neighbour of targets) steps.push({ edge: edgeTo(neighbour), neighbour, place })
      }
      if (reference.edge === undefined || (isSplit && mustBeLast)) continue
      for await (const object of this.edgeObjects(targets, reference.edge)) {
        const { leading } = reference.edge
        const neighbour = object.value(object.format.attribute(leading.attribute.number).index) as Oid | null
        if (neighbour === null || neighbour === noOid) continue
        const edge = { ...edgeTo(neighbour), ...edgeDataOf(object) }
        steps.push({ edge, neighbour, place: isSplit ? 'inner' : undefined })
      }
    }
    return steps
  }

  async backward(view: ObjectView, { isFirst }: StepPlace): Promise<Step[]> {
    const cls = view.format?.cls
    if (cls === undefined) return []
    const label = isFirst ? this.labels.begin : null
    const steps: Step[] = []
    for (const reference of this.incoming(cls, label)) {
      const { name, number } = reference.attribute
      const to = { attribute: name, attributeNumber: number, to: view.oid, toClass: cls.name }
      const add = (neighbour: Oid, more?: EdgeData): void => {
        steps.push({ neighbour, place: undefined, edge: { from: neighbour, fromClass: '', ...to, ...more } })
      }
      if (reference.edge === undefined || endsAtEdgeObject(reference, label)) {
        const back = this.narrowed?.of(number)
        const owners = back === undefined ? await this.owners(view, reference) : await this.byIndex(view, back)
        for (const neighbour of owners) add(neighbour)
        continue
      }
      const leading = await this.owners(view, reference.edge.leading)
      for await (const object of this.edgeObjects(leading, reference.edge)) {
        for (const neighbour of await this.owners(object, reference)) add(neighbour, edgeDataOf(object))
      }
    }
    return steps
  }

  /** Those of the objects that there are and that are of the edge class. */
  private async *edgeObjects(oids: readonly Oid[], { cls }: EdgeObjects): AsyncGenerator<EdgeObjectView> {
    const { reader } = this.context
    for (let at = 0; at < oids.length; at += objectsAtOnce) {
      const pause = this.context.yieldIfDue()
      if (pause !== undefined) await pause
      const views = await evaluateRows(this.context, oids.slice(at, at + objectsAtOnce), (oid) => reader.object(oid))
      for (const view of views) {
        if (view.format?.cls.isOrInherits(cls.number) === true) yield view as EdgeObjectView
      }
    }
  }

  private outgoing(view: ObjectView, cls: SchemaClass): readonly Outgoing[] {
    let found = this.forwardOf.get(cls.number)
    if (found === undefined) {
      const byNumber = new Map(this.attributes.map((reference) => [reference.attribute.number, reference]))
      found = (view.format?.attributes ?? []).flatMap((format) => {
        const reference = byNumber.get(format.attribute.number)
        if (reference === undefined || !this.mayLeadTo(headClass(reference, this.labels.end))) return []
        return [{ format, reference }]
      })
      this.forwardOf.set(cls.number, found)
    }
    return found
  }

  private mayLeadTo(cls: SchemaClass): boolean {
    const { neighbourClass } = this
    return (
      neighbourClass === undefined || neighbourClass.isOrInherits(cls.number) || cls.isOrInherits(neighbourClass.number)
    )
  }

  private incoming(cls: SchemaClass, label: SchemaClass | null): readonly ReferenceAttribute[] {
    const key = `${cls.number} ${label?.number}`
    let found = this.backwardOf.get(key)
    if (found === undefined) {
      found = this.attributes.filter((reference) => {
        return this.mayLeadTo(reference.declaringClass) && cls.isOrInherits(headClass(reference, label).number)
      })
      this.backwardOf.set(key, found)
    }
    return found
  }

  /** What the object refers to by one attribute, each once. */
  private async targets(view: ObjectView, attribute: AttributeFormat): Promise<readonly Oid[]> {
    const { spec } = attribute.attribute
    let held: unknown
    if (attribute.linkStorage === undefined) held = view.value(attribute.index)
    else {
      const { reader } = this.context
      const [links] = await evaluateRows(this.context, [view], (row) =>
        reader.links(row, this.boundOf(view, attribute)),
      )
      held = links
    }
    if (spec.logicalType === 'reference') return held === null || held === noOid ? [] : [held as Oid]
    const elements =
      spec.logicalType === 'map' ? (held as readonly MapPair[]).map(({ value }) => value) : (held as readonly unknown[])
    return [...new Set(elements as readonly Oid[])].filter((oid) => oid !== noOid)
  }

  private boundOf(view: ObjectView, { attribute, index, linkStorage }: AttributeFormat): BoundAttribute {
    const cls = view.format?.cls as SchemaClass
    const { number, outputName: name, spec } = attribute
    return { cls, number, name, index, spec, linkStorage, type: typeOfSpec(spec, this.context.catalog) }
  }

  /** Who refers to the object by one attribute: over the inverse, by an index, or by a scan of all who could. */
  private async owners(view: ObjectView, reference: ReferenceAttribute): Promise<readonly Oid[]> {
    const { attribute, declaringClass, inverse } = reference
    if (inverse !== null) {
      const neighbour = view.format?.attribute(inverse)
      this.ways.add(`${attribute.name}: inverse ${neighbour?.attribute.name}`)
      return neighbour === undefined ? [] : this.targets(view, neighbour)
    }
    const index = indexOn(reference)
    if (index !== undefined) {
      this.ways.add(`${attribute.name}: index ${index.name}`)
      const format = indexKeyFormat(index, this.context.reader.formats.of(declaringClass))
      const oids: Oid[] = []
      for await (const batch of readIndexOids(this.context.snapshot, referringRange(format, view.oid), false))
        oids.push(...batch)
      return oids
    }
    this.ways.add(`${attribute.name}: scan of ${declaringClass.name}`)
    return (await this.scan(reference)).get(view.oid) ?? []
  }

  /** Where an attribute has an inverse, what it leads to refers back: an index may tell who of them qualifies. */
  private narrowedForward({ inverse, edge }: ReferenceAttribute): NarrowedEdge | undefined {
    return inverse === null || edge !== undefined ? undefined : this.narrowed?.of(inverse)
  }

  /** Those of the neighbours that refer to the object of which the index does not tell that they do not qualify. */
  private async byIndex(view: ObjectView, back: NarrowedEdge): Promise<readonly Oid[]> {
    const { context } = this
    const { memory } = context.script
    this.ways.add(narrowedText(back))
    const range = await this.narrowed?.rangeOf(back, view.oid)
    if (range === undefined) return []
    const oids: Oid[] = []
    for await (const batch of entriesOf(range, context, explainNode('entries'))) {
      memory.chargeStatement(batch.length * oidBytes)
      for (const oid of batch) oids.push(oid)
    }
    memory.chargeStatement(-oids.length * oidBytes)
    return oids
  }

  /** How many edges there are at an object, counted up to `max`. */
  async countAt(view: ObjectView, direction: 'forward' | 'backward' | 'either', max: number): Promise<number> {
    const cls = view.format?.cls
    if (cls === undefined) return 0
    let count = 0
    for (const { format, reference } of direction === 'backward' ? [] : this.outgoing(view, cls)) {
      if (count >= max) return max
      const back = this.narrowedForward(reference)
      const most = max - count
      count += await (back === undefined
        ? this.countTargets(view, format, most)
        : this.counted(await this.narrowed?.rangeOf(back, view.oid), most))
    }
    for (const reference of direction === 'forward' ? [] : this.incoming(cls, this.labels.begin)) {
      if (count >= max) return max
      count += await this.countOwners(view, reference, max - count)
    }
    return Math.min(max, count)
  }

  private async counted(range: KeyRange | undefined, max: number): Promise<number> {
    if (range === undefined) return 0
    const { context } = this
    context.check()
    const count = await countLimited(context.snapshot, range, max)
    context.entriesCounted += count
    return count
  }

  private async countTargets(view: ObjectView, attribute: AttributeFormat, max: number): Promise<number> {
    const { linkStorage } = attribute
    if (linkStorage === undefined) return (await this.targets(view, attribute)).length
    const kind = linkStorage === 'set' ? linkKind.target : linkStorage === 'map' ? linkKind.name : linkKind.position
    return this.counted(linkRange(view.oid, attribute.attribute.number, kind), max)
  }

  private async countOwners(view: ObjectView, reference: ReferenceAttribute, max: number): Promise<number> {
    const { attribute, declaringClass, inverse } = reference
    const back = this.narrowed?.of(attribute.number)
    if (back !== undefined) return this.counted(await this.narrowed?.rangeOf(back, view.oid), max)
    if (inverse !== null) {
      const partner = view.format?.attribute(inverse)
      return partner === undefined ? 0 : this.countTargets(view, partner, max)
    }
    const index = indexOn(reference)
    // All who could refer to it are read.
    if (index === undefined) return max
    const format = indexKeyFormat(index, this.context.reader.formats.of(declaringClass))
    return this.counted(referringRange(format, view.oid), max)
  }

  /** Once a statement: everybody who refers to anybody by the attribute. */
  private async scan({ attribute, declaringClass }: ReferenceAttribute): Promise<SteadyMap<Oid, Oid[]>> {
    const known = this.scanned.get(attribute.number)
    if (known !== undefined) return known
    const { context } = this
    const owners = new SteadyMap<Oid, Oid[]>()
    const use = (key: Uint8Array, record: Uint8Array): ObjectView => context.reader.view(undefined, key, record).copy()
    const containers = await context.containersOf(withSubclasses(declaringClass).numbers)
    const extents = containers.map(({ database, container }) => containerExtent(database, container))
    for await (const batch of context.scanAll(extents, use)) {
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
      for (const owner of batch) {
        const format = owner.format?.attribute(attribute.number)
        if (format === undefined) continue
        for (const target of await this.targets(owner, format)) {
          const list = owners.get(target)
          if (list === undefined) owners.set(target, [owner.oid])
          else list.push(owner.oid)
          context.hold(0, 32)
        }
      }
    }
    this.scanned.set(attribute.number, owners)
    return owners
  }
}
