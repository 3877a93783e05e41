/** Nulls, and references to nothing, in aggregates and in ORDER BY (DO, sections 3 and 4). */
import { describe, expect } from 'vitest'
import { queryTest, type ShownPlan } from '../query-database.ts'
import { shop } from '../statements/shop.ts'

const withNull = [...shop, "CREATE Order {number: 6, total: null, client: (LOOKUP Client WHERE name = 'Ann')}"]

describe('aggregates', () => {
  queryTest('leave nulls out, along a path as over rows', withNull, async (db) => {
    const along = `FROM Client WHERE name = 'Ann'
      RETURN COUNT(orders.total) AS n, SUM(orders.total) AS sum, COLLECT(orders.total) AS all, COUNT(orders) AS orders`
    expect(await db.rows(along)).toEqual([{ n: 2, sum: 17.5, all: [12.5, 5], orders: 3 }])
    expect(await db.rows('FROM Order RETURN COUNT(total) AS n, COLLECT(total) AS all')).toEqual([
      { n: 4, all: [12.5, 5, 20, 2.5] },
    ])
    expect(await db.rows('FROM Order RETURN COUNT(client) AS n, COUNT() AS rows')).toEqual([{ n: 5, rows: 6 }])
    expect(await db.rows('FROM Order WHERE number = 6 RETURN COLLECT(total) AS all, COUNT(total) AS n')).toEqual([
      { all: [], n: 0 },
    ])
  })

  queryTest('COUNT of a collection itself is its number of elements', withNull, async (db) => {
    await db.rows('UPDATE Order WHERE number = 6 SET items TO LIST{0-0-0-0, 0-0-0-0}')
    expect(
      await db.rows(
        'FROM Order WHERE number = 6 RETURN COUNT(items) AS n, LENGTH(items) AS length, COUNT(items[0:1]) AS part, COUNT(items.title) AS titles',
      ),
    ).toEqual([{ n: 2, length: 2, part: 1, titles: 0 }])
    expect(await db.value('COUNT(LIST{1, null})')).toBe(2)
  })
})

describe('a text that looks like the reference to nothing', () => {
  queryTest(
    'is a text',
    ["UPDATE SCHEMA { CREATE CLASS Shop.Tag {name: String} }; CREATE Tag {name: '0-0-0-0'}"],
    async (db) => {
      await db.rows("CREATE Tag {name: 'a'}")
      expect(await db.rows('FROM Tag RETURN COUNT(name) AS n, MIN(name) AS first')).toEqual([
        { n: 2, first: '0-0-0-0' },
      ])
      expect(await db.rows('FROM Tag ORDER BY name RETURN name')).toEqual([{ name: '0-0-0-0' }, { name: 'a' }])
    },
  )
})

describe('ORDER BY', () => {
  for (const indexes of [[], ['CREATE INDEX byClient ON Order (client)']]) {
    const by = indexes.length === 0 ? '' : ', with an index too'
    queryTest(`has references to nothing last, descending first${by}`, [...withNull, ...indexes], async (db) => {
      const numbers = async (direction: string): Promise<unknown[]> =>
        (await db.rows(`FROM Order ORDER BY client ${direction}, number RETURN number`)).map(({ number }) => number)
      expect(await numbers('ASC')).toEqual([1, 2, 6, 3, 4, 5])
      expect(await numbers('DESC')).toEqual([5, 4, 3, 1, 2, 6])
      expect(await db.rows('FROM Order ORDER BY client TAKE 1 RETURN number')).not.toEqual([{ number: 5 }])
      expect(await db.rows('FROM Order ORDER BY client DESC TAKE 1 RETURN number')).toEqual([{ number: 5 }])
    })
  }
})

describe('EXPLAIN ANALYZE', () => {
  queryTest('counts what a second vertex looks at for each row', shop, async (db) => {
    const plan = await db.analyze('MATCH (c:Client), (i:Item) WHERE c.age > i.count RETURN c.name, i.title')
    const counts: [unknown, number][] = []
    const visit = ({ inputs = [], examined, ...rest }: ShownPlan): void => {
      if (inputs.length === 0) counts.push([rest.class, examined])
      for (const input of inputs) visit(input)
    }
    visit(plan)
    // 2 items for each of 4 clients, or the other way round.
    expect(counts.map(([, examined]) => examined).sort((one, other) => one - other)).toEqual(
      counts.some(([, examined]) => examined === 2) ? [2, 8] : [4, 8],
    )
  })
})
