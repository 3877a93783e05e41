/** EXPLAIN ANALYZE: what statements take, operator by operator; and that nothing of what they change stays. */

import { describe, expect, it } from 'vitest'
import type { ExplainRequest } from '../../../src/query/query-request.ts'
import type { Store } from '../../../src/store/store.ts'
import { rowTexts, rowValues } from '../../row-texts.ts'
import { leftOpen } from '../../store/left-open.ts'
import { openStoreOfRun } from '../../store/store-of-run.ts'
import { openQueryDatabase, type QueryDatabase, queryTest, type Row } from '../query-database.ts'
import { shop } from './shop.ts'

const analyzed: ExplainRequest = { isAnalyzed: true, format: 'json' }

async function plansOf(db: QueryDatabase, text: string, explain = analyzed): Promise<Row[]> {
  const reply = await db.fd.query({ text, explain })
  if (explain.format === 'text') return [{ text: (await rowTexts(reply)).join('\n') }]
  return (await rowValues(reply)) as Row[]
}

/** Everything that is stored, the pages from which OIDs are given out too. */
async function contentsOf(store: Store): Promise<string[]> {
  const snapshot = await store.snapshot()
  const entries: string[] = []
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
  const write = (key: Uint8Array, value: Uint8Array): string => `${hex(key)} ${hex(value)}`
  for await (const batch of snapshot.scan({}, write)) entries.push(...batch)
  snapshot.release()
  return entries
}

const changes: readonly string[] = [
  "CREATE Order {no: 10, client: CREATE Client {name: 'new', age: 1}}",
  'UPDATE Client WHERE age = 25 SET age TO 26 RETURN age',
  'UPSERT Order {no: 1, total: 70} ON (no); UPSERT Order {no: 11, total: 70} ON (no)',
  'DELETE Client',
  'LET c = (LOOKUP Client WHERE age = 30); DELETE $c; FROM Order RETURN client',
  'FOR EACH n IN LIST{21, 22, 23} => (CREATE Order {no: $n}); FROM Order RETURN no',
  'IF 1 = 1 THEN (DELETE Order) ELSE (SHOW 1)',
  'UPDATE SCHEMA {CREATE CLASS New {a: Integer} ALTER CLASS Client {ADD b: Integer, DROP name} RENAME CLASS Order TO Sale}; CREATE New {a: 1}',
  'DELETE Order; UPDATE SCHEMA {DROP CLASS Order}',
  'CREATE INDEX byName ON Client (name); DROP INDEX clientAge; FROM Client WHERE name = "c" RETURN age',
]

describe('what changes something', () => {
  it('is carried out and undone, whatever it is', async () => {
    let store: Store | undefined
    const { db, close } = await openQueryDatabase(shop, {}, (opened) => {
      store = opened
      return opened
    })
    const before = await contentsOf(store as Store)
    for (const text of changes) {
      const plans = await plansOf(db, text)
      expect(plans.length, text).toBeGreaterThan(0)
      for (const plan of plans)
        expect(plan, text).toMatchObject({ milliseconds: expect.any(Number), heldBytesMax: expect.any(Number) })
      expect(await contentsOf(store as Store), text).toEqual(before)
    }
    expect(await db.rows('EXPLAIN ANALYZE DELETE Client')).toMatchObject([
      { inputs: [{ operator: 'delete', returned: 4 }] },
    ])
    expect(await contentsOf(store as Store)).toEqual(before)
    // Each of them can be carried out for good afterwards, and the data is consistent.
    await db.rows('FOR EACH n IN LIST{21, 22} => (CREATE Order {no: $n}); DELETE Client WHERE age = 25')
    await close()
  })

  queryTest('what it creates is not estimated afterwards', shop, async (db) => {
    const estimated = async (): Promise<number> => {
      const [plan] = await db.rows("EXPLAIN FROM Client WHERE name = 'none' RETURN name")
      return Number(/"operator":"extentScan".*?"estimatedRows":(\d+)/.exec(JSON.stringify(plan))?.[1])
    }
    const before = await estimated()
    const plans = await plansOf(
      db,
      'FOR EACH n IN LIST{1, 2, 3} => (CREATE Client {age: $n}); FROM Client WHERE age < 4 RETURN age',
    )
    expect(plans.at(-1)).toMatchObject({ returned: 3 })
    expect(await estimated()).toBe(before)
    await db.rows('CREATE Client {age: 1}')
    expect(await estimated()).toBe(before + 1)
  })

  queryTest('its statements see what those before them changed', shop, async (db) => {
    const plans = await plansOf(
      db,
      'DELETE Client WHERE age = 25; FROM Client WHERE age < 100 RETURN *; CREATE Client {age: 3}',
    )
    expect(plans).toMatchObject([
      { returned: 2, inputs: [{ operator: 'delete', examined: 2, returned: 2 }], changedBytesMax: expect.any(Number) },
      { returned: 2 },
      { operator: 'create' },
    ])
  })

  queryTest('fails as it would', shop, async (db) => {
    await expect(plansOf(db, 'CREATE Order {no: 5}; CREATE Order {no: 1}')).rejects.toMatchObject({
      type: 'UniqueViolation',
    })
    await expect(plansOf(db, 'DELETE 3-3-9-9')).rejects.toMatchObject({ type: expect.any(String) })
    await expect(plansOf(db, 'CREATE Nothing {}')).rejects.toMatchObject({ type: 'QueryError' })
  })

  queryTest('is refused where it could not be undone', shop, async (db) => {
    const texts = [
      'CREATE INDEX byName ON Client (name)',
      "FOR EACH r IN IMPORT CSV 'a.csv' COMMIT EVERY 10 => (CREATE Client {})",
    ]
    for (const text of texts) {
      await expect(plansOf(db, text)).rejects.toMatchObject({
        type: 'QueryError',
        message: expect.stringMatching(/analyzed/),
      })
      const failure = { type: 'QueryError', message: expect.stringMatching(/^Line 1, column 17: .*analyzed/) }
      expect(await db.failure(`EXPLAIN ANALYZE ${text}`)).toMatchObject(failure)
      await expect(plansOf(db, `EXPLAIN ANALYZE ${text}`)).rejects.toMatchObject(failure)
    }
    for (const text of [
      'DELETE Order; EXPLAIN ANALYZE DELETE Client',
      'EXPLAIN ANALYZE DELETE Client; EXPLAIN ANALYZE DELETE Order',
    ]) {
      expect((await db.failure(text)).message, text).toMatch(/ends a text that changes nothing else/)
    }
    expect(await db.rows('FROM Client RETURN COUNT() AS n')).toEqual([{ n: 4 }])
    expect(await db.rows('LET a = 25; EXPLAIN ANALYZE DELETE Client WHERE age = $a')).toMatchObject([{ returned: 2 }])
    expect(await db.rows('FROM Client RETURN COUNT() AS n')).toEqual([{ n: 4 }])
  })
})

describe('what reads', () => {
  queryTest('tells rows, entries and objects of each operator', shop, async (db) => {
    const [plan] = await plansOf(db, 'FROM Order WHERE client.age = 30 ORDER BY total TAKE 1 RETURN no')
    expect(plan).toMatchObject({
      statement: expect.stringMatching(/^FROM Order/),
      operator: 'return',
      examined: 1,
      returned: 1,
      entriesCounted: expect.any(Number),
      objectsRead: expect.any(Number),
      milliseconds: expect.any(Number),
      heldBytesMax: expect.any(Number),
      inputs: [
        {
          operator: 'limit',
          returned: 1,
          inputs: [
            {
              operator: 'sort',
              examined: 2,
              returned: 1,
              milliseconds: expect.any(Number),
              inputs: [
                {
                  operator: 'filter',
                  returned: 2,
                  inputs: [
                    { operator: 'reverseNavigation', inputs: [{ operator: 'indexScan', examined: 1, returned: 1 }] },
                  ],
                },
              ],
            },
          ],
        },
      ],
    })
    expect(plan).not.toHaveProperty('changedBytesMax')
  })

  queryTest('nested statements and bodies are counted apart, all runs of a body together', shop, async (db) => {
    const [loop] = await plansOf(db, 'FOR EACH n IN LIST{1, 2, 3} => (FROM Order WHERE no = $n RETURN no)')
    expect(loop).toMatchObject({
      operator: 'forEach',
      inputs: [{ operator: 'return', loops: 3, returned: 2, objectsRead: 2 }],
    })
    const [nested] = await plansOf(db, 'FROM Order WHERE client = (LOOKUP Client WHERE age = 30) RETURN no')
    expect(nested).toMatchObject({ returned: 2, nested: [{ operator: 'return', returned: 1 }] })
  })

  const counted: readonly (readonly [
    text: string,
    counts: readonly (readonly [operator: string, examined: number, returned: number])[],
  ])[] = [
    [
      "FROM Client WHERE name <> 'd' AND age <> 41 RETURN age",
      [
        ['return', 3, 3],
        ['filter', 4, 3],
        ['extentScan', 4, 4],
      ],
    ],
    [
      'FROM Client WHERE age = 25 RETURN name',
      [
        ['return', 2, 2],
        ['filter', 2, 2],
        ['indexScan', 2, 2],
      ],
    ],
    [
      'FROM Client ORDER BY age TAKE 2 RETURN age',
      [
        ['return', 2, 2],
        ['limit', 2, 2],
        ['orderedIndexScan', 2, 2],
      ],
    ],
    [
      'FROM Client GROUP BY name, age RETURN age, COUNT() AS n',
      [
        ['return', 3, 3],
        ['group', 4, 3],
        ['extentScan', 4, 4],
      ],
    ],
    [
      "MATCH (c:Client)-[:orders]->(o:Order) WHERE o.no + 0 > 1 AND c.name = 'c' RETURN COUNT() AS n",
      [
        ['return', 1, 1],
        ['group', 1, 1],
        ['expand', 1, 1],
        ['vertices', 1, 1],
      ],
    ],
  ]

  for (const [text, counts] of counted) {
    queryTest(
      `counts what the statement does, also where it has no rows between operators: ${text}`,
      shop,
      async (db) => {
        const [plan] = await plansOf(db, text)
        const found: unknown[] = []
        for (let at = plan as Row | undefined; at !== undefined; at = (at.inputs as Row[] | undefined)?.[0]) {
          if (found.length < counts.length) found.push([at.operator, at.examined, at.returned])
        }
        expect(found).toEqual(counts)
      },
    )
  }

  queryTest('the time of an operator has that of those below it', shop, async (db) => {
    const [plan] = await plansOf(db, 'FROM Client ORDER BY name TAKE 2 RETURN name')
    const times: number[] = []
    for (let at = plan as Row | undefined; at !== undefined; at = (at.inputs as Row[] | undefined)?.[0]) {
      if (at.milliseconds !== undefined) times.push(at.milliseconds as number)
    }
    expect(times.length).toBeGreaterThan(2)
    expect(times).toEqual([...times].sort((one, other) => other - one))
  })

  queryTest('memory is that of each statement at its peak', shop, async (db) => {
    const list = `LIST{${Array.from({ length: 2_000 }, (_, i) => i).join()}}`
    const plans = await plansOf(db, `LET all = ${list}; SHOW 1`)
    expect(plans[0]?.heldBytesMax).toBeGreaterThan(16_000)
    const [one, other] = await plansOf(db, `SHOW LENGTH('${'x'.repeat(50_000)}' + 'y'); SHOW 1`)
    expect(one?.heldBytesMax).toBeGreaterThan(50_000)
    expect(other?.heldBytesMax).toBeLessThan(10_000)
  })

  queryTest('as text', shop, async (db) => {
    const text = 'FROM Client WHERE age = 25 RETURN name'
    const [reply] = await plansOf(db, text, { isAnalyzed: true, format: 'text' })
    const stable = String(reply?.text)
      .replaceAll(/time(=|: )\d+\.\d{3} ms/g, 'time$1#')
      .replace(/held=\d+/, 'held=#')
      // Where each read is a trip, the filter runs on its own, and is measured.
      .replace(/(Filter {2}\(examined=2 rows=2).*\)/, '$1)')
    expect(stable).toBe(
      [
        'Return  (examined=2 rows=2 objects=2 links=0 time=#)',
        '  Columns: name',
        '  ->  Filter  (examined=2 rows=2)',
        '        Predicate: age = 25',
        '        ->  Index scan on Client using clientAge  (estimated rows=2)  (examined=2 rows=2)',
        '              Conditions: age = 25',
        '              Candidate: Index scan on Client using clientAge (age = 25)  (estimated rows=2), chosen',
        'Entries counted for estimates: 2',
        'Read: objects=2 links=0',
        'Peak memory in bytes: held=#',
        'Execution time: #',
        '',
      ].join('\n'),
    )
  })

  it('ends by the limits of every statement, also where no row is ever sent', async () => {
    const store = await openStoreOfRun()
    const limits = { sortedRowsMax: 3, statementDiskBytesMax: 0 }
    const bounded = await openQueryDatabase(shop, { store: leftOpen(store), limits })
    await expect(plansOf(bounded.db, 'FROM Client ORDER BY name RETURN *')).rejects.toMatchObject({
      message: expect.stringMatching(/sortedRowsMax/),
    })
    await bounded.close()
    const { db, close } = await openQueryDatabase([], { store, limits: { statementMsMax: 50 } })
    const crossJoin = `MATCH ${Array.from({ length: 20 }, (_, i) => `(v${i}:Client)`).join()}`
    for (const rows of ['RETURN v0.name', 'RETURN COUNT() AS n']) {
      const error = { type: 'LimitExceeded', message: expect.stringMatching(/statementMsMax/) }
      await expect(plansOf(db, `${crossJoin} ${rows}`)).rejects.toMatchObject(error)
    }
    await close()
    const late = await openQueryDatabase([], { limits: { statementMsMax: -1 } })
    for (const isAnalyzed of [true, false]) {
      const asked = plansOf(late.db, 'SHOW 1', { isAnalyzed, format: 'json' })
      await expect(asked).rejects.toMatchObject({ type: 'LimitExceeded' })
    }
    await late.close()
  })

  it('what is noted of many statements is charged to the request', async () => {
    const { db, close } = await openQueryDatabase(shop, { limits: { statementBytesMax: 1_000_000 } })
    const many = 'SHOW 1;'.repeat(1_000)
    for (const isAnalyzed of [true, false]) {
      const error = { type: 'LimitExceeded', message: expect.stringMatching(/statementBytesMax/) }
      await expect(plansOf(db, many, { isAnalyzed, format: 'json' })).rejects.toMatchObject(error)
      expect(await plansOf(db, 'SHOW 1;'.repeat(20), { isAnalyzed, format: 'json' })).toHaveLength(20)
    }
    const long = Array.from({ length: 2_000 }, (_, i) => i).join()
    const shown = JSON.stringify(await plansOf(db, `FROM Client WHERE age IN LIST{${long}} RETURN *`))
    expect(shown).toContain('…')
    expect(shown.length).toBeLessThan(10_000)
    await close()
  })
})
