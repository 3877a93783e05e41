/** Nulls, and references to nothing, in aggregates and in ORDER BY (DO, sections 3 and 4). */
import { describe, expect } from 'vitest'
import { queryTest, type ShownPlan } from '../query-database.ts'
import { shop } from '../shop.ts'

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
    expect(
      await db.value('COUNT($given) = 2 AND LENGTH($given) = 2 AND COUNT($given[0:1]) = 1', { given: [null, 1] }),
    ).toBe(true)
  })

  queryTest('LENGTH of a path leaves nulls out, as COUNT does', withNull, async (db) => {
    const [found] = await db.rows(
      "FROM Client WHERE name = 'Ann' RETURN LENGTH(orders.total) AS totals, LENGTH(orders.total[0:3]) AS part, LENGTH(orders) AS orders",
    )
    expect(found).toEqual({ totals: 2, part: 2, orders: 3 })
  })
})

describe('a reference to nothing', () => {
  queryTest('is in one group with null, and null there', withNull, async (db) => {
    const grouped =
      'GROUP BY client ORDER BY client RETURN client, COUNT() AS n, Shop.Order::client = 0-0-0-0 AS isNothing'
    const client = expect.stringMatching(/^3-/)
    expect(await db.rows(`FROM Order ${grouped}`)).toEqual([
      { client, n: 3, isNothing: false },
      { client, n: 1, isNothing: false },
      { client, n: 1, isNothing: false },
      { client: null, n: 1, isNothing: null },
    ])
    // Of the orders of clients one has no friend in common with the other: a path through a reference to nothing is null.
    await db.rows('UPDATE SCHEMA { ALTER CLASS Client {ADD best: Reference{Referenced: Client}} }')
    await db.rows("UPDATE Client WHERE name = 'Ann' SET best TO (LOOKUP Client WHERE name = 'Bob')")
    expect(
      await db.rows('FROM Order GROUP BY client.best ORDER BY client.best RETURN client.best AS best, COUNT() AS n'),
    ).toEqual([
      { best: client, n: 3 },
      { best: null, n: 3 },
    ])
    expect(
      await db.rows(
        'FROM Order GROUP BY client, client.best HAVING IS_NULL(client.best) ORDER BY COUNT() DESC, client RETURN client.best AS best, COALESCE(client, $$ID) = $$ID AS own',
      ),
    ).toEqual([
      { best: null, own: false },
      { best: null, own: false },
      { best: null, own: true },
    ])
    expect(
      await db.rows(
        'MATCH (o:Order) GROUP BY o.client HAVING IS_NULL(o.client) RETURN o.client AS client, COUNT() AS n',
      ),
    ).toEqual([{ client: null, n: 1 }])
    expect(
      await db.rows(
        'UPDATE Order SET total TO 1.0 GROUP BY client HAVING IS_NULL(client) RETURN client, MIN(number) AS n',
      ),
    ).toEqual([{ client: null, n: 5 }])
  })

  queryTest(
    'is 0-0-0-0 where it is no grouping value, and null to COALESCE, IS_NULL and aggregates',
    withNull,
    async (db) => {
      expect(
        await db.rows('FROM Order WHERE number = 5 RETURN client, LIST{client} AS list, client = 0-0-0-0 AS isNothing'),
      ).toEqual([{ client: '0-0-0-0', list: ['0-0-0-0'], isNothing: true }])
      expect(
        await db.rows(
          'FROM Order WHERE number = 5 RETURN COALESCE(client, $$ID) = $$ID AS own, COALESCE(client, client) AS none, IS_NULL(client) AS isNull, client IN LIST{0-0-0-0} AS isIn, client != 0-0-0-0 AS differs',
        ),
      ).toEqual([{ own: true, none: null, isNull: true, isIn: true, differs: false }])
      expect(
        await db.rows(
          'FROM Order WHERE number = 5 RETURN COUNT(client) AS n, MIN(client) AS min, MAX(client) AS max, COLLECT(client) AS all',
        ),
      ).toEqual([{ n: 0, min: null, max: null, all: [] }])
    },
  )
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
      expect(await db.rows('FROM Tag GROUP BY name ORDER BY name RETURN name, COUNT() AS n')).toEqual([
        { name: '0-0-0-0', n: 1 },
        { name: 'a', n: 1 },
      ])
      expect(await db.value("COALESCE('0-0-0-0', 'other')")).toBe('0-0-0-0')
      expect(await db.value("COALESCE($text, 'other') + COALESCE(null, 'x')", { text: '0-0-0-0' })).toBe('0-0-0-0x')
      expect(await db.value("IS_NULL('0-0-0-0')")).toBe(false)
      await db.rows("CREATE UNIQUE INDEX byName ON Tag (name); UPSERT Tag {name: '0-0-0-0'} ON (name)")
      expect(await db.rows("FROM Tag WHERE name = '0-0-0-0' RETURN COUNT() AS n")).toEqual([{ n: 1 }])
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
