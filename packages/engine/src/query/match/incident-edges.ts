/** The edges of one pattern at the objects of one of its ends, those that are incident to each: references of an object, and references to it. */
import { farSideEdgesMax } from '../../limits.ts'
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
  /** May be made each time that it is asked for. */
  readonly edge: Edge
  readonly neighbour: Oid
  /** Of edges that end at their edge object where a walk ends, and lead through it elsewhere; undefined = both. */
  readonly place: 'inner' | 'last' | undefined
}

/** How edges by one reference are found at objects of a class. */
export interface Link {
  readonly cls: SchemaClass
  readonly reference: ReferenceAttribute
  readonly isForward: boolean
  /** The attribute of the object that leads to its neighbours: the reference, or an inverse of it; undefined where an index or a scan finds them. */
  readonly attribute: AttributeFormat | undefined
  /** The edge objects through which edges lead. */
  readonly through: EdgeObjects | undefined
  /** What refers to the object where edges are followed back: the reference itself, or that of the edge objects. */
  readonly back: ReferenceAttribute
  /** An index that tells which of the neighbours qualify. */
  readonly narrowed: NarrowedEdge | undefined
}

/** So many edge objects are read in one trip. */
const objectsAtOnce = 256
/** Edges that are looked at before the next look at the clock. */
const stepsBetweenLooks = 1_024
/** By which the bounds grow up to which edges are counted. */
export const countsStep = 4

type EdgeObjectView = ObjectView & { readonly format: ClassFormat }
type EdgeData = Required<Pick<Edge, 'edgeData' | 'edgeDataClass'>>

/** The edge is made for whoever asks for it. */
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

/** Throws `needsFetch` after all have been asked, where one of them has to be. */
function askAll<T>(all: readonly T[], ask: (one: T) => void): void {
  let isMissing = false
  for (const one of all) {
    try {
      ask(one)
    } catch (error) {
      if (error !== needsFetch) throw error
      isMissing = true
    }
  }
  if (isMissing) throw needsFetch
}

/** What it evaluates about classes and scans is kept for the statement. */
export class IncidentEdges {
  readonly direction: Direction
  private readonly edge: BoundEdge
  private readonly context: StatementContext
  private readonly linked: LinkedObjects
  /** The classes that the pattern asks for, as written, at the vertices where a walk is begun and ended. */
  private readonly beginLabel: SchemaClass | null
  private readonly endLabel: SchemaClass | null
  /** Classes that the neighbour vertex may have where one edge leads there; null = any. */
  private readonly neighbourClass: SchemaClass | null
  /** What is asked of the neighbours beyond their class, where an index on the edge tells it. */
  private readonly narrowed: NarrowedEdges | undefined
  private readonly forward = new Map<ClassNumber, readonly Link[]>()
  private readonly backward = new Map<ClassNumber, readonly Link[]>()
  /** Where a walk begins, whose label may say that edges end at their edge objects. */
  private readonly firstBackward = new Map<ClassNumber, readonly Link[]>()

  constructor(ends: EdgeEnds, flow: MatchFlow) {
    const { edge, to, isRightward } = ends
    this.edge = edge
    this.direction = directionOf(ends)
    this.context = flow.context
    this.linked = new LinkedObjects(flow.context)
    this.beginLabel = isRightward ? edge.leftLabel : edge.rightLabel
    this.endLabel = isRightward ? edge.rightLabel : edge.leftLabel
    // Within a walk of several edges there are other objects than those of the vertex.
    const isOne = edge.max <= 1
    this.neighbourClass = isOne ? to.cls : null
    this.narrowed = isOne && to.narrowed.length > 0 ? new NarrowedEdges(to.narrowed, flow) : undefined
  }

  /** How edges were followed back, for EXPLAIN. */
  get ways(): ReadonlySet<string> {
    return this.linked.ways
  }

  /** `distance`: of the object from where the walk begins. Without a promise where nothing has to be waited for. */
  at(view: ObjectView, distance: number): Awaitable<Step[]> {
    if (this.direction !== 'either') return this.follow(view, distance, this.linksAt(view, distance), 0, [])
    return mapAwaitable(this.follow(view, distance, this.forwardAt(view), 0, []), (forward) => {
      return mapAwaitable(this.follow(view, distance, this.backwardAt(view, distance), 0, []), (backward) => {
        return backward.length === 0 ? forward : [...withoutLoops(forward, view.oid, backward), ...backward]
      })
    })
  }

  /** How many there are at the object, counted up to `max`. */
  async count(view: ObjectView, max: number): Promise<number> {
    const { linked } = this
    let count = 0
    for (const { attribute, back, narrowed } of this.linksAt(view, 0)) {
      if (count >= max) return max
      const most = max - count
      // Through edge objects: of these, there are as many as lead to the object.
      if (narrowed !== undefined) count += await linked.counted(await this.narrowed?.rangeOf(narrowed, view.oid), most)
      else if (attribute === undefined) count += await linked.countOwners(view, back, most)
      else count += await linked.countTargets(view, attribute, most)
    }
    return Math.min(max, count)
  }

  /**
   * How many there are at the object, where there are not too many to be kept; yields what it costs to count more than `few`. `countedPerEdge`: so
   * many are counted for what it costs to follow one.
   */
  async *countInSteps(view: ObjectView, few: number, countedPerEdge: number): AsyncGenerator<number, number> {
    for (let max = few; ; max = Math.min(max * countsStep, farSideEdgesMax + 1)) {
      const count = await this.count(view, max)
      if (count < max || max > farSideEdgesMax) return count
      yield Math.ceil(count / countedPerEdge)
    }
  }

  /**
   * Where each read is a trip: reads by one of them the lists by which the edges at all the objects are found, and by another the edge objects there. What
   * an index tells is read when the edges are followed.
   */
  async prefetch(views: readonly ObjectView[], distance: number): Promise<void> {
    const { reader } = this.context
    await evaluateRows(this.context, views, (view) => {
      askAll(this.linksAt(view, distance), ({ attribute, narrowed }) => {
        if (attribute !== undefined && narrowed === undefined) this.linked.askTargets(view, attribute)
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

  /** Appends to the steps. */
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

  /** Of very many, with turns for others in between. */
  private addEach(
    view: ObjectView,
    link: Link,
    oids: readonly Oid[],
    steps: Step[],
    first: number,
  ): Promise<void> | undefined {
    for (let i = first; i < oids.length; i++) {
      if (i > first && i % stepsBetweenLooks === 0 && this.context.isTurnDue) {
        return this.context.turn().then(() => this.addEach(view, link, oids, steps, i))
      }
      steps.push(new LinkStep(view, link, oids[i] as Oid, undefined, undefined))
    }
    return undefined
  }

  /** Edges that lead through edge objects, or end at them. */
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

  /** Those of the objects that there are and that are of the edge class. */
  private async *edgeObjects(oids: readonly Oid[], cls: SchemaClass): AsyncGenerator<EdgeObjectView> {
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

  /** Those of the neighbours that refer to the object of which the index does not tell that they do not qualify. */
  private async byIndex(view: ObjectView, narrowed: NarrowedEdge): Promise<readonly Oid[]> {
    this.linked.ways.add(narrowedText(narrowed))
    const range = await this.narrowed?.rangeOf(narrowed, view.oid)
    return range === undefined ? [] : this.linked.gathered(entriesOf(range, this.context, explainNode('entries')))
  }

  /** In the order in which edges are followed. */
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
        // What it leads to refers back.
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
    const [known, label] = distance === 0 ? [this.firstBackward, this.beginLabel] : [this.backward, null]
    let found = known.get(cls.number)
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
      known.set(cls.number, found)
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

/** Edges as the object sees them that were found from their other ends. */
export function seenFrom(
  { format }: Pick<ObjectView, 'format'>,
  steps: readonly Step[],
  { attributes }: BoundEdge,
): Step[] {
  const name = format?.cls.name ?? ''
  return steps.map(({ edge, neighbour, place }) => {
    const { attributeNumber } = edge
    // It was followed back, from the object that it refers to.
    if (edge.fromClass === '') {
      const attribute = format?.attribute(attributeNumber)?.attribute.outputName ?? edge.attribute
      return { edge: { ...edge, attribute, fromClass: name, toClass: '' }, neighbour, place }
    }
    const declared = attributes.find(({ attribute }) => attribute.number === attributeNumber)
    const attribute = declared?.attribute.name ?? edge.attribute
    return { edge: { ...edge, attribute, fromClass: '', toClass: name }, neighbour, place }
  })
}
