/** The edges at a vertex: outgoing references of an object, and references to it. */

import type { AttributeFormat, ClassFormat } from '../../records/class-format.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { Awaitable } from '../../store/store.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import type { ClassNumber } from '../../types/type-spec.ts'
import { entriesOf } from '../access/index-scan.ts'
import { type EdgeObjects, endsAtEdgeObject, headClass, type ReferenceAttribute } from '../bind/reference-attributes.ts'
import { needsFetch } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { explainNode } from '../explain/explain-node.ts'
import type { Edge } from '../values/edge.ts'
import { LinkedObjects } from './linked-objects.ts'
import { type NarrowedEdge, type NarrowedEdges, narrowedText } from './narrowed-edges.ts'

/** As seen from the vertex that has an object. */
export type Direction = 'forward' | 'backward' | 'either'

export interface Step {
  /** May be made each time that it is asked for. */
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
type EdgeObjectView = ObjectView & { readonly format: ClassFormat }
type EdgeData = Required<Pick<Edge, 'edgeData' | 'edgeDataClass'>>

function edgeTo(view: ObjectView, { attribute }: AttributeFormat, to: Oid): Edge {
  const { outputName, number } = attribute
  const fromClass = view.format?.cls.name ?? ''
  return { from: view.oid, fromClass, attribute: outputName, attributeNumber: number, to, toClass: '' }
}

/** A step over a reference of an object; the edge is made for whoever asks for it. */
class ForwardStep implements Step {
  readonly neighbour: Oid
  readonly place: Step['place']
  private readonly view: ObjectView
  private readonly format: AttributeFormat

  constructor(view: ObjectView, format: AttributeFormat, neighbour: Oid, place: Step['place']) {
    this.view = view
    this.format = format
    this.neighbour = neighbour
    this.place = place
  }

  get edge(): Edge {
    return edgeTo(this.view, this.format, this.neighbour)
  }
}

/** A step back over a reference to an object; likewise. */
class BackwardStep implements Step {
  readonly neighbour: Oid
  readonly place = undefined
  private readonly view: ObjectView
  private readonly cls: SchemaClass
  private readonly reference: ReferenceAttribute
  private readonly more: EdgeData | undefined

  /** `cls`: of the object. */
  constructor(
    view: ObjectView,
    cls: SchemaClass,
    reference: ReferenceAttribute,
    neighbour: Oid,
    more: EdgeData | undefined,
  ) {
    this.view = view
    this.cls = cls
    this.reference = reference
    this.neighbour = neighbour
    this.more = more
  }

  get edge(): Edge {
    const { view, cls, reference, neighbour, more } = this
    const { name, number } = reference.attribute
    const edge = { from: neighbour, fromClass: '', attribute: name, attributeNumber: number, to: view.oid }
    return { ...edge, toClass: cls.name, ...more }
  }
}

/** Edges that are looked at before the next look at the clock. */
const stepsBetweenLooks = 1_024

function addTargets(
  view: ObjectView,
  format: AttributeFormat,
  targets: readonly Oid[],
  place: Step['place'],
  steps: Step[],
): void {
  for (const neighbour of targets) steps.push(new ForwardStep(view, format, neighbour, place))
}

/** Throws `needsFetch` after all have been asked, where one of them has to be. */
function allAsked(asks: Iterable<() => void>): void {
  let isMissing = false
  for (const ask of asks) {
    try {
      ask()
    } catch (error) {
      if (error !== needsFetch) throw error
      isMissing = true
    }
  }
  if (isMissing) throw needsFetch
}

function edgeDataOf({ oid, format }: EdgeObjectView): EdgeData {
  return { edgeData: oid, edgeDataClass: format.cls.name }
}

/** Finds the edges of one edge pattern; what it works out about classes and scans is kept for the statement. */
export class Neighbours {
  private readonly context: StatementContext
  private readonly linked: LinkedObjects
  private readonly attributes: readonly ReferenceAttribute[]
  /** Classes that the neighbour vertex may have where one edge leads there; undefined = any. */
  private readonly neighbourClass: SchemaClass | undefined
  private readonly labels: Labels
  private readonly forwardOf = new Map<ClassNumber, readonly Outgoing[]>()
  private readonly backwardOf = new Map<string, readonly ReferenceAttribute[]>()
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
    this.linked = new LinkedObjects(context)
    this.attributes = attributes
    this.neighbourClass = neighbourClass
  }

  /** How edges were followed back, for EXPLAIN. */
  get ways(): ReadonlySet<string> {
    return this.linked.ways
  }

  /**
   * Where each read is a trip: reads by one of them the lists by which the edges at all the objects are found, and by another the edge objects there. What
   * an index tells is left to `forward` and `backward`.
   */
  async prefetch(views: readonly ObjectView[], direction: Direction, { isFirst }: StepPlace): Promise<void> {
    const { reader } = this.context
    const label = isFirst ? this.labels.begin : null
    await evaluateRows(this.context, views, (view) => allAsked(this.asks(view, direction, label)))
    if (direction === 'backward' || !this.attributes.some(({ edge }) => edge !== undefined)) return
    const edgeObjects = new Set<Oid>()
    for (const view of views) {
      const { format } = view
      for (const { format: attribute, reference } of format === undefined ? [] : this.outgoing(view, format.cls)) {
        if (reference.edge === undefined) continue
        for (const oid of await this.linked.targets(view, attribute)) edgeObjects.add(oid)
      }
    }
    await evaluateRows(this.context, [[...edgeObjects]], (oids) => reader.prefetch(oids))
  }

  private *asks(view: ObjectView, direction: Direction, label: SchemaClass | null): Generator<() => void> {
    const cls = view.format?.cls
    if (cls === undefined) return
    for (const { format, reference } of direction === 'backward' ? [] : this.outgoing(view, cls)) {
      if (this.narrowedForward(reference) === undefined) yield () => this.linked.askTargets(view, format)
    }
    for (const reference of direction === 'forward' ? [] : this.incoming(cls, label)) {
      const isThrough = reference.edge !== undefined && !endsAtEdgeObject(reference, label)
      const followed = isThrough ? reference.edge.leading : reference
      if (this.narrowed?.of(followed.attribute.number) === undefined) yield () => this.linked.askOwners(view, followed)
    }
  }

  /** Without a promise where nothing has to be waited for. */
  forward(view: ObjectView, place: StepPlace): Awaitable<Step[]> {
    const cls = view.format?.cls
    return cls === undefined ? [] : this.forwardFrom(view, place, this.outgoing(view, cls), 0, [])
  }

  private forwardFrom(
    view: ObjectView,
    place: StepPlace,
    outgoing: readonly Outgoing[],
    first: number,
    steps: Step[],
  ): Awaitable<Step[]> {
    for (let i = first; i < outgoing.length; i++) {
      const wait = this.addForward(view, place, outgoing[i] as Outgoing, steps)
      if (wait !== undefined) return wait.then(() => this.forwardFrom(view, place, outgoing, i + 1, steps))
    }
    return steps
  }

  private addForward(view: ObjectView, place: StepPlace, outgoing: Outgoing, steps: Step[]): Promise<void> | undefined {
    const { format, reference } = outgoing
    const back = this.narrowedForward(reference)
    const found = back === undefined ? this.linked.targets(view, format) : this.byIndex(view, back)
    if (reference.edge !== undefined)
      return this.addThrough(view, place, format, reference, reference.edge, found, steps)
    const addAll = (targets: readonly Oid[]): Promise<void> | undefined => {
      return this.each(targets, (neighbour) => steps.push(new ForwardStep(view, format, neighbour, undefined)))
    }
    return found instanceof Promise ? found.then(addAll) : addAll(found)
  }

  /** Of very many, with turns for others in between. */
  private each(oids: readonly Oid[], add: (oid: Oid) => void, first = 0): Promise<void> | undefined {
    for (let i = first; i < oids.length; i++) {
      if (i > first && i % stepsBetweenLooks === 0 && this.context.isTurnDue) {
        return this.context.turn().then(() => this.each(oids, add, i))
      }
      add(oids[i] as Oid)
    }
    return undefined
  }

  /** Edges that lead through edge objects, or end at them. */
  private async addThrough(
    view: ObjectView,
    { mayBeLast, mustBeLast }: StepPlace,
    format: AttributeFormat,
    reference: ReferenceAttribute,
    through: EdgeObjects,
    found: Awaitable<readonly Oid[]>,
    steps: Step[],
  ): Promise<void> {
    const targets = await found
    const isSplit = endsAtEdgeObject(reference, this.labels.end)
    if (isSplit && mayBeLast) addTargets(view, format, targets, 'last', steps)
    if (isSplit && mustBeLast) return
    const { attribute } = through.leading
    for await (const object of this.edgeObjects(targets, through)) {
      const neighbour = object.value(object.format.attribute(attribute.number).index) as Oid | null
      if (neighbour === null || neighbour === noOid) continue
      const edge = { ...edgeTo(view, format, neighbour), ...edgeDataOf(object) }
      steps.push({ edge, neighbour, place: isSplit ? 'inner' : undefined })
    }
  }

  /** Without a promise where nothing has to be waited for. */
  backward(view: ObjectView, { isFirst }: StepPlace): Awaitable<Step[]> {
    const cls = view.format?.cls
    if (cls === undefined) return []
    const label = isFirst ? this.labels.begin : null
    return this.backwardFrom(view, cls, label, this.incoming(cls, label), 0, [])
  }

  private backwardFrom(
    view: ObjectView,
    cls: SchemaClass,
    label: SchemaClass | null,
    incoming: readonly ReferenceAttribute[],
    first: number,
    steps: Step[],
  ): Awaitable<Step[]> {
    for (let i = first; i < incoming.length; i++) {
      const wait = this.addBackward(view, cls, label, incoming[i] as ReferenceAttribute, steps)
      if (wait !== undefined) return wait.then(() => this.backwardFrom(view, cls, label, incoming, i + 1, steps))
    }
    return steps
  }

  private addBackward(
    view: ObjectView,
    cls: SchemaClass,
    label: SchemaClass | null,
    reference: ReferenceAttribute,
    steps: Step[],
  ): Promise<void> | undefined {
    const { number } = reference.attribute
    const add = (neighbour: Oid, more?: EdgeData): void => {
      steps.push(new BackwardStep(view, cls, reference, neighbour, more))
    }
    if (reference.edge !== undefined && !endsAtEdgeObject(reference, label))
      return this.addBackThrough(view, reference, reference.edge, add)
    const back = this.narrowed?.of(number)
    const found = back === undefined ? this.linked.owners(view, reference) : this.byIndex(view, back)
    const addAll = (owners: readonly Oid[]): Promise<void> | undefined => this.each(owners, (owner) => add(owner))
    return found instanceof Promise ? found.then(addAll) : addAll(found)
  }

  private async addBackThrough(
    view: ObjectView,
    reference: ReferenceAttribute,
    through: EdgeObjects,
    add: (neighbour: Oid, more: EdgeData) => void,
  ): Promise<void> {
    const leading = await this.linked.owners(view, through.leading)
    for await (const object of this.edgeObjects(leading, through)) {
      for (const neighbour of await this.linked.owners(object, reference)) add(neighbour, edgeDataOf(object))
    }
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

  /** Where an attribute has an inverse, what it leads to refers back: an index may tell who of them qualifies. */
  private narrowedForward({ inverse, edge }: ReferenceAttribute): NarrowedEdge | undefined {
    return inverse === null || edge !== undefined ? undefined : this.narrowed?.of(inverse)
  }

  /** Those of the neighbours that refer to the object of which the index does not tell that they do not qualify. */
  private async byIndex(view: ObjectView, back: NarrowedEdge): Promise<readonly Oid[]> {
    this.linked.ways.add(narrowedText(back))
    const range = await this.narrowed?.rangeOf(back, view.oid)
    return range === undefined ? [] : this.linked.gathered(entriesOf(range, this.context, explainNode('entries')))
  }

  /** How many edges there are at an object, counted up to `max`. */
  async countAt(view: ObjectView, direction: Direction, max: number): Promise<number> {
    const cls = view.format?.cls
    if (cls === undefined) return 0
    let count = 0
    for (const { format, reference } of direction === 'backward' ? [] : this.outgoing(view, cls)) {
      if (count >= max) return max
      const back = this.narrowedForward(reference)
      const most = max - count
      count += await (back === undefined
        ? this.linked.countTargets(view, format, most)
        : this.linked.counted(await this.narrowed?.rangeOf(back, view.oid), most))
    }
    for (const reference of direction === 'forward' ? [] : this.incoming(cls, this.labels.begin)) {
      if (count >= max) return max
      // Through edge objects: of these, there are as many as lead to the object.
      const isThrough = reference.edge !== undefined && !endsAtEdgeObject(reference, this.labels.begin)
      const followed = isThrough ? reference.edge.leading : reference
      const back = this.narrowed?.of(followed.attribute.number)
      count += await (back === undefined
        ? this.linked.countOwners(view, followed, max - count)
        : this.linked.counted(await this.narrowed?.rangeOf(back, view.oid), max - count))
    }
    return Math.min(max, count)
  }
}
