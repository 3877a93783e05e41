/** Random graphs and random patterns, compared with every walk counted out by hand. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openQueryDatabase, storeKinds } from '../query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Vertex {name: Integer, to: List{Element: Reference{Referenced: Vertex}},
    pair: Reference{Referenced: Vertex, Inverse: paired}, paired: List{Element: Reference{Referenced: Vertex, Inverse: pair}}}
  CREATE CLASS Special SUPERCLASS Vertex {extra: Integer}
}`

type Direction = 'forward' | 'backward' | 'either'

interface Graph {
  readonly isSpecial: readonly boolean[]
  /** Lists may name a vertex twice: one edge. */
  readonly to: readonly (readonly number[])[]
  readonly pair: readonly (number | null)[]
}

interface EdgePattern {
  readonly attribute: 'to' | 'pair' | 'paired' | undefined
  readonly direction: Direction
  readonly min: number
  readonly max: number
}

interface Pattern {
  readonly edges: readonly EdgePattern[]
  /** Per vertex: a name to bind, or the class asked for. */
  readonly names: readonly number[]
  readonly special: readonly boolean[]
  readonly start: number | undefined
}

const graph: fc.Arbitrary<Graph> = fc.integer({ min: 1, max: 5 }).chain((size) => {
  const vertex = fc.nat(size - 1)
  const each = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(value, { minLength: size, maxLength: size })
  return fc.record({
    isSpecial: each(fc.boolean()),
    to: each(fc.array(vertex, { maxLength: 2 })),
    pair: each(fc.option(vertex)),
  })
})

const edge: fc.Arbitrary<EdgePattern> = fc
  .record({
    attribute: fc.constantFrom('to', 'pair', 'paired', undefined),
    direction: fc.constantFrom<Direction>('forward', 'backward', 'either'),
    min: fc.nat(2),
    more: fc.nat(1),
  })
  .map(({ min, more, ...rest }) => ({ ...rest, min, max: Math.max(1, min + more) }))

const pattern: fc.Arbitrary<Pattern> = fc.array(edge, { minLength: 1, maxLength: 3 }).chain((edges) => {
  const count = edges.length + 1
  return fc.record({
    edges: fc.constant(edges),
    names: fc.array(fc.nat(2), { minLength: count, maxLength: count }),
    special: fc.array(fc.boolean(), { minLength: count, maxLength: count }),
    start: fc.option(fc.nat(4), { nil: undefined }),
  })
})

function written({ edges, names, special, start }: Pattern): string {
  const vertex = (i: number): string => {
    const where = i === 0 && start !== undefined ? ` {name = ${start}}` : ''
    return `(v${names[i]}${special[i] ? ':Special' : ':Vertex'}${where})`
  }
  let text = vertex(0)
  for (const [i, { attribute, direction, min, max }] of edges.entries()) {
    const length = min === 1 && max === 1 ? '' : `*${min}..${max}`
    const body = `-[${attribute === undefined ? '' : `:${attribute}`}${length}]-`
    text += `${direction === 'backward' ? '<' : ''}${body}${direction === 'forward' ? '>' : ''}${vertex(i + 1)}`
  }
  const returned = [...new Set(names)].sort().map((name) => `v${name}.name AS v${name}`)
  return `MATCH w = ${text} RETURN ${returned.join(', ')}, COUNT(w) AS edges`
}

interface PlainEdge {
  readonly from: number
  readonly to: number
  readonly attribute: string
}

function edgesOf({ to, pair }: Graph): PlainEdge[] {
  const edges: PlainEdge[] = []
  for (const [from, targets] of to.entries())
    for (const target of new Set(targets)) edges.push({ from, to: target, attribute: 'to' })
  for (const [from, target] of pair.entries()) {
    if (target === null) continue
    edges.push({ from, to: target, attribute: 'pair' }, { from: target, to: from, attribute: 'paired' })
  }
  return edges
}

/** What stands at each vertex of the pattern, and what the walks between them pass. */
interface Found {
  readonly ends: readonly number[]
  readonly passed: readonly (readonly number[])[]
  readonly lengths: readonly number[]
}

/** Every match, one by one: each row as text, sorted. */
function countedOut(data: Graph, { edges, names, special, start }: Pattern): string[] {
  const all = edgesOf(data)
  const next = (at: number, { attribute, direction }: EdgePattern): number[] => {
    const right = all.filter((edge) => attribute === undefined || edge.attribute === attribute)
    const forward = direction === 'backward' ? [] : right.filter(({ from }) => from === at).map(({ to }) => to)
    const backward = direction === 'forward' ? [] : right.filter(({ to }) => to === at).map(({ from }) => from)
    return [...forward, ...backward]
  }
  const walksFrom = (
    at: number,
    edge: EdgePattern,
    passed: readonly number[],
    length: number,
  ): { end: number; passed: readonly number[]; length: number }[] => {
    const here = length >= edge.min ? [{ end: at, passed: passed.slice(0, -1), length }] : []
    if (length === edge.max || (length > 0 && passed.indexOf(at) < passed.length - 1)) return here
    return [...here, ...next(at, edge).flatMap((far) => walksFrom(far, edge, [...passed, far], length + 1))]
  }
  let found: Found[] = [...data.to.keys()]
    .filter((vertex) => start === undefined || vertex === start)
    .map((vertex) => ({ ends: [vertex], passed: [], lengths: [] }))
  for (const edge of edges) {
    found = found.flatMap(({ ends, passed, lengths }) => {
      const walks = walksFrom(ends.at(-1) as number, edge, [], 0)
      return walks.map((walk) => ({
        ends: [...ends, walk.end],
        passed: [...passed, walk.passed],
        lengths: [...lengths, walk.length],
      }))
    })
  }
  return found
    .filter(({ ends }) => ends.every((vertex, i) => !special[i] || data.isSpecial[vertex] === true))
    .filter(({ ends }) => ends.every((vertex, i) => ends[names.indexOf(names[i] as number)] === vertex))
    .filter((match) => isSimple(match, names))
    .map(({ ends, lengths }) => {
      const row = [...new Set(names)].sort().map((name) => [`v${name}`, ends[names.indexOf(name)]])
      return JSON.stringify({ ...Object.fromEntries(row), edges: lengths.reduce((sum, length) => sum + length, 0) })
    })
    .sort()
}

/** No vertex twice, but where the pattern makes two places one: by a name, or by a walk of no edge. */
function isSimple({ ends, passed, lengths }: Found, names: readonly number[]): boolean {
  const inner = passed.flat()
  if (new Set(inner).size < inner.length || inner.some((vertex) => ends.includes(vertex))) return false
  const isOne = (i: number, j: number, tried: readonly number[]): boolean => {
    if (i === j) return true
    const beside = names.flatMap((name, k) => {
      const isLinked = name === names[i] || (k === i + 1 && lengths[i] === 0) || (k === i - 1 && lengths[k] === 0)
      return isLinked && !tried.includes(k) ? [k] : []
    })
    return beside.some((k) => isOne(k, j, [...tried, i]))
  }
  return ends.every((vertex, i) => ends.every((other, j) => vertex !== other || isOne(i, j, [])))
}

describe('walks', () => {
  for (const [kind, wrap] of storeKinds.entries()) {
    it(`are all found, and each once${kind === 0 ? '' : ' (from a store that answers later)'}`, async () => {
      const { db, close } = await openQueryDatabase([schema], { limits: { walkEdgesMax: 8 } }, wrap)
      await fc.assert(
        fc.asyncProperty(graph, fc.array(pattern, { minLength: 1, maxLength: 4 }), async (data, patterns) => {
          await db.rows('DELETE Vertex RETURN COUNT()')
          await db.rows(
            'FOR EACH v IN $vertices => (IF $v.isSpecial THEN (CREATE Special {name: $v.name}) ELSE (CREATE Vertex {name: $v.name}))',
            {
              vertices: data.isSpecial.map((isSpecial, name) => ({ name, isSpecial })),
            },
          )
          await db.rows(
            `FOR EACH v IN $vertices => (
               UPDATE Vertex WHERE name = $v.name SET pair TO (LOOKUP Vertex WHERE name = $v.pair);
               FOR EACH t IN $v.to => (UPDATE Vertex WHERE name = $v.name ADD (LOOKUP Vertex WHERE name = $t) TO to))`,
            { vertices: data.to.map((to, name) => ({ name, to, pair: data.pair[name] })) },
          )
          for (const chosen of patterns) {
            const text = written(chosen)
            const rows = await db.rows(text)
            expect({ text, rows: rows.map((row) => JSON.stringify(row)).sort() }).toEqual({
              text,
              rows: countedOut(data, chosen),
            })
          }
        }),
        { numRuns: 40 * Number(process.env.ASHLAR_RUNS ?? 1) },
      )
      await close()
    })
  }
})
