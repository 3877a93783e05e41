/** What references may be set to, within structures and at the same moment as others, over HTTP. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { classOf, embedded, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

const none = '0-0-0-0'
let server: ServerUnderTest
let fd: FdUnderTest

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'references'] })
  fd = new FdUnderTest(server, 'references')
  const map = (element: Record<string, unknown>) => ({ logicalType: 'map', elementSpecification: element })
  await fd.define(
    classOf('Target', { n: 'integer' }),
    classOf('Special', {}, { superClass: 'Target' }),
    classOf('Other', {}),
    classOf(
      'Part',
      {
        one: reference('Target'),
        two: reference('Target'),
        other: reference('Other'),
        many: list(reference('Target')),
        named: map(reference('Target')),
      },
      embedded,
    ),
    classOf('Owner', {
      n: 'integer',
      part: { logicalType: 'object', class: 'Part' },
      parts: list({ logicalType: 'object', class: 'Part' }),
      many: list(reference('Target')),
      tree: list(reference('Target'), 'TreeListOfReferences'),
      mates: set(reference('Target')),
      named: map(reference('Target')),
    }),
    classOf('Hub', { spokes: list(reference('Spoke', 'hub')) }),
    classOf('Spoke', { hub: reference('Hub', 'spokes'), pair: reference('Spoke', 'pair') }),
  )
})
afterAll(() => server.remove())

async function refused(oid: string, attributes: unknown): Promise<void> {
  const before = await fd.read(oid)
  const reply = await fd.putObject(oid, attributes)
  expect(reply.status, `${JSON.stringify(attributes)} ${reply.text}`).toBe(422)
  expectProblem(reply, 422, 'InvalidReference')
  expect(await fd.read(oid)).toEqual(before)
}

describe('within structures', () => {
  rule('4.4.1', 'references of embedded objects name fitting objects', async () => {
    const [target, special, other] = [await fd.create('Target'), await fd.create('Special'), await fd.create('Other')]
    const missing = '3-3-60000-1'
    const part = { one: target, other, many: [special], named: { a: target } }
    const oid = await fd.create('Owner', { part, parts: [part, {}] })
    for (const bad of [missing, await fd.create('Other')]) {
      for (const one of [{ one: bad }, { many: [target, bad] }, { named: { a: bad } }]) {
        expectProblem(await fd.postObject('Owner', { part: one }), 422, 'InvalidReference')
        await refused(oid, { part: one })
        await refused(oid, { parts: { action: 'add', elements: [one] } })
        await refused(await fd.create('Owner'), { parts: [{}, one] })
      }
    }
    await fd.update(oid, { part: { one: special } })
    expect((await fd.read(oid)).part).toMatchObject({ ...part, one: special, two: none })
  })

  rule('4.4.1', 'an object that one attribute refers to may still not fit another', async () => {
    const [target, other] = [await fd.create('Target'), await fd.create('Other')]
    const oid = await fd.create('Owner', { part: { one: target, other }, parts: [{ one: target, other }] })
    await refused(oid, { part: { other: target } })
    await refused(oid, { part: { one: other } })
    await refused(oid, { parts: [{ other: target }] })
    await refused(oid, { parts: { action: 'add', elements: [{ other: target }] } })
  })

  rule(['4.1.8', '4.4.7'], 'a dangling reference stays where it is', async () => {
    const [gone, live] = [await fd.create('Target'), await fd.create('Target')]
    const part = { one: gone, many: [gone], named: { a: gone } }
    const whole = { part, parts: [part], many: [gone, live], tree: [gone], mates: [gone], named: { a: gone } }
    const oid = await fd.create('Owner', whole)
    await fd.remove(gone)
    const read = await fd.read(oid)
    expect(read).toMatchObject(whole)
    await fd.update(oid, read)
    expect(await fd.read(oid)).toEqual(read)
    const add = { action: 'add', elements: [live] }
    await fd.update(oid, { part: { two: live, many: add }, many: add, tree: add, mates: add, n: 1 })
    await fd.update(oid, { named: { action: 'add', pairs: [{ key: 'b', value: live }] } })
    expect(await fd.read(oid)).toMatchObject({
      part: { ...part, two: live, many: [gone, live] },
      many: [gone, live, live],
      tree: [gone, live],
      mates: [gone, live],
      named: { a: gone, b: live },
    })
    const remove = { action: 'remove', elements: [gone] }
    await fd.update(oid, { part: { one: null, many: remove }, many: remove, tree: remove, mates: remove })
    expect(await fd.read(oid)).toMatchObject({ part: { one: none, many: [live] }, tree: [live], mates: [live] })
  })

  rule(['4.1.8', '4.4.1'], 'a dangling reference is not set anew', async () => {
    const gone = await fd.create('Target')
    const part = { one: gone, named: { a: gone } }
    const oid = await fd.create('Owner', { part, many: [gone], tree: [gone], named: { a: gone } })
    await fd.remove(gone)
    const again = { action: 'add', elements: [gone] }
    const other = { action: 'add', pairs: [{ key: 'b', value: gone }] }
    await refused(oid, { tree: again })
    await refused(oid, { mates: again })
    await refused(oid, { named: other })
    await refused(oid, { many: again })
    await refused(oid, { part: { two: gone } })
    await refused(oid, { part: { named: other } })
  })
})

describe('at the same moment', () => {
  rule(['4.4.2', '4.4.6'], 'a link and the deletion of its target: no link survives', async () => {
    for (let round = 0; round < 25; round++) {
      const [hub, spoke, pair] = [await fd.create('Hub'), await fd.create('Spoke'), await fd.create('Spoke')]
      const [linked, deleted, paired, gone] = await Promise.all([
        fd.putObject(spoke, { hub }),
        server.delete(fd.at(`/v1/object/${hub}`)),
        fd.putObject(spoke, { pair }),
        server.delete(fd.at(`/v1/object/${pair}`)),
      ])
      expect([deleted.status, gone.status]).toEqual([204, 204])
      for (const { status } of [linked, paired]) expect([204, 422]).toContain(status)
      expect(await fd.read(spoke)).toMatchObject({ hub: none, pair: none })
    }
  })

  rule(['4.4.2', '4.4.3'], 'many that want the same partner: all are answered, one has it', async () => {
    const wanted = await fd.create('Spoke')
    const rivals = await Promise.all(Array.from({ length: 24 }, () => fd.create('Spoke')))
    const replies = await Promise.all(rivals.map((oid) => fd.putObject(oid, { pair: wanted })))
    expect(replies.map(({ status }) => status)).toEqual(rivals.map(() => 204))
    const { pair } = await fd.read(wanted)
    const pairs = await Promise.all(rivals.map(async (oid) => [oid, (await fd.read(oid)).pair]))
    expect(pairs.filter(([, partner]) => partner !== none)).toEqual([[pair, wanted]])
  })

  rule(['4.4.2', '4.4.4', '4.4.8'], 'spokes that move between hubs are in one each', async () => {
    const hubs = [await fd.create('Hub'), await fd.create('Hub'), await fd.create('Hub')]
    const spokes = await Promise.all(Array.from({ length: 12 }, () => fd.create('Spoke')))
    const moves = spokes.flatMap((spoke, i) => [
      fd.putObject(spoke, { hub: hubs[i % 3] }),
      fd.putObject(hubs[(i + 1) % 3] as string, { spokes: { action: 'add', elements: [spoke] } }),
      fd.putObject(spoke, { hub: hubs[(i + 2) % 3] }),
    ])
    expect((await Promise.all(moves)).map(({ status }) => status)).toEqual(moves.map(() => 204))
    const held = await Promise.all(hubs.map(async (hub) => (await fd.read(hub)).spokes as string[]))
    expect(held.flat().sort()).toEqual([...spokes].sort())
    for (const [i, hub] of hubs.entries())
      for (const spoke of held[i] ?? []) expect((await fd.read(spoke)).hub).toBe(hub)
  })
})
