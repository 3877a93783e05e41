/** MATCH: patterns of vertices and edges, with their names, classes and attributes resolved (docs/query-language.md, Graphs). */

import { truncateForMessage } from '../../errors.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import { isRootClass } from '../../schema/root-class.ts'
import type {
  EdgePattern,
  MatchStatement,
  OptionalMatch,
  PathMode,
  PathSelection,
  Pattern,
  QualifiedName,
  VertexPattern,
} from '../language/ast.ts'
import type { Dialect } from '../language/dialect.ts'
import { queryError } from '../language/query-error.ts'
import { commonType } from '../values/type-rules.ts'
import { edgeType, type ReferenceType, type ValueType, walkType } from '../values/value-type.ts'
import { isNameAround } from './bind-path.ts'
import { bindClauses, bindWhere, rowTypeOf, withAll } from './bind-select.ts'
import type { Bound, BoundClauses } from './bound.ts'
import { hintAmongAll, requirePermitted, resolveReferenceable } from './class-names.ts'
import { endsAtEdgeObject, headClass, type ReferenceAttribute, referenceAttributesOf } from './reference-attributes.ts'
import { type Binder, contextScope, type Scope } from './scope.ts'

/** A vertex of the patterns; patterns share vertices by name. */
export interface BoundVertex {
  readonly slot: number
  readonly name: string | undefined
  readonly cls: SchemaClass | null
  readonly where: readonly Bound[]
}

export interface BoundEdge {
  /** Slot of the edge or the edges of the walk; undefined if they are unused. */
  readonly slot: number
  readonly name: string | undefined
  readonly direction: 'forward' | 'backward' | 'either'
  /** The attributes whose references are edges; undefined = all. */
  readonly attributes: readonly ReferenceAttribute[]
  /** The classes written at the ends. */
  readonly leftLabel: SchemaClass | null
  readonly rightLabel: SchemaClass | null
  readonly min: number
  readonly max: number
  readonly isVariable: boolean
  /** Set if the name of the edge denotes its edge object; the class of that object. */
  readonly edgeObject: ReferenceType | undefined
}

export interface BoundPattern {
  readonly slot: number
  readonly name: string | undefined
  readonly mode: PathMode
  /** Undefined for all paths. */
  readonly selection: PathSelection | undefined
  /** Positions in `vertices` of the statement. */
  readonly vertices: readonly number[]
  readonly edges: readonly BoundEdge[]
}

export interface BoundMatch {
  /** Vertices of MATCH, followed by the vertices of each OPTIONAL MATCH; the same order applies to patterns. */
  readonly vertices: readonly BoundVertex[]
  readonly patterns: readonly BoundPattern[]
  readonly optional: readonly BoundOptional[]
  readonly clauses: BoundClauses
  readonly rowType: ValueType
  readonly isSingle: boolean
}

export interface BoundOptional {
  readonly firstPattern: number
  readonly firstVertex: number
  /** Conditions in its patterns on vertices that are bound before. */
  readonly inPatterns: readonly Bound[]
  readonly where: readonly Bound[]
}

const walkEdgesDefault = 8
const modeDefaults: Readonly<Record<Dialect, PathMode>> = { ashlar: 'acyclic', objectivity: 'walk' }

interface VertexDraft {
  readonly slot: number
  readonly name: string | undefined
  cls: SchemaClass | null
  /** The class as written. */
  label: SchemaClass | null
  readonly patterns: VertexPattern[]
}

export function bindMatch(statement: MatchStatement, binder: Binder, walkEdgesMax: number): BoundMatch {
  refuseNamesAround(statement, binder)
  const vertices: VertexDraft[] = []
  const names = new Map<string, Bound>()
  const byName = new Map<string, number>()
  const bindPart = (part: MatchPart): BoundPattern[] => {
    const firstNew = vertices.length
    const patterns = part.patterns.map((pattern): BoundPattern => {
      const positions = pattern.vertices.map((vertex) => addVertex(vertex, vertices, byName, firstNew, binder))
      const edges = pattern.edges.map((edge) => bindEdge(edge, binder, walkEdgesMax))
      const { name, selection, mode = modeDefaults[binder.dialect] } = pattern
      return { slot: binder.newSlot(), name, selection, mode, vertices: positions, edges }
    })
    refuseSharedInner(patterns, part.patterns, binder)
    const inferred = inferClasses(patterns, vertices, firstNew)
    nameAll(inferred, vertices.slice(firstNew), part.patterns, names, binder)
    return inferred
  }
  const scopeOf = (named: ReadonlyMap<string, Bound>): Scope => {
    return { outer: undefined, context: undefined, names: named, aggregates: undefined }
  }
  const patterns = bindPart(statement)
  const own = scopeOf(new Map(names))
  const bound = vertices.map((vertex) => bindVertex(vertex, own, binder))
  const where = statement.where === undefined ? undefined : bindWhere(statement.where, own, binder)
  const optional = statement.optional.map((part): BoundOptional => {
    const first = { pattern: patterns.length, vertex: vertices.length }
    patterns.push(...bindPart(part))
    const scope = scopeOf(new Map(names))
    bound.push(...vertices.slice(first.vertex).map((vertex) => bindVertex(vertex, scope, binder)))
    const inPatterns = conditionsOnBound(part, first.vertex, byName, vertices, scope, binder)
    const after = part.where === undefined ? [] : [bindWhere(part.where, scope, binder)]
    return { firstPattern: first.pattern, firstVertex: first.vertex, inPatterns, where: after }
  })
  const scope = scopeOf(names)
  const clauses = { ...bindClauses({ ...statement, where: undefined }, scope, binder), where }
  const allClauses = withAllNames(clauses, names, scope, binder)
  return { vertices: bound, patterns, optional, clauses: allClauses, ...rowTypeOf(allClauses, walkType, statement) }
}

/** Rejects an unrestricted vertex, or one in EXISTS, with the name of an outer one: it would be a new vertex, but the outer is usually meant. */
function refuseNamesAround({ patterns, optional }: MatchStatement, { outer, text }: Binder): void {
  if (outer === undefined) return
  const written = [...patterns, ...optional.flatMap((part) => part.patterns)].flatMap(({ vertices }) => vertices)
  for (const vertex of written) {
    const { name } = vertex
    if (name === undefined || !isNameAround(name, outer)) continue
    const isBare = written.every((one) => one.name !== name || (one.className === undefined && one.where === undefined))
    if (!outer.isExists && !isBare) continue
    const quotedName = truncateForMessage(name)
    const other = name === 'x' ? 'y' : 'x'
    const message = `'${quotedName}' is a new vertex here, not the '${quotedName}' of the statement around it: to begin there, write MATCH (${other})-… WHERE ${other} = ${quotedName}; else give it another name`
    throw queryError(text, vertex, message)
  }
}

/** MATCH or one of its OPTIONAL MATCH parts. */
type MatchPart = Pick<OptionalMatch, 'patterns' | 'where'>

function nameAll(
  patterns: readonly BoundPattern[],
  vertices: readonly VertexDraft[],
  written: readonly Pattern[],
  names: Map<string, Bound>,
  binder: Binder,
): void {
  for (const { name, slot, cls, patterns: places } of vertices) {
    if (name === undefined) continue
    const type: ReferenceType = { kind: 'reference', cls }
    define(names, name, { kind: 'self', slot, type, start: 0, end: 0 }, places[0] as VertexPattern, binder)
  }
  for (const [i, { name, slot, edges }] of patterns.entries()) {
    const place = written[i] as Pattern
    for (const edge of edges) {
      if (edge.name !== undefined) define(names, edge.name, edgeValue(edge), place, binder)
    }
    if (name !== undefined) define(names, name, { kind: 'slot', slot, type: walkType, start: 0, end: 0 }, place, binder)
  }
}

/** Conditions in braces of an OPTIONAL MATCH on vertices that are bound before it. */
function conditionsOnBound(
  { patterns }: MatchPart,
  firstNew: number,
  byName: ReadonlyMap<string, number>,
  vertices: readonly VertexDraft[],
  scope: Scope,
  binder: Binder,
): Bound[] {
  return patterns.flatMap((pattern) => {
    return pattern.vertices.flatMap(({ name, where }) => {
      const position = name === undefined ? undefined : byName.get(name)
      if (where === undefined || position === undefined || position >= firstNew) return []
      const { slot, cls } = vertices[position] as VertexDraft
      return [bindWhere(where, contextScope(slot, { kind: 'reference', cls }, scope), binder)]
    })
  })
}

/** Positions of the vertices between the ends of the pattern. */
export function innerVertices({ vertices }: BoundPattern): readonly number[] {
  const [first, last] = [vertices[0], vertices.at(-1)]
  return vertices.filter((position) => position !== first && position !== last)
}

/** Inner vertices of a path selection must not occur in other patterns, because paths are selected within one pattern; its ends may. */
function refuseSharedInner(patterns: readonly BoundPattern[], written: readonly Pattern[], binder: Binder): void {
  for (const [i, pattern] of patterns.entries()) {
    if (pattern.selection === undefined) continue
    for (const inner of innerVertices(pattern)) {
      const other = patterns.findIndex(({ vertices }, at) => at !== i && vertices.includes(inner))
      if (other < 0) continue
      const rule = 'of a pattern whose paths are chosen, other patterns name the first and the last vertex alone'
      throw binder.error(written[other] as Pattern, rule)
    }
  }
}

function edgeValue({ slot, isVariable, edgeObject }: BoundEdge): Bound {
  if (edgeObject !== undefined) return { kind: 'self', slot, type: edgeObject, start: 0, end: 0 }
  return { kind: 'slot', slot, type: isVariable ? walkType : edgeType, start: 0, end: 0 }
}

/** Expands `RETURN *` to everything that has a name. */
export function withAllNames(
  clauses: BoundClauses,
  names: ReadonlyMap<string, Bound>,
  scope: Scope,
  binder: Binder,
): BoundClauses {
  if (clauses.projections !== undefined && !clauses.isWithAll) return clauses
  const projections = [...names].map(([name, expression]) => {
    if (expression.type.kind !== 'reference') return { name, expression }
    const type = { kind: 'object', cls: expression.type.cls } as const
    return { name, expression: { ...expression, type } as Bound }
  })
  return withAll(clauses, projections, scope, binder)
}

function define(
  names: Map<string, Bound>,
  name: string,
  bound: Bound,
  place: { start: number; end: number },
  binder: Binder,
): void {
  if (names.has(name)) throw binder.error(place, `'${name}' names two different things`)
  names.set(name, bound)
}

function addVertex(
  pattern: VertexPattern,
  vertices: VertexDraft[],
  byName: Map<string, number>,
  firstNew: number,
  binder: Binder,
): number {
  const cls = pattern.className === undefined ? null : resolveReferenceable(binder, pattern.className, ['query'], true)
  if (cls === null) requirePermitted(binder, binder.catalog.root, ['query'])
  const existing = pattern.name === undefined ? undefined : byName.get(pattern.name)
  const draft = existing === undefined ? undefined : vertices[existing]
  if (draft !== undefined && existing !== undefined && existing < firstNew) {
    refuseOtherClass(pattern, cls, draft, binder)
    return existing
  }
  if (draft !== undefined && existing !== undefined) {
    draft.patterns.push(pattern)
    if (
      cls !== null &&
      draft.cls !== null &&
      !cls.isOrInherits(draft.cls.number) &&
      !draft.cls.isOrInherits(cls.number)
    ) {
      throw binder.error(
        pattern,
        `'${pattern.name}' is of class ${draft.cls.name}, and cannot be of class ${cls.name} too`,
      )
    }
    if (cls !== null && (draft.cls === null || cls.isOrInherits(draft.cls.number))) draft.cls = cls
    draft.label = draft.cls
    return existing
  }
  const position =
    vertices.push({ slot: binder.newSlot(), name: pattern.name, cls, label: cls, patterns: [pattern] }) - 1
  if (pattern.name !== undefined) byName.set(pattern.name, position)
  return position
}

/** An OPTIONAL MATCH must not narrow the class of a vertex that is bound before it. */
function refuseOtherClass(
  pattern: VertexPattern,
  cls: SchemaClass | null,
  { name, cls: boundClass }: VertexDraft,
  binder: Binder,
): void {
  if (cls === null || boundClass?.isOrInherits(cls.number) === true) return
  const rule = `'${name}' is known before OPTIONAL MATCH${boundClass === null ? '' : `, of class ${boundClass.name}`}: it has no other class there`
  throw binder.error(pattern, `${rule}; WHERE can ask for one`)
}

function bindEdge(edge: EdgePattern, binder: Binder, walkEdgesMax: number): BoundEdge {
  const { name, direction, length } = edge
  const all = referenceAttributesOf(binder.catalog)
  const attributes = edge.attributes === undefined ? all : attributesCalled(edge.attributes, all, binder)
  const min = length?.min ?? 1
  const max = length === undefined ? 1 : (length.max ?? Math.max(min, walkEdgesDefault))
  if (max > walkEdgesMax)
    throw binder.error(edge, `a walk has at most ${walkEdgesMax} edges, not ${max} (walkEdgesMax)`)
  if (min > max) throw binder.error(edge, `a walk of at least ${min} and at most ${max} edges is none`)
  const isVariable = length !== undefined
  const unknown = { leftLabel: null, rightLabel: null, edgeObject: undefined }
  return { slot: binder.newSlot(), name, direction, attributes, ...unknown, min, max, isVariable }
}

/** The attributes with any of the names; each name must match at least one. */
function attributesCalled(
  names: readonly QualifiedName[],
  all: readonly ReferenceAttribute[],
  binder: Binder,
): readonly ReferenceAttribute[] {
  for (const name of names) {
    if (all.some((attribute) => isCalled(attribute, name.text))) continue
    const attributeNames = [...new Set(all.map(({ attribute }) => attribute.name))]
    const message = `no class has references called '${truncateForMessage(name.text)}'${hintAmongAll(name.text, attributeNames)}`
    throw binder.error(name, message)
  }
  return all.filter((attribute) => names.some(({ text }) => isCalled(attribute, text)))
}

/** Matches the plain name, or the name qualified by the declaring class. */
function isCalled({ attribute, declaringClass }: ReferenceAttribute, name: string): boolean {
  return attribute.name === name || `${declaringClass.name}.${attribute.name}` === name
}

/** Narrows attributes by the classes of their ends, and vertices without a class by the edges at them. */
function inferClasses(
  patterns: readonly BoundPattern[],
  vertices: readonly VertexDraft[],
  firstNew: number,
): BoundPattern[] {
  const boundVertices = new Set(vertices.slice(0, firstNew))
  const ends = (pattern: BoundPattern, i: number): [VertexDraft, VertexDraft] => [
    vertices[pattern.vertices[i] as number] as VertexDraft,
    vertices[pattern.vertices[i + 1] as number] as VertexDraft,
  ]
  let inferred = patterns.map((pattern) => {
    const edges = pattern.edges.map((edge, i) => {
      const [{ label: leftLabel }, { label: rightLabel }] = ends(pattern, i)
      return { ...edge, leftLabel, rightLabel }
    })
    return { ...pattern, edges }
  })
  const alike = new AlikeEdges()
  for (let isNew = true; isNew; ) {
    isNew = false
    inferred = inferred.map((pattern) => {
      const edges = pattern.edges.map((edge, i) => {
        const [left, right] = ends(pattern, i)
        const { attributes, leftClass, rightClass } = alike.infer(edge, left.cls, right.cls)
        isNew = (!boundVertices.has(left) && setClass(left, leftClass)) || isNew
        isNew = (!boundVertices.has(right) && setClass(right, rightClass)) || isNew
        return { ...edge, attributes }
      })
      return { ...pattern, edges }
    })
  }
  return inferred.map((pattern) => {
    return { ...pattern, edges: pattern.edges.map((edge) => ({ ...edge, edgeObject: edgeObjectOf(edge) })) }
  })
}

/** The type of the edge object that the name of the edge denotes; undefined if an edge may have none. */
function edgeObjectOf(edge: BoundEdge): ReferenceType | undefined {
  const { attributes, direction, leftLabel, rightLabel, isVariable } = edge
  const heads = [...(direction === 'backward' ? [] : [rightLabel]), ...(direction === 'forward' ? [] : [leftLabel])]
  const isThrough = attributes.every((attribute) => {
    return attribute.edge !== undefined && !heads.some((label) => endsAtEdgeObject(attribute, label))
  })
  if (isVariable || !isThrough) return undefined
  const types = attributes.map(({ edge }): ValueType => ({ kind: 'reference', cls: edge?.cls ?? null }))
  const [first, ...others] = types
  return first && (others.reduce((one, other) => commonType(one, other) ?? one, first) as ReferenceType)
}

type Classes = readonly (SchemaClass | null)[]

/** The possible attributes, and the common class of the objects at each end; null if none. */
interface InferredEdge {
  readonly attributes: BoundEdge['attributes']
  readonly leftClass: SchemaClass | null
  readonly rightClass: SchemaClass | null
}

/** Caches inference for identical edges, because hundreds of unnamed ones may each cover all attributes of the schema. */
class AlikeEdges {
  private readonly inferred = new Map<BoundEdge['attributes'], Map<string, InferredEdge>>()

  infer(edge: BoundEdge, left: SchemaClass | null, right: SchemaClass | null): InferredEdge {
    let byKey = this.inferred.get(edge.attributes)
    if (byKey === undefined) {
      byKey = new Map()
      this.inferred.set(edge.attributes, byKey)
    }
    const { direction, min, isVariable, leftLabel, rightLabel } = edge
    const classes = [left, right, leftLabel, rightLabel].map((cls) => cls?.number ?? '')
    const key = [direction, min > 0, isVariable, ...classes].join()
    let inferred = byKey.get(key)
    if (inferred === undefined) {
      inferred = inferEdge(edge, left, right)
      byKey.set(key, inferred)
    }
    return inferred
  }
}

function inferEdge(edge: BoundEdge, left: SchemaClass | null, right: SchemaClass | null): InferredEdge {
  const lefts: (SchemaClass | null)[] = []
  const rights: (SchemaClass | null)[] = []
  // Inner objects of a walk may be of any class.
  const [leftEnd, rightEnd] = edge.isVariable ? [null, null] : [left, right]
  const attributes = edge.attributes.filter((attribute) => {
    const { declaringClass } = attribute
    const goes = (from: SchemaClass, to: SchemaClass): boolean => {
      const isPossible = mayBe(leftEnd, from) && mayBe(rightEnd, to)
      if (isPossible) {
        lefts.push(from)
        rights.push(to)
      }
      return isPossible
    }
    const isForward = edge.direction !== 'backward' && goes(declaringClass, headClass(attribute, edge.rightLabel))
    const isBackward = edge.direction !== 'forward' && goes(headClass(attribute, edge.leftLabel), declaringClass)
    return isForward || isBackward
  })
  // A walk without edges begins and ends at the same object.
  const [leftClass, rightClass] =
    edge.min > 0
      ? [commonClass(lefts), commonClass(rights)]
      : [commonClass([...lefts, right]), commonClass([...rights, left])]
  return { attributes, leftClass, rightClass }
}

function mayBe(cls: SchemaClass | null, other: SchemaClass): boolean {
  return cls === null || cls.isOrInherits(other.number) || other.isOrInherits(cls.number)
}

/** The candidate from which all candidates inherit. */
function commonClass(candidates: Classes): SchemaClass | null {
  const common = candidates.find((cls) => {
    return cls !== null && !isRootClass(cls) && candidates.every((candidate) => candidate?.isOrInherits(cls.number))
  })
  return common ?? null
}

/** Returns true if the class of the vertex was set. */
function setClass(vertex: VertexDraft, cls: SchemaClass | null): boolean {
  if (vertex.cls !== null) return false
  vertex.cls = cls
  return cls !== null
}

/** Predicates of the vertex see its attributes unqualified, and everything else by name. */
function bindVertex({ slot, name, cls, patterns }: VertexDraft, scope: Scope, binder: Binder): BoundVertex {
  const own = contextScope(slot, { kind: 'reference', cls }, scope)
  const where = patterns.flatMap((pattern) =>
    pattern.where === undefined ? [] : [bindWhere(pattern.where, own, binder)],
  )
  return { slot, name, cls, where }
}
