/** Random graphs and random patterns, compared with every walk counted out by hand. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { kindNames, openQueryDatabase, type QueryDatabase, storeKinds } from '../query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Node {name: Integer}
  CREATE CLASS Vertex SUPERCLASS Node {to: List{Element: Reference{Referenced: Vertex}},
    pair: Reference{Referenced: Vertex, Inverse: paired}, paired: List{Element: Reference{Referenced: Vertex, Inverse: pair}},
    via: List{Element: Reference{EdgeClass: Link, EdgeAttribute: target}}}
  CREATE CLASS Link SUPERCLASS Node {target: Reference{Referenced: Vertex}}
  CREATE CLASS Special SUPERCLASS Vertex {extra: Integer}
}`

/** By which edges lead to vertices of a name alone. */
const pairIndex = 'CREATE INDEX pairAndName ON Vertex (pair, name)'

/** The same, where all edges are found from both their ends, and vertices by their names. */
const pairedSchema = schema
  .replace(
    'to: List{Element: Reference{Referenced: Vertex}}',
    'to: List{Element: Reference{Referenced: Vertex, Inverse: from}}, from: List{Element: Reference{Referenced: Vertex, Inverse: to}}',
  )
  .replace('EdgeAttribute: target}', 'EdgeAttribute: target, Inverse: owner}')
  .replace(
    'target: Reference{Referenced: Vertex}',
    'target: Reference{Referenced: Vertex}, owner: Reference{Referenced: Vertex, Inverse: via}',
  )
const pairedIndexes = ['CREATE INDEX linkTarget ON Link (target)', 'CREATE INDEX nodeName ON Node (name)', pairIndex]

type Direction = 'forward' | 'backward' | 'either'

interface Graph {
  readonly isSpecial: readonly boolean[]
  /** Lists may name a vertex twice: one edge. */
  readonly to: readonly (readonly number[])[]
  readonly pair: readonly (number | null)[]
  /** Of the edge objects that a vertex has: what they lead to, null = nothing. */
  readonly via: readonly (readonly (number | null)[])[]
}

/** An edge object of a vertex is a vertex itself, of this name. */
const linkOf = (vertex: number, nth: number): number => 100 + vertex * 10 + nth
const isLink = (vertex: number): boolean => vertex >= 100

interface EdgePattern {
  readonly attribute: 'to' | 'pair' | 'paired' | 'via' | 'target' | undefined
  readonly direction: Direction
  readonly min: number
  readonly max: number
}

/** `acyclic` is the mode without a word, too. */
type Mode = 'walk' | 'trail' | 'acyclic' | 'simple' | undefined

interface Pattern {
  readonly mode: Mode
  readonly edges: readonly EdgePattern[]
  /** Per vertex: a name to bind, or the class asked for. */
  readonly names: readonly number[]
  readonly special: readonly boolean[]
  /** Per name, where it is not a vertex of the graph proper: an edge object, or either. */
  readonly others: readonly ('Link' | 'Node' | undefined)[]
  readonly start: number | undefined
  readonly end: number | undefined
}

const graph: fc.Arbitrary<Graph> = fc.integer({ min: 1, max: 5 }).chain((size) => {
  const vertex = fc.nat(size - 1)
  const each = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(value, { minLength: size, maxLength: size })
  return fc.record({
    isSpecial: each(fc.boolean()),
    to: each(fc.array(vertex, { maxLength: 2 })),
    pair: each(fc.option(vertex)),
    via: each(fc.array(fc.option(vertex), { maxLength: 2 })),
  })
})

const edge: fc.Arbitrary<EdgePattern> = fc
  .record({
    attribute: fc.constantFrom('to', 'pair', 'paired', 'via', 'via', 'target', undefined, undefined),
    direction: fc.constantFrom<Direction>('forward', 'backward', 'either'),
    min: fc.nat(2),
    more: fc.nat(1),
  })
  .map(({ min, more, ...rest }) => ({ ...rest, min, max: min + more }))

/** So many edges at most where vertices are repeated: the walks that there are grow with a power of it. */
const repeatingEdges = 4

function repeats(mode: Mode): mode is 'walk' | 'trail' {
  return mode === 'walk' || mode === 'trail'
}

function atMost(edges: readonly EdgePattern[], most: number): EdgePattern[] {
  let left = most
  return edges.filter(({ max }) => {
    const isKept = max <= left
    if (isKept) left -= max
    return isKept
  })
}

const shape = fc
  .record({
    mode: fc.constantFrom<Mode>('walk', 'trail', 'acyclic', 'simple', undefined),
    edges: fc.array(edge, { minLength: 1, maxLength: 3 }),
  })
  .map(({ mode, edges }) => ({ mode, edges: repeats(mode) ? atMost(edges, repeatingEdges) : edges }))

const pattern: fc.Arbitrary<Pattern> = shape.chain(({ mode, edges }) => {
  const count = edges.length + 1
  return fc.record({
    mode: fc.constant(mode),
    edges: fc.constant(edges),
    names: fc.array(fc.nat(2), { minLength: count, maxLength: count }),
    special: fc.array(fc.boolean(), { minLength: count, maxLength: count }),
    others: fc.array(fc.constantFrom('Link' as const, 'Node' as const, undefined, undefined), {
      minLength: 3,
      maxLength: 3,
    }),
    start: fc.option(fc.nat(4), { nil: undefined }),
    end: fc.option(fc.nat(4), { nil: undefined }),
  })
})

function labelAt({ names, special, others }: Pattern, i: number): 'Link' | 'Node' | 'Special' | 'Vertex' {
  const other = others[names[i] as number]
  if (other !== undefined) return other
  return special[i] === true ? 'Special' : 'Vertex'
}

function written(pattern: Pattern, selection = ''): string {
  const { mode, edges, names, start, end } = pattern
  const vertex = (i: number): string => {
    const name = i === 0 ? start : i === edges.length ? end : undefined
    const where = name === undefined ? '' : ` {name = ${name}}`
    return `(v${names[i]}:${labelAt(pattern, i)}${where})`
  }
  let text = vertex(0)
  for (const [i, { attribute, direction, min, max }] of edges.entries()) {
    const length = min === 1 && max === 1 ? '' : `*${min}..${max}`
    const body = `-[${attribute === undefined ? '' : `:${attribute}`}${length}]-`
    text += `${direction === 'backward' ? '<' : ''}${body}${direction === 'forward' ? '>' : ''}${vertex(i + 1)}`
  }
  const returned = [...new Set(names)].sort().map((name) => `v${name}.name AS v${name}`)
  return `MATCH w = ${selection} ${mode === undefined ? '' : mode.toUpperCase()} ${text} RETURN ${returned.join(', ')}, w.attribute AS walk`
}

/** Takes the place of what is there. */
function stored({ isSpecial, to, pair, via }: Graph): string {
  const vertex = (name: number | null): string => (name === null ? 'null' : `$v${name}`)
  const list = (elements: readonly string[]): string => `LIST{${elements.join(', ')}}`
  const created = isSpecial.map((is, name) => `LET v${name} = CREATE ${is ? 'Special' : 'Vertex'} {name: ${name}}`)
  const linked = isSpecial.map((_, name) => {
    const links = (via[name] ?? []).map((target, nth) => {
      return `CREATE Link {name: ${linkOf(name, nth)}, target: ${vertex(target)}}`
    })
    const sets = [
      ...(pair[name] == null ? [] : [`pair TO ${vertex(pair[name])}`]),
      `to TO ${list((to[name] ?? []).map(vertex))}`,
      `via TO ${list(links)}`,
    ]
    return `UPDATE ${vertex(name)} SET ${sets.join(', ')} RETURN COUNT()`
  })
  return ['DELETE Node RETURN COUNT()', ...created, ...linked].join('; ')
}

interface PlainEdge {
  readonly from: number
  readonly to: number
  readonly attribute: string
  /** The reference that it is. */
  readonly reference: string
  /** `atObject`: it ends at an edge object, `through`: it leads through one. */
  readonly kind: 'plain' | 'atObject' | 'through'
}

function edgesOf({ to, pair, via }: Graph, isPaired: boolean): PlainEdge[] {
  const edges: PlainEdge[] = []
  const add = (from: number, attribute: string, far: number, kind: PlainEdge['kind'] = 'plain', held = far): void => {
    edges.push({ from, to: far, attribute, reference: `${from} ${attribute} ${held}`, kind })
  }
  for (const [from, targets] of to.entries()) {
    for (const target of new Set(targets)) {
      add(from, 'to', target)
      if (isPaired) add(target, 'from', from)
    }
  }
  for (const [from, target] of pair.entries()) {
    if (target === null) continue
    add(from, 'pair', target)
    add(target, 'paired', from)
  }
  for (const [from, targets] of via.entries()) {
    for (const [nth, target] of targets.entries()) {
      const link = linkOf(from, nth)
      add(from, 'via', link, 'atObject')
      if (isPaired) add(link, 'owner', from)
      if (target === null) continue
      add(from, 'via', target, 'through', link)
      add(link, 'target', target)
    }
  }
  return edges
}

interface Walk {
  readonly end: number
  /** The vertices after its first one. */
  readonly passed: readonly number[]
  readonly edges: readonly PlainEdge[]
  readonly mayEnd: boolean
  readonly mayContinue: boolean
}

/** What stands at each vertex of the pattern, and the walks between them. */
interface Found {
  readonly ends: readonly number[]
  readonly walks: readonly Walk[]
}

const mayBeLink = (label: string): boolean => label === 'Link' || label === 'Node'

/** Every match, one by one: each row as text, sorted. */
function countedOut(data: Graph, pattern: Pattern, isPaired: boolean): string[] {
  const { mode, edges, names, start, end } = pattern
  const all = edgesOf(data, isPaired)
  const next = (walk: Walk, { attribute, direction }: EdgePattern, i: number): Walk[] => {
    const right = all.filter((edge) => attribute === undefined || edge.attribute === attribute)
    const goes = (edge: PlainEdge, end: number, more: { mayEnd: boolean; mayContinue: boolean }): Walk => {
      return { end, passed: [...walk.passed, end], edges: [...walk.edges, edge], ...more }
    }
    const forward = right.flatMap((edge): Walk[] => {
      if (edge.from !== walk.end) return []
      const isSplit = mayBeLink(labelAt(pattern, i + 1))
      if (edge.kind === 'atObject') return isSplit ? [goes(edge, edge.to, { mayEnd: true, mayContinue: false })] : []
      return [goes(edge, edge.to, { mayEnd: edge.kind === 'plain' || !isSplit, mayContinue: true })]
    })
    const backward = right.flatMap((edge): Walk[] => {
      if (edge.to !== walk.end) return []
      const isSplit = mayBeLink(labelAt(pattern, i)) && walk.edges.length === 0
      if (edge.kind !== 'plain' && (edge.kind === 'atObject') !== isSplit) return []
      return [goes(edge, edge.from, { mayEnd: true, mayContinue: true })]
    })
    if (direction === 'forward') return forward
    if (direction === 'backward') return backward
    // A reference of a vertex to itself is one edge.
    const found = new Set(backward.map(({ edges }) => edges.at(-1)))
    const others = forward.filter(({ end, edges }) => end !== walk.end || !found.has(edges.at(-1)))
    return [...others, ...backward]
  }
  const walksFrom = (walk: Walk, edge: EdgePattern, i: number): Walk[] => {
    const { end, passed, edges, mayEnd, mayContinue } = walk
    const here = edges.length >= edge.min && mayEnd ? [walk] : []
    if (edges.length === edge.max || !mayContinue) return here
    // Without repeated vertices what comes after one is no walk in any case.
    if (!repeats(mode) && passed.indexOf(end) < passed.length - 1) return here
    return [...here, ...next(walk, edge, i).flatMap((further) => walksFrom(further, edge, i))]
  }
  const links = data.via.flatMap((targets, vertex) => targets.map((_, nth) => linkOf(vertex, nth)))
  let found: Found[] = [...data.to.keys(), ...links]
    .filter((vertex) => start === undefined || vertex === start)
    .map((vertex) => ({ ends: [vertex], walks: [] }))
  for (const [i, edge] of edges.entries()) {
    found = found.flatMap(({ ends, walks }) => {
      const none: Walk = { end: ends.at(-1) as number, passed: [], edges: [], mayEnd: true, mayContinue: true }
      return walksFrom(none, edge, i).map((walk) => ({ ends: [...ends, walk.end], walks: [...walks, walk] }))
    })
  }
  const isOfClass = (vertex: number, i: number): boolean => {
    const label = labelAt(pattern, i)
    if (label === 'Node') return true
    if (label === 'Link' || isLink(vertex)) return label === 'Link' && isLink(vertex)
    return label === 'Vertex' || data.isSpecial[vertex] === true
  }
  return found
    .filter(({ ends }) => end === undefined || ends.at(-1) === end)
    .filter(({ ends }) => ends.every(isOfClass))
    .filter(({ ends }) => ends.every((vertex, i) => ends[names.indexOf(names[i] as number)] === vertex))
    .filter((match) => isInMode(match, names, mode))
    .map(({ ends, walks }) => {
      const row = [...new Set(names)].sort().map((name) => [`v${name}`, ends[names.indexOf(name)]])
      const walk = walks.flatMap(({ edges }) => edges.map(({ attribute }) => attribute))
      return JSON.stringify({ ...Object.fromEntries(row), walk })
    })
    .sort()
}

function isInMode(found: Found, names: readonly number[], mode: Mode): boolean {
  if (mode === 'walk') return true
  if (mode !== 'trail') return hasNoVertexTwice(found, names, mode === 'simple')
  const edges = found.walks.flatMap((walk) => walk.edges.map(({ reference }) => reference))
  return new Set(edges).size === edges.length
}

/** But where the pattern makes two places one, by a name or by a walk of no edge, and where a circle is allowed to close. */
function hasNoVertexTwice({ ends, walks }: Found, names: readonly number[], mayClose: boolean): boolean {
  const inner = walks.flatMap(({ passed }) => passed.slice(0, -1))
  if (new Set(inner).size < inner.length || inner.some((vertex) => ends.includes(vertex))) return false
  const last = ends.length - 1
  const isClosed = mayClose && ends[0] === ends[last]
  const isOne = (i: number, j: number, tried: readonly number[]): boolean => {
    if (i === j) return true
    const isStill = (k: number): boolean => walks[k]?.edges.length === 0
    const beside = names.flatMap((name, k) => {
      const isLinked =
        name === names[i] ||
        (k === i + 1 && isStill(i)) ||
        (k === i - 1 && isStill(k)) ||
        (isClosed && i + k === last && (i === 0 || k === 0))
      return isLinked && !tried.includes(k) ? [k] : []
    })
    return beside.some((k) => isOne(k, j, [...tried, i]))
  }
  return ends.every((vertex, i) => ends.every((other, j) => vertex !== other || isOne(i, j, [])))
}

const selections = ['ANY', 'ANY SHORTEST', 'ALL SHORTEST', 'SHORTEST 2'] as const

/** Of the walks between each first and last vertex, those that are asked for. */
function expectChosen(
  text: string,
  rows: readonly Record<string, unknown>[],
  all: readonly string[],
  { names }: Pattern,
  selection: (typeof selections)[number],
): void {
  const ends = [`v${names[0]}`, `v${names.at(-1)}`]
  const grouped = (texts: readonly string[]): Map<string, string[]> => {
    const groups = new Map<string, string[]>()
    for (const one of texts) {
      const row = JSON.parse(one) as Record<string, unknown>
      const key = ends.map((end) => row[end]).join(' ')
      groups.set(key, [...(groups.get(key) ?? []), one])
    }
    return groups
  }
  const lengthOf = (one: string): number => (JSON.parse(one) as { walk: unknown[] }).walk.length
  const lengths = (texts: readonly string[]): number[] => texts.map(lengthOf).sort((one, other) => one - other)
  const [found, groups] = [grouped(rows.map((row) => JSON.stringify(row))), grouped(all)]
  expect({ text, ends: [...found.keys()].sort() }).toEqual({ text, ends: [...groups.keys()].sort() })
  for (const [key, group] of groups) {
    const some = (found.get(key) as string[]).sort()
    const [least] = lengths(group)
    const left = [...group]
    for (const one of some)
      expect({ text, is: left.splice(left.indexOf(one), left.includes(one) ? 1 : 0) }).toEqual({ text, is: [one] })
    if (selection === 'ANY') expect({ text, rows: some.length }).toEqual({ text, rows: 1 })
    else if (selection === 'ALL SHORTEST')
      expect({ text, some }).toEqual({ text, some: group.filter((one) => lengthOf(one) === least).sort() })
    else
      expect({ text, lengths: lengths(some) }).toEqual({
        text,
        lengths: lengths(group).slice(0, selection === 'SHORTEST 2' ? 2 : 1),
      })
  }
}

/** Every object that could be the first vertex, with its walks, or without one. */
async function expectOptional(db: QueryDatabase, data: Graph, chosen: Pattern, isPaired: boolean): Promise<void> {
  const { names } = chosen
  const label = labelAt(chosen, 0)
  const first = `v${names[0]}`
  if (names.some((name, i) => name === names[0] && labelAt(chosen, i) !== label)) return
  const text = `MATCH (${first}:${label}) OPTIONAL ${written(chosen)}`
  const all = (await db.rows(`FROM ${label} RETURN name`)).map(({ name }) => name)
  const rows = countedOut(data, chosen, isPaired).map((row) => JSON.parse(row) as Record<string, unknown>)
  const nothing = Object.fromEntries([...new Set(names)].sort().map((name) => [`v${name}`, null]))
  const missed = all.filter((name) => rows.every((row) => row[first] !== name))
  const expected = [...rows, ...missed.map((name) => ({ ...nothing, [first]: name, walk: null }))]
  const texts = (given: readonly unknown[]): string[] => given.map((row) => JSON.stringify(row)).sort()
  expect({ text, rows: texts(await db.rows(text)) }).toEqual({ text, rows: texts(expected) })
}

const kindsOfGraph = [
  { name: '', setUp: [schema, pairIndex], isPaired: false },
  { name: ' where edges are found from both ends', setUp: [pairedSchema, ...pairedIndexes], isPaired: true },
]

describe('walks', () => {
  for (const [kind, wrap] of storeKinds.entries()) {
    for (const { name, setUp, isPaired } of kindsOfGraph) {
      it(`are all found, and each once${name}${kindNames[kind]}`, async () => {
        const { db, close } = await openQueryDatabase(setUp, { limits: { walkEdgesMax: 8 } }, wrap)
        const patterns = fc.array(pattern, { minLength: 1, maxLength: 4 })
        await fc.assert(
          fc.asyncProperty(graph, patterns, fc.boolean(), async (data, all, isUncommitted) => {
            if (!isUncommitted) await db.rows(stored(data))
            for (const chosen of all) {
              const text = written(chosen)
              // What the same transaction has written before counts as well.
              const rows = await db.rows(isUncommitted ? `${stored(data)}; ${text}` : text)
              const expected = countedOut(data, chosen, isPaired)
              expect({ text, rows: rows.map((row) => JSON.stringify(row)).sort() }).toEqual({ text, rows: expected })
              await expectOptional(db, data, chosen, isPaired)
              for (const selection of selections) {
                const asked = written(chosen, selection)
                const some = await db.rows(asked)
                expectChosen(asked, some, expected, chosen, selection)
              }
            }
          }),
          runs(40),
        )
        await close()
      })
    }
  }
})
