/** Elements that are removed from lists by value, and lines of loads that change one object, where expressions give values (contract 10.6). */
import { expect } from 'vitest'
import { classOf, embedded, type FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Loose, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

async function rows(query: string, parameters = {}): Promise<Loose> {
  const reply = await server.post(fd.at('/v1/query'), { query, parameters })
  expect(reply.status, reply.text).toBe(200)
  return reply.json
}
const of = (cls: string) => ({ logicalType: 'object', class: cls })
const given = (logicalType: string, expression: string, more = {}) => ({
  logicalType,
  default: { expression },
  ...more,
})
const computed = (logicalType: string, expression: string, isStored = false) => ({
  logicalType,
  computed: { expression, ...(isStored ? { isStored } : {}) },
})

const line = classOf(
  'Line',
  {
    price: { logicalType: 'real', default: 2 },
    count: 'integer',
    total: given('real', 'price * count'),
    id: given('guid', 'GUID()'),
    at: given('datetime', 'NOW()'),
    number: given('integer', "NEXT('lines')"),
  },
  embedded,
)
rule(
  '10.6.27',
  'what an expression gives is not evaluated for elements to be removed, and matches any value',
  async () => {
    await rows('CREATE SEQUENCE lines')
    await fd.define(
      line,
      classOf(
        'Box',
        { line: of('Line'), lines: list(of('Line')), twice: computed('integer', 'line.count * 2') },
        embedded,
      ),
      classOf('Order', { lines: list(of('Line')), boxes: list(of('Box')) }),
    )
    const counts = (): Promise<Loose> => rows('FROM Order RETURN lines.count AS l, boxes.line.count AS b')
    const remove = (attribute: string, ...elements: object[]) => ({ [attribute]: { action: 'remove', elements } })
    const lines = [1, 2, 3, 4, 5, 6, 7, 8, 8].map((count) => ({ count }))
    const boxes = [{ line: { count: 1 }, lines: [{ count: 2 }, {}] }, { line: { count: 1 } }, { line: { count: 3 } }]
    const oid = await fd.create('Order', { lines, boxes })
    const drawn = await rows('SHOW SEQUENCES')
    await fd.update(oid, remove('lines', { count: 1 }, { count: 2, price: 7 }))
    await rows('UPDATE Order REMOVE Line{count: 3} FROM lines')
    for (const some of [[{ count: 4 }], [{ count: 5, number: 1 }], { count: 5, id: null }])
      await rows('UPDATE Order REMOVE $some FROM lines', { some })
    await rows('UPDATE Order SET lines[0].count TO 9 REMOVE Line{count: 8} FROM lines')
    expect(await counts()).toEqual([{ l: [9, 5, 6, 7], b: [1, 1, 3] }])
    await fd.update(
      oid,
      remove('boxes', { line: { count: 1 }, lines: [{ count: 2 }, {}] }, { line: { count: 3 }, twice: 5 }),
    )
    expect(await counts()).toEqual([{ l: [9, 5, 6, 7], b: [1, 3] }])
    await fd.update(oid, remove('boxes', { line: { count: 3 }, twice: 6 }))
    const { lines: left } = await fd.read(oid)
    await fd.update(oid, remove('lines', { ...left[1], number: 0 }, { ...left[2], number: left[2].number }))
    expect(await counts()).toEqual([{ l: [9, 5, 7], b: [1] }])
    expect(await rows('SHOW SEQUENCES')).toEqual(drawn)
    const masks = [{}, { id: null }, { number: 1 }, { id: null, number: 1 }, { total: 1 }]
    const refused = await fd.putObject(oid, remove('lines', ...masks))
    expect(expectProblem(refused, 422, 'ValueNotAllowed')).toContain('5 different sets of attributes')
    expect((await fd.putObject(oid, remove('lines', ...masks.slice(1)))).status).toBe(204)
  },
)

rule(
  '10.6.28',
  'computed values are taken from lines that are committed together as from single requests',
  async () => {
    const twice = computed('integer', 'n * 2')
    const stored = computed('integer', 'n * 3', true)
    await fd.define(
      classOf('Part', { n: 'integer', twice, stored }, embedded),
      classOf(
        'Whole',
        {
          code: { logicalType: 'string', isUnique: true },
          n: { logicalType: 'integer', default: 1 },
          twice,
          stored,
          part: of('Part'),
          parts: list(of('Part')),
          first: given('integer', 'n'),
          version: { logicalType: 'integer', onUpdate: { expression: 'version + 1' } },
          free: 'string',
        },
        { checks: [{ name: 'small', expression: 'n < 100' }] },
      ),
    )
    const values = (n: number) => ({ n, twice: 2 * n, stored: 3 * n })
    const full = (n: number) => ({ ...values(n), part: values(n), parts: [values(n), values(n + 1)] })
    const kept = (n: number, attribute: string) =>
      attribute === 'parts' ? [values(n)] : { part: values(n) }[attribute]
    /** The second line gives a new n with the computed values of n = `from`. */
    const stale = (from: number): object[] =>
      ['twice', 'stored'].flatMap((name) => {
        const one = { n: 9, [name]: (name === 'twice' ? 2 : 3) * from }
        return [one, { part: one }, { parts: [{ n: 8 }, one] }]
      })
    const changes = [
      full(7),
      full(5),
      ...stale(5),
      ...stale(7),
      ...stale(6),
      { n: 9, part: kept(9, 'part') },
      { n: 200 },
    ]
    for (const [i, second] of changes.entries()) {
      const outcomes: unknown[] = []
      for (const isBatch of [false, true]) {
        const code = `${i} ${isBatch}`
        const oid = await fd.create('Whole', { code, ...full(5) })
        const lines = [full(7), second, { free: 'x' }].map((attributes) => ({
          class: 'Whole',
          attributes: { code, ...attributes },
        }))
        const kinds: string[] = []
        for (const part of isBatch ? [lines] : lines.map((one) => [one])) {
          const raw = part.map((one) => `${JSON.stringify(one)}\n`).join('')
          const headers = { 'content-type': 'application/x-ndjson' }
          const url = `${fd.at('/v1/object')}&upsertOn=Whole.code&onError=skip`
          const { text } = await server.send('POST', url, { raw, headers })
          const replies = text.trim().split('\n').slice(0, -1)
          kinds.push(...replies.map((reply) => JSON.parse(reply).error?.type ?? 'ok'))
        }
        const { __identifier__: _, code: __, ...rest } = await fd.read(oid)
        outcomes.push({ kinds, rest })
      }
      expect([second, outcomes[1]]).toEqual([second, outcomes[0]])
      expect(outcomes[0]).toMatchObject({ kinds: ['ok', expect.any(String), 'ok'], rest: { first: 5 } })
    }
  },
)

rule(
  '10.6.28',
  'a line that is refused for what it did to an object is named, though a later one changes it again',
  async () => {
    const whole = {
      code: { logicalType: 'string', isUnique: true },
      n: 'integer',
      first: given('integer', 'n'),
    }
    await fd.define(classOf('Whole', whole, { checks: [{ name: 'small', expression: 'n < 100' }] }))
    const line = (attributes: object) =>
      `${JSON.stringify({ class: 'Whole', attributes: { code: 'a', ...attributes } })}\n`
    const load = (...lines: object[]) => {
      const headers = { 'content-type': 'application/x-ndjson' }
      return server.send('POST', `${fd.at('/v1/object')}&upsertOn=Whole.code&onError=skip`, {
        raw: lines.map(line).join(''),
        headers,
      })
    }
    const replies = (await load({ n: 1 }, { n: 2 }, { n: 300 }, { n: 4 })).text
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text))
    expect(replies.map(({ line, error }) => [line, error?.type])).toEqual([
      [1, undefined],
      [2, undefined],
      [3, 'ConstraintViolation'],
      [4, undefined],
      [undefined, undefined],
    ])
    expect(await rows('FROM Whole RETURN n, first')).toEqual([{ n: 4, first: 1 }])
  },
)

rule('10.6.28', 'a line that is refused is refused although a later one deletes the object', async () => {
  const n = { logicalType: 'integer', minimum: 0 }
  await fd.define(classOf('Whole', { code: { logicalType: 'string', isUnique: true }, n }))
  const oid = await fd.create('Whole', { code: 'a', n: 1 })
  const deletion = { method: 'delete', uri: `/v1/object/${oid}` }
  const raw = [{ class: 'Whole', attributes: { code: 'a', n: -1 } }, deletion]
    .map((one) => JSON.stringify(one))
    .join('\n')
  const headers = { 'content-type': 'application/x-ndjson' }
  const url = `${fd.at('/v1/object')}&upsertOn=Whole.code&onError=skip`
  const replies = (await server.send('POST', url, { raw, headers })).text.trim().split('\n')
  expect(replies.map((reply) => JSON.parse(reply).error?.type)).toEqual(['ConstraintViolation', undefined, undefined])
  expect(await rows('FROM Whole RETURN n')).toEqual([])
})

rule(['10.4.12', '10.6.28'], 'what is judged at the end is judged once the lines are committed together', async () => {
  const whole = {
    code: { logicalType: 'string', isUnique: true },
    next: { ...reference('Whole'), isRequired: true },
  }
  await fd.define(classOf('Whole', whole))
  const lines = [{}, {}, { next: `\${b}` }].map((more) => ({ class: 'Whole', attributes: { code: 'a', ...more } }))
  const raw = [...lines, { class: 'Whole', id: 'b', attributes: { code: 'b', next: `\${b}` } }].map((line) =>
    JSON.stringify(line),
  )
  const headers = { 'content-type': 'application/x-ndjson' }
  const sent = await server.send('POST', `${fd.at('/v1/object')}&upsertOn=Whole.code`, {
    raw: raw.join('\n'),
    headers,
  })
  expect(sent.text).toContain('{"summary":{"created":2,"updated":2,"failed":0}}')
})
