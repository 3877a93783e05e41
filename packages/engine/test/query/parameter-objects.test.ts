/** Objects within a list in a parameter, which may differ in their members and in the order of these (contract 2.2.10). */
import fc from 'fast-check'
import { expect } from 'vitest'
import { runs } from '../bytes/property-runs.ts'
import { queryTest } from './query-database.ts'
import { shopSchema } from './shop.ts'

queryTest('objects with members in different orders keep the value of each member', [shopSchema], async (db) => {
  const homes = [{ city: 'A', zip: 1 }, { zip: 2, city: 'B' }, { zip: 3 }, {}, { city: 'E' }]
  await db.rows('CREATE Client {homes: $homes}', { homes })
  expect(await db.rows('FROM Client RETURN homes')).toEqual([
    { homes: homes.map(({ city = '', zip = 0 }) => ({ city, zip })) },
  ])
})

const member = fc.oneof(fc.integer(), fc.constant(null))
const nested = fc.record({ x: member, y: member }, { requiredKeys: [] })
const objects = fc.array(
  fc
    .record({ a: member, b: member, c: fc.array(nested, { maxLength: 3 }), d: nested }, { requiredKeys: [] })
    .chain((object) => fc.shuffledSubarray(Object.entries(object), { minLength: 0 }).map(Object.fromEntries)),
  { maxLength: 6 },
)

queryTest('members are read by name, whatever objects are in the list', [shopSchema], async (db) => {
  const property = fc.asyncProperty(objects, async (list) => {
    const all = [{ a: 1, b: 1, c: [{ x: 1, y: 1 }], d: { x: 1, y: 1 } }, ...list]
    for (const parameter of [all, all.toReversed()]) {
      const rows = await db.rows('FROM $list AS p RETURN p.a AS a, p.b AS b, p.d.x AS x, p.d.y AS y', {
        list: parameter,
      })
      expect(rows).toEqual(parameter.map(({ a = null, b = null, d }) => ({ a, b, x: d?.x ?? null, y: d?.y ?? null })))
    }
  })
  await fc.assert(property, runs(100))
})

queryTest('a member whose values have no common type is json', [shopSchema], async (db) => {
  for (const members of [
    [1, 'x'],
    ['x', { b: 1 }],
    [true, [1]],
    [[1], ['x']],
    [{ b: 1 }, 5, null],
    [1.5, 'x', 2],
  ]) {
    const list = members.map((a) => ({ a }))
    expect(await db.rows('FROM $list AS p RETURN p.a AS a', { list })).toEqual(list)
  }
  const homes = [{ zip: 1 }, { zip: 'x' }]
  expect((await db.failure('CREATE Client {homes: $homes}', { homes })).message).toContain('"x" is not an integer')
})

queryTest('members of very many objects are bounded', [shopSchema], async (db) => {
  const unlike = Array.from({ length: 10_001 }, (_, i) => ({ [`m${i}`]: 1 }))
  // Before a catalog has been loaded, such a parameter is a json value, which is no source of rows.
  const refusals = ['LimitExceeded', 'QueryError']
  expect(refusals).toContain((await db.failure('FROM $list AS p RETURN COUNT()', { list: unlike })).type)
  const late = [
    Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`m${i}`, 1])),
    ...Array(1_100).fill({ m999: 2 }),
  ]
  expect(refusals).toContain((await db.failure('FROM $list AS p RETURN COUNT()', { list: late })).type)
  expect(await db.rows('FROM $list AS p RETURN SUM(p.m999) AS s', { list: late.slice(0, 101) })).toEqual([{ s: 201 }])
})
