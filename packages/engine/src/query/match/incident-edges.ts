/** The edges of one pattern that are incident to an object: its own references, and references to it. */
import { backwardEdgesMax } from '../../limits.ts'
import type { AttributeFormat, ClassFormat } from '../../records/class-format.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import type { ClassNumber } from '../../types/type-spec.ts'
import { entriesOf } from '../access/index-scan.ts'
import type { BoundEdge } from '../bind/bind-match.ts'
import { type EdgeObjects, endsAtEdgeObject, headClass, type ReferenceAttribute } from '../bind/reference-attributes.ts'
import { needsFetch } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { explainNode } from '../explain/explain-node.ts'
import type { Edge } from '../values/edge.ts'
import { type Direction, directionOf, type EdgeEnds } from './edge-ends.ts'
import { LinkedObjects } from './linked-objects.ts'
import type { MatchFlow } from './match-operator.ts'
import { type NarrowedEdge, NarrowedEdges, narrowedText } from './narrowed-edges.ts'
import { edgeKey } from './path-modes.ts'

export interface Step {
  /** May be created on each access. */
  readonly edge: Edge
  readonly neighbour: Oid
  /** Whether the edge is valid within a walk or as its last edge only; undefined if both. */
  readonly place: 'inner' | 'last' | undefined
}

/** How the edges by one reference are found at objects of a class. */
export interface Link {
  readonly cls: SchemaClass
  readonly reference: ReferenceAttribute
  readonly isForward: boolean
  /** The reference or its inverse at the object; undefined if an index or a scan finds the edges. */
  readonly attribute: AttributeFormat | undefined
  /** The edge objects between the ends of an edge. */
  readonly through: EdgeObjects | undefined
  /** The reference to follow backward: the edge's own, or that of the edge objects. */
  readonly back: ReferenceAttribute
  /** An index from which it is known which neighbours qualify. */
  readonly narrowed: NarrowedEdge | undefined
}

/** Edge objects read in one round trip. */
const objectsPerBatch = 256
/** Edges between checks of the clock. */
const edgesPerClockCheck = 1_024
/** Growth factor of the bounds up to which edges are counted. */
export const countsStep = 4

type EdgeObjectView = ObjectView & { readonly format: ClassFormat }
type EdgeData = Required<Pick<Edge, 'edgeData' | 'edgeDataClass'>>

/** Creates the edge on access. */
class LinkStep implements Step {
  readonly neighbour: Oid
  readonly place: Step['place']
  private readonly view: ObjectView
  private readonly link: Link
  private readonly more: EdgeData | undefined

  constructor(view: ObjectView, link: Link, neighbour: Oid, place: Step['place'], more: EdgeData | undefined) {
    this.view = view
    this.link = link
    this.neighbour = neighbour
    this.place = place
    this.more = more
  }

  get edge(): Edge {
    const { view, neighbour, more, link } = this
    const { cls, isForward, reference } = link
    const { name, number: attributeNumber } = reference.attribute
    const own = isForward ? link.attribute : undefined
    const edge =
      own === undefined
        ? { from: neighbour, fromClass: '', attribute: name, attributeNumber, to: view.oid, toClass: cls.name }
        : {
            from: view.oid,
            fromClass: cls.name,
            attribute: own.attribute.outputName,
            attributeNumber,
            to: neighbour,
            toClass: '',
          }
    return more === undefined ? edge : { ...edge, ...more }
  }
}

/** Requests all of them before it throws `needsFetch` for the missing ones. */
function requestAll<T>(all: readonly T[], request: (one: T) => void): void {
  let isMissing = false
  for (const one of all) {
    try {
      request(one)
    } catch (error) {
      if (error !== needsFetch) throw error
      isMissing = true
    }
  }
  if (isMissing) throw needsFetch
}

/** Caches the links of classes and the results of scans for the statement. */
export class IncidentEdges {
  readonly direction: Direction
  private readonly edge: BoundEdge
  private readonly context: StatementContext
  private readonly linked: LinkedObjects
  /** The classes that the pattern names at the vertices where a walk begins and ends. */
  private readonly beginLabel: SchemaClass | null
  private readonly endLabel: SchemaClass | null
  /** The class of a neighbour at the end of a single edge; null = any. */
  private readonly neighbourClass: SchemaClass | null
  /** Conditions on the neighbours that an index on the edge can decide. */
  private readonly narrowed: NarrowedEdges | undefined
  private readonly forward = new Map<ClassNumber, readonly Link[]>()
  private readonly backward = new Map<ClassNumber, readonly Link[]>()
  /** Links at the start of a walk, whose label may select the edge objects as ends. */
  private readonly firstBackward = new Map<ClassNumber, readonly Link[]>()

  constructor(ends: EdgeEnds, flow: MatchFlow) {
    const { edge, to, isRightward } = ends
    this.edge = edge
    this.direction = directionOf(ends)
    this.context = flow.context
    this.linked = new LinkedObjects(flow.context)
    this.beginLabel = isRightward ? edge.leftLabel : edge.rightLabel
    this.endLabel = isRightward ? edge.rightLabel : edge.leftLabel
    // Inner objects of a walk of several edges are not restricted by the vertex.
    const isOne = edge.max <= 1
    this.neighbourClass = isOne ? to.cls : null
    this.narrowed = isOne && to.narrowed.length > 0 ? new NarrowedEdges(to.narrowed, flow) : undefined
  }

  /** How edges were followed back, for EXPLAIN. */
  get ways(): ReadonlySet<string> {
    return this.linked.ways
  }

  /** `distance` is counted from the start of the walk. Returns the steps synchronously if possible. */
  at(view: ObjectView, distance: number): Awaitable<Step[]> {
    if (this.direction !== 'either') return this.follow(view, distance, this.linksAt(view, distance), 0, [])
    return mapAwaitable(this.follow(view, distance, this.forwardAt(view), 0, []), (forward) => {
      return mapAwaitable(this.follow(view, distance, this.backwardAt(view, distance), 0, []), (backward) => {
        return backward.length === 0 ? forward : [...withoutLoops(forward, view.oid, backward), ...backward]
      })
    })
  }

  /** The number of edges at the object, counted up to `max`. */
  async count(view: ObjectView, max: number): Promise<number> {
    const { linked } = this
    let count = 0
    for (const { attribute, back, narrowed } of this.linksAt(view, 0)) {
      if (count >= max) return max
      const most = max - count
      // Each edge object is the origin of one edge, so the edge objects are counted.
      if (narrowed !== undefined) count += await linked.counted(await this.narrowed?.rangeOf(narrowed, view.oid), most)
      else if (attribute === undefined) count += await linked.countOwners(view, back, most)
      else count += await linked.countTargets(view, attribute, most)
    }
    return Math.min(max, count)
  }

  /** Counts the edges at the object up to a limit. Yields the cost of counting more than `few`: counting `countedPerEdge` edges costs one. */
  async *countInSteps(view: ObjectView, few: number, countedPerEdge: number): AsyncGenerator<number, number> {
    for (let max = few; ; max = Math.min(max * countsStep, backwardEdgesMax + 1)) {
      const count = await this.count(view, max)
      if (count < max || max > backwardEdgesMax) return count
      yield Math.ceil(count / countedPerEdge)
    }
  }

  /** On a remote store, reads the lists of edges of all objects in one round trip and the edge objects in another; index entries are read later. */
  async prefetch(views: readonly ObjectView[], distance: number): Promise<void> {
    const { reader } = this.context
    await evaluateRows(this.context, views, (view) => {
      requestAll(this.linksAt(view, distance), ({ attribute, narrowed }) => {
        if (attribute !== undefined && narrowed === undefined) this.linked.requestTargets(view, attribute)
      })
    })
    if (this.direction === 'backward' || !this.edge.attributes.some(({ edge }) => edge !== undefined)) return
    const edgeObjects = new Set<Oid>()
    for (const view of views) {
      for (const { attribute, through } of this.forwardAt(view)) {
        if (attribute === undefined || through === undefined) continue
        for (const oid of await this.linked.targets(view, attribute)) edgeObjects.add(oid)
      }
    }
    await evaluateRows(this.context, [[...edgeObjects]], (oids) => reader.prefetch(oids))
  }

  private follow(
    view: ObjectView,
    distance: number,
    links: readonly Link[],
    first: number,
    steps: Step[],
  ): Awaitable<Step[]> {
    for (let i = first; i < links.length; i++) {
      const wait = this.add(view, distance, links[i] as Link, steps)
      if (wait !== undefined) return wait.then(() => this.follow(view, distance, links, i + 1, steps))
    }
    return steps
  }

  private add(view: ObjectView, distance: number, link: Link, steps: Step[]): Promise<void> | undefined {
    const { through } = link
    const found = this.neighboursBy(view, link)
    if (through !== undefined) return this.addThrough(view, distance, link, through, found, steps)
    return found instanceof Promise
      ? found.then((oids) => this.addEach(view, link, oids, steps, 0))
      : this.addEach(view, link, found, steps, 0)
  }

  private neighboursBy(view: ObjectView, { attribute, back, narrowed, isForward }: Link): Awaitable<readonly Oid[]> {
    if (narrowed !== undefined) return this.byIndex(view, narrowed)
    if (attribute === undefined || !isForward) return this.linked.owners(view, back)
    return this.linked.targets(view, attribute)
  }

  /** Adds very many edges, yielding to other requests in between. */
  private addEach(
    view: ObjectView,
    link: Link,
    oids: readonly Oid[],
    steps: Step[],
    first: number,
  ): Promise<void> | undefined {
    for (let i = first; i < oids.length; i++) {
      if (i > first && i % edgesPerClockCheck === 0 && this.context.isYieldDue) {
        return this.context.yieldToEventLoop().then(() => this.addEach(view, link, oids, steps, i))
      }
      steps.push(new LinkStep(view, link, oids[i] as Oid, undefined, undefined))
    }
    return undefined
  }

  /** Adds edges that lead through edge objects, or end at them. */
  private async addThrough(
    view: ObjectView,
    distance: number,
    link: Link,
    { cls, leading }: EdgeObjects,
    found: Awaitable<readonly Oid[]>,
    steps: Step[],
  ): Promise<void> {
    const { isForward, reference } = link
    const oids = await found
    const isSplit = isForward && endsAtEdgeObject(reference, this.endLabel)
    if (isSplit && distance + 1 >= this.edge.min)
      for (const oid of oids) steps.push(new LinkStep(view, link, oid, 'last', undefined))
    if (isSplit && distance + 1 >= this.edge.max) return
    for await (const object of this.edgeObjects(oids, cls)) {
      const { oid, format } = object
      const neighbours = isForward
        ? [object.value(format.attribute(leading.attribute.number).index) as Oid | null]
        : await this.linked.owners(object, reference)
      const more = { edgeData: oid, edgeDataClass: format.cls.name }
      for (const neighbour of neighbours)
        if (neighbour !== null && neighbour !== noOid)
          steps.push(new LinkStep(view, link, neighbour, isSplit ? 'inner' : undefined, more))
    }
  }

  /** Yields the objects that exist and are of the edge class. */
  private async *edgeObjects(oids: readonly Oid[], cls: SchemaClass): AsyncGenerator<EdgeObjectView> {
    const { reader } = this.context
    for (let at = 0; at < oids.length; at += objectsPerBatch) {
      const pause = this.context.yieldIfDue()
      if (pause !== undefined) await pause
      const views = await evaluateRows(this.context, oids.slice(at, at + objectsPerBatch), (oid) => reader.object(oid))
      for (const view of views) {
        if (view.format?.cls.isOrInherits(cls.number) === true) yield view as EdgeObjectView
      }
    }
  }

  /** Returns the neighbours that refer to the object, except for neighbours that the index excludes. */
  private async byIndex(view: ObjectView, narrowed: NarrowedEdge): Promise<readonly Oid[]> {
    this.linked.ways.add(narrowedText(narrowed))
    const range = await this.narrowed?.rangeOf(narrowed, view.oid)
    return range === undefined ? [] : this.linked.gathered(entriesOf(range, this.context, explainNode('entries')))
  }

  /** The links in the order in which edges are followed. */
  linksAt(view: ObjectView, distance: number): readonly Link[] {
    const { direction } = this
    if (direction === 'forward') return this.forwardAt(view)
    const backward = this.backwardAt(view, distance)
    return direction === 'backward' ? backward : [...this.forwardAt(view), ...backward]
  }

  private forwardAt({ format }: ObjectView): readonly Link[] {
    if (format === undefined) return []
    const { cls } = format
    let found = this.forward.get(cls.number)
    if (found === undefined) {
      const byNumber = new Map(this.edge.attributes.map((reference) => [reference.attribute.number, reference]))
      found = format.attributes.flatMap((attribute): Link[] => {
        const reference = byNumber.get(attribute.attribute.number)
        if (reference === undefined || !this.mayLeadTo(headClass(reference, this.endLabel))) return []
        const { edge: through, inverse } = reference
        // The inverse is the reference from the neighbour back.
        const narrowed = inverse === null || through !== undefined ? undefined : this.narrowed?.of(inverse)
        return [{ cls, reference, isForward: true, attribute, through, back: reference, narrowed }]
      })
      this.forward.set(cls.number, found)
    }
    return found
  }

  private backwardAt({ format }: ObjectView, distance: number): readonly Link[] {
    if (format === undefined) return []
    const { cls } = format
    const [cache, label] = distance === 0 ? [this.firstBackward, this.beginLabel] : [this.backward, null]
    let found = cache.get(cls.number)
    if (found === undefined) {
      found = this.edge.attributes.flatMap((reference): Link[] => {
        const isIncident = cls.isOrInherits(headClass(reference, label).number)
        if (!isIncident || !this.mayLeadTo(reference.declaringClass)) return []
        const through = endsAtEdgeObject(reference, label) ? undefined : reference.edge
        const back = through?.leading ?? reference
        const narrowed = through === undefined ? this.narrowed?.of(reference.attribute.number) : undefined
        const attribute = back.inverse === null ? undefined : format.attribute(back.inverse)
        return [{ cls, reference, isForward: false, attribute, through, back, narrowed }]
      })
      cache.set(cls.number, found)
    }
    return found
  }

  private mayLeadTo(cls: SchemaClass): boolean {
    const { neighbourClass } = this
    return neighbourClass === null || neighbourClass.isOrInherits(cls.number) || cls.isOrInherits(neighbourClass.number)
  }
}

/** A reference of an object to itself is one edge, in whichever direction it is found. */
function withoutLoops(forward: readonly Step[], oid: Oid, backward: readonly Step[]): readonly Step[] {
  const isLoop = ({ neighbour }: Step): boolean => neighbour === oid
  if (!forward.some(isLoop)) return forward
  const found = new Set(backward.filter(isLoop).map(({ edge }) => edgeKey(edge)))
  return forward.filter((step) => !isLoop(step) || !found.has(edgeKey(step.edge)))
}

/** Edges found from their other ends, described from the object's side. */
export function seenFrom(
  { format }: Pick<ObjectView, 'format'>,
  steps: readonly Step[],
  { attributes }: BoundEdge,
): Step[] {
  const name = format?.cls.name ?? ''
  return steps.map(({ edge, neighbour, place }) => {
    const { attributeNumber } = edge
    // The edge was followed back, so its source is the neighbour.
    if (edge.fromClass === '') {
      const attribute = format?.attribute(attributeNumber)?.attribute.outputName ?? edge.attribute
      return { edge: { ...edge, attribute, fromClass: name, toClass: '' }, neighbour, place }
    }
    const declared = attributes.find(({ attribute }) => attribute.number === attributeNumber)
    const attribute = declared?.attribute.name ?? edge.attribute
    return { edge: { ...edge, attribute, fromClass: '', toClass: name }, neighbour, place }
  })
}
