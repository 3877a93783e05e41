/** Statements of every form put together at random: whatever they say, rows are JSON, and what is refused is told by its type. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { runs } from '../bytes/property-runs.ts'
import { queryTest } from './query-database.ts'

const setUp = [
  `UPDATE SCHEMA {
     CREATE CLASS P {n: Integer, t: String, to: List{Element: Reference{Referenced: P, Inverse: from}},
       from: List{Element: Reference{Referenced: P, Inverse: to}}, one: Reference{Referenced: P}}
     CREATE CLASS Q SUPERCLASS P {m: Real, tags: List{Element: String}} }`,
  `LET a = CREATE P {n: 1, t: 'a'}; LET b = CREATE Q {n: 2, m: 1.5, to: LIST{$a}};
   LET c = CREATE P {n: 3, to: LIST{$a, $b}, one: $b}; UPDATE P WHERE n = 1 SET to TO LIST{$c}`,
]

type Text = fc.Arbitrary<string>

const of = (...texts: readonly string[]): Text => fc.constantFrom(...texts)
/** `weight`: how often of ten times it is there. */
const perhaps = (weight: number, text: Text): Text =>
  fc.oneof({ weight, arbitrary: text }, { weight: 10 - weight, arbitrary: fc.constant('') })
const joined = (...texts: readonly Text[]): Text => fc.tuple(...texts).map((some) => some.join(''))

const name = of('a', 'b', 'c', 'x')
const value = of(
  'n',
  't',
  '1',
  "'a'",
  'null',
  '$$ID',
  'a.n',
  'b',
  'e',
  'p',
  'COUNT()',
  'one.n',
  'to.n',
  'a{n, t}',
  'LENGTH(p)',
)
const predicate = joined(
  of('n', 'a.n', 'b.n', 'LENGTH(e)'),
  of(' < ', ' = ', ' > ', ' IN '),
  of('1', '2', 'a.n', 'LIST{1, 2}'),
)
const vertex = joined(
  of('('),
  perhaps(8, name),
  perhaps(5, of(':P', ':Q')),
  perhaps(
    3,
    predicate.map((text) => ` {${text}}`),
  ),
  of(')'),
)
const edge = of(
  '-->',
  '<--',
  '--',
  '-[e:to]->',
  '-[:to*0..2]->',
  '-[e*1..3]-',
  '<-[:from|one*1..2]-',
  '-[:one]-',
  '-[:to*]->',
)
const pattern = joined(
  perhaps(3, of('p = ')),
  perhaps(5, of('ANY ', 'ANY SHORTEST ', 'ALL SHORTEST ', 'SHORTEST 2 ')),
  perhaps(3, of('WALK ', 'TRAIL ', 'SIMPLE ', 'ACYCLIC ')),
  vertex,
  edge,
  vertex,
  perhaps(4, joined(edge, vertex)),
)
const where = perhaps(
  4,
  predicate.map((text) => ` WHERE ${text}`),
)
const tail = joined(
  perhaps(
    2,
    value.map((text) => ` GROUP BY ${text}`),
  ),
  perhaps(
    3,
    value.map((text) => ` ORDER BY ${text}`),
  ),
  perhaps(2, of(' SKIP 1', ' SKIP WHILE n < 2')),
  perhaps(2, of(' TAKE 3')),
  of(' RETURN '),
  perhaps(2, of('DISTINCT ')),
  fc.oneof(
    of('*', '*, 1 AS one', 'n', 'n, t', 'SUM(n) OVER (ORDER BY n) AS s'),
    value.map((text) => `${text} AS k`),
  ),
)
const { statement } = fc.letrec<{ statement: string; rows: string }>((tie) => ({
  rows: fc.oneof(
    { depthSize: 'small' },
    joined(of('FROM P', 'FROM Q a', 'FROM ONLY P', 'FROM P a, Q b'), where, tail),
    joined(
      of('MATCH '),
      pattern,
      perhaps(
        3,
        pattern.map((text) => `, ${text}`),
      ),
      where,
      perhaps(5, joined(of(' OPTIONAL MATCH '), pattern, where)),
      tail,
    ),
    joined(
      tie('statement').map((text) => `FROM (${text}) AS a`),
      where,
      tail,
    ),
    joined(
      tie('statement').map((text) => `FROM P WHERE EXISTS(${text})`),
      tail,
    ),
  ),
  statement: fc.oneof(
    { weight: 6, arbitrary: tie('rows') },
    { weight: 3, arbitrary: joined(tie('rows'), of(' UNION ', ' UNION ALL '), tie('rows')) },
    {
      weight: 1,
      arbitrary: joined(
        tie('rows').map((text) => `WITH w AS (${text}) FROM w a`),
        where,
        tail,
      ),
    },
  ),
}))

queryTest('are answered in JSON, or refused with a type', setUp, async (db) => {
  await fc.assert(
    fc.asyncProperty(statement, of('', 'EXPLAIN '), async (text, word) => {
      const reply = await db.rows(`${word}${text}`).catch((error: unknown) => error)
      const isTold = Array.isArray(reply) || typeof (reply as { type?: unknown }).type === 'string'
      expect({ text, isTold, reply: isTold ? undefined : reply }).toEqual({ text, isTold: true, reply: undefined })
    }),
    runs(400),
  )
})
