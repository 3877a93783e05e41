/** What statements hold in memory, and its bounds (docs/contract.md, 1.5.14). */

import { describe, expect, it } from 'vitest'
import { MemoryPool } from '../../src/budget/memory-pool.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { rowTexts } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { queryTest } from './query-database.ts'

const schema = 'UPDATE SCHEMA { CREATE CLASS T {n: Integer, s: String} }'
const objects = 'FOR EACH n IN LIST{1, 2, 3, 4, 5, 6, 7, 8, 9, 10} => (CREATE T {n: $n, s: CAST($n AS String)})'
const doubled = (times: number): string => `LET x = 'abcdefgh'; ${'LET x = $x + $x; '.repeat(times)}`
const megabyte = 2 ** 20

describe('the memory of a request', () => {
  // Nothing goes on with temporary files.
  const limits = { statementBytesMax: 4 * megabyte, statementDiskBytesMax: 0, textCharactersMax: 2 ** 19 }

  // Each text within its bound holds 512 KiB of characters at most, 1 MiB as it is charged.
  const tooMuch: Record<string, string> = {
    'variables that hold texts': `${doubled(15)}${Array.from({ length: 30 }, (_, i) => `LET y${i} = UPPER($x); `).join('')}SHOW 1`,
    'lists of the same list': `LET l = LIST{1, 2}; ${'LET l = LIST{$l, $l}; '.repeat(30)}SHOW $l`,
    'lists of the same text': `${doubled(15)}SHOW LIST{${Array(20).fill('$x').join()}}`,
    'maps of the same text': `${doubled(15)}SHOW LENGTH(MAP{${Array.from({ length: 20 }, (_, i) => `'k${i}': $x`).join()}})`,
    'rows that are sorted': `${doubled(15)}FROM T ORDER BY UPPER($x) + s RETURN n`,
    'rows that are grouped': `${doubled(15)}FROM T GROUP BY UPPER($x) + s RETURN COUNT()`,
    'values that are collected': `${doubled(15)}FROM T RETURN COLLECT(UPPER($x) + s) AS c`,
    'values of nested rows': `${doubled(15)}LET r = (FROM T RETURN UPPER($x) + s AS c); SHOW LENGTH($r)`,
    'tables of a join': `${doubled(15)}FROM T t, (FROM T RETURN UPPER($x) + s AS c, n) AS r WHERE r.n = t.n RETURN COUNT()`,
    'what statements come to for rows': `${doubled(15)}FROM T t RETURN (FROM T u WHERE u.n = t.n RETURN UPPER($x) + u.s) AS c`,
    'the elements of a shape': `${doubled(15)}LET l = (FROM T RETURN *); FROM T TAKE 1 RETURN $l{UPPER($x) + s AS c}`,
    'texts of one row': `${doubled(15)}SHOW LENGTH(${Array(20).fill('UPPER($x)').join(') + LENGTH(')})`,
    'a reply row': `${doubled(15)}FROM T TAKE 1 RETURN ${Array.from({ length: 40 }, (_, i) => `$x AS c${i}`).join()}`,
    'the values of all variables': `${doubled(15)}${Array.from({ length: 5 }, (_, i) => `LET y${i} = $x; `).join('')}SHOW PARAMETERS`,
    'objects that are changed': `${doubled(15)}UPDATE T SET s TO UPPER($x) + s`,
  }
  for (const [name, text] of Object.entries(tooMuch)) {
    queryTest(
      name,
      [schema, objects],
      async (db) => {
        const error = await db.failure(text)
        expect(error.type).toBe('LimitExceeded')
        expect(error.message).toMatch(/more than 4194304 bytes \(statementBytesMax\)/)
        expect(await db.rows('FROM T RETURN COUNT() AS n')).toEqual([{ n: 10 }])
      },
      { limits },
    )
  }

  const hub = [
    `UPDATE SCHEMA {
      CREATE CLASS Hub {name: String, all: List{Element: Reference{Referenced: Spoke, Inverse: hub}}}
      CREATE CLASS Spoke {n: Integer, hub: Reference{Referenced: Hub, Inverse: all}}
    }`,
    'LET h = CREATE Hub {name: "h"}; FOR EACH n IN $ns => (CREATE Spoke {n: $n, hub: $h})',
  ]
  queryTest(
    'the links of one object',
    [hub[0] as string],
    async (db) => {
      await db.rows(hub[1] as string, { ns: Array.from({ length: 1_200 }, (_, n) => n) })
      for (const text of [
        'FROM Hub RETURN all',
        'FROM Hub RETURN *',
        'FROM Hub RETURN all{n}',
        'FROM Hub RETURN all[0:1000]{n, n + 1 AS m ORDER BY n DESC}',
        'FROM Hub WHERE COUNT(all[:-1]) > 1 RETURN name',
      ]) {
        expect((await db.failure(text)).message).toMatch(/more than 262144 bytes \(statementBytesMax\)/)
      }
      // Their number and what is at an end are had without holding them.
      const ends = 'COUNT(all) AS n, IS_EMPTY(all) AS none, all[2:5].n AS few, all[0].n AS first, all[-2:].n AS last'
      const expected = { n: 1_200, none: false, few: [2, 3, 4], first: 0, last: [1_198, 1_199] }
      expect(await db.rows(`FROM Hub WHERE COUNT(all) > 1 RETURN ${ends}`)).toEqual([expected])
      // So is what statements come to that are run for rows.
      await db.rows('CREATE INDEX spokeN ON Spoke (n)')
      const within = 'FROM Spoke s WHERE EXISTS(FROM Spoke t WHERE t.n = s.n + 1) RETURN COUNT() AS n'
      expect(await db.rows(within)).toEqual([{ n: 1_199 }])
      // Those of many objects are let go of between batches.
      await db.rows('FOR EACH n IN $ns => (CREATE Spoke {n: $n, hub: CREATE Hub {name: "s"}})', {
        ns: Array.from({ length: 500 }, (_, n) => n),
      })
      const few = await db.rows('FROM Hub WHERE name = "s" AND COUNT(all) = 1 RETURN COUNT() AS n')
      expect(few).toEqual([{ n: 500 }])
    },
    { limits: { statementBytesMax: 2 ** 18 } },
  )

  queryTest('the ends of a long list are those of the whole list', [hub[0] as string], async (db) => {
    await db.rows(hub[1] as string, { ns: Array.from({ length: 1_200 }, (_, n) => n) })
    const [{ all }] = (await db.rows('FROM Hub RETURN all')) as [{ all: string[] }]
    for (const [from, to] of [
      [0, 0],
      [0, 999],
      [0, 1_000],
      [7, 1_001],
      [1_100, 1_300],
      [-1],
      [-1_000],
      [-1_001],
      [-1_300],
      [5, -3],
    ]) {
      const rows = await db.rows(`FROM Hub RETURN all[${from}:${to ?? ''}] AS part`)
      expect(rows).toEqual([{ part: all.slice(from, to) }])
    }
    for (const at of [0, 999, 1_000, 1_199, 1_200, -1, -1_200, -1_201]) {
      expect(await db.rows(`FROM Hub RETURN all[${at}] AS one`)).toEqual([{ one: all.at(at) ?? null }])
    }
    expect(await db.rows('FROM Spoke WHERE n = 3 RETURN COUNT(hub.all) AS n, hub.all[1].n AS m')).toEqual([
      { n: 1_200, m: 1 },
    ])
  })

  queryTest(
    'what a transaction holds until its commit',
    [schema, objects],
    async (db) => {
      for (const text of [
        'FOR EACH n IN (FROM T RETURN n) => (CREATE T {n: $n, s: UPPER($x)})',
        'UPDATE T SET s TO $x',
      ]) {
        const error = await db.failure(`${doubled(13)}${text}`)
        expect(error.type).toBe('LimitExceeded')
        expect(error.message).toMatch(/more than 524288 bytes .*\(transactionBytesMax\)/)
      }
      expect(await db.rows('FROM T WHERE LENGTH(s) < 10 RETURN COUNT() AS n')).toEqual([{ n: 10 }])
      // Objects that were loaded for one statement are let go of when it has ended.
      await db.rows(`LET x = 'x'; ${'UPDATE T SET n TO n; '.repeat(200)}UPDATE T SET s TO $x`)
    },
    { limits: { transactionBytesMax: 2 ** 19 } },
  )

  queryTest(
    'is given back: by a variable that is set again, by a row that has passed, by a statement that has ended',
    [schema, objects],
    async (db) => {
      const again = 'LET y = UPPER($x); '.repeat(50)
      expect(await db.rows(`${doubled(15)}${again}SHOW LENGTH($y)`)).toEqual([262_144])
      const passed = "FROM T WHERE UPPER($x) + s != 'a' AND LOWER($x) + s != 'b' RETURN n"
      expect(await db.rows(`${doubled(15)}${passed}`)).toHaveLength(10)
      const ended = 'LET c = (FROM T ORDER BY UPPER($x) + s TAKE 2 RETURN n); '.repeat(20)
      expect(await db.rows(`${doubled(14)}${ended}SHOW LENGTH($c)`)).toEqual([2])
      const each = `FOR EACH n IN (FROM T RETURN n) => (FOR EACH m IN LIST{1, 2, 3} => (LET y = LOWER($x)))`
      expect(await db.rows(`${doubled(15)}${each}; SHOW LENGTH($y)`)).toEqual([262_144])
      const kept = 'FROM T ORDER BY UPPER($x) + s TAKE 1 RETURN n'
      expect(await db.rows(`${doubled(11)}${kept}`)).toEqual([{ n: 1 }])
    },
    { limits },
  )

  queryTest(
    'a text that is too long is refused with its place, before it is made',
    [],
    async (db) => {
      const error = await db.failure(`${doubled(15)}SHOW\n'a' + $x + $x + $x`)
      expect(error).toMatchObject({ type: 'LimitExceeded', extensions: { line: 2, column: 1 } })
      expect(error.message).toMatch(/524289 characters; one has at most 524288 \(textCharactersMax\)/)
      expect((await db.failure(`${doubled(27)}SHOW LENGTH($x)`)).message).toMatch(/textCharactersMax/)
      // ß becomes SS.
      const sharp = `LET x = 'ß'; ${'LET x = $x + $x; '.repeat(19)}`
      expect((await db.failure(`${sharp}SHOW LENGTH(UPPER($x))`)).message).toMatch(/1048576 characters/)
    },
    { limits },
  )

  queryTest('variables have a bounded depth', [], async (db) => {
    const nested = (times: number): string => `LET l = LIST{1}; ${'LET l = LIST{$l}; '.repeat(times)}SHOW $l`
    expect(JSON.stringify(await db.rows(nested(59)))).toBe(`${'['.repeat(61)}1${']'.repeat(61)}`)
    const error = await db.failure(nested(5_000))
    expect(error).toMatchObject({ type: 'LimitExceeded', message: expect.stringContaining('(variableDepthMax)') })
  })

  queryTest('regular expressions look at texts of a bounded length', [], async (db) => {
    expect(await db.rows(`${doubled(17)}SHOW $x =~ 'hab'`)).toEqual([true])
    expect((await db.failure(`${doubled(18)}SHOW $x =~ 'hab'`)).message).toMatch(/1048576 characters/)
  })
})

describe('rows where nothing may go on to disk', () => {
  const ofValues = /used as a value \(of LET, WITH, UNION, FOR EACH or within another statement\) stay in memory/
  const ofWindows = /The rows of OVER, or what its aggregates of one partition hold on to/
  const refused: Record<string, readonly [text: string, message: RegExp]> = {
    'of UNION': ['FROM T RETURN UPPER($x) + s AS c UNION FROM T RETURN s', ofValues],
    'of UNION ALL': ['FROM T RETURN UPPER($x) + s AS c UNION ALL FROM T RETURN s', ofValues],
    'of LET': ['LET r = (FROM T RETURN UPPER($x) + s AS c); SHOW 1', ofValues],
    'of WITH': ['WITH w AS (FROM T RETURN UPPER($x) + s AS c) FROM w RETURN COUNT()', ofValues],
    'of a source': ['FROM (FROM T RETURN UPPER($x) + s AS c, n) AS r RETURN COUNT(r.n)', ofValues],
    'of a statement for each row': ['FROM T t RETURN (FROM T u WHERE u.n >= t.n RETURN $x) AS c', ofValues],
    'of OVER': ['FROM T RETURN ROW_NUMBER() OVER (ORDER BY UPPER($x) + s) AS c', ofWindows],
  }
  for (const [name, [text, message]] of Object.entries(refused)) {
    queryTest(
      `${name} are refused by what they are, and with what to do instead`,
      [schema, objects],
      async (db) => {
        const error = await db.failure(`${doubled(15)}${text}`)
        expect(error.type).toBe('LimitExceeded')
        expect(error.message).toMatch(message)
        expect(error.message).toMatch(/more than 4194304 bytes \(statementBytesMax\)/)
        expect(error.message).toMatch(/fewer columns/)
      },
      { limits: { statementBytesMax: 4 * megabyte, textCharactersMax: 2 ** 19, statementDiskBytesMax: 0 } },
    )
    // Those are handed on as they come.
    if (['of UNION ALL', 'of a source'].includes(name)) continue
    queryTest(
      `${name} are refused by their number`,
      [schema, objects],
      async (db) => {
        const error = await db.failure(`LET x = 'a'; ${text}`)
        if (name !== 'of UNION') expect(error.message).toMatch(message)
        expect(error.message).toMatch(/more than 5 rows (in memory )?\(sortedRowsMax\)/)
      },
      { limits: { sortedRowsMax: 5, statementDiskBytesMax: 0 } },
    )
  }

  queryTest(
    'what the aggregates of one partition hold on to is refused also where rows may',
    [schema, objects],
    async (db) => {
      const error = await db.failure(`${doubled(15)}FROM T RETURN COLLECT(UPPER($x) + s) OVER () AS c`)
      expect(error).toMatchObject({ type: 'LimitExceeded', message: expect.stringMatching(ofWindows) })
    },
    { limits: { statementBytesMax: 4 * megabyte, textCharactersMax: 2 ** 19 } },
  )
})

describe('the memory of all requests', () => {
  it('is refused to those that would exceed it; small ones get through, and the next when others have ended', async () => {
    const memory = new MemoryPool()
    const limits = { statementBytesMax: 16 * megabyte, statementsBytesMax: 16 * megabyte }
    const fd = await FederatedDatabase.open({ alias: 'test', store: await openStoreOfRun(), limits, memory })
    const large = `${doubled(18)}SHOW $x`
    const held = await fd.query({ text: large })
    const chunks = held.chunks[Symbol.asyncIterator]()
    await chunks.next()
    expect(memory.bytes).toBeGreaterThan(4 * megabyte)
    await expect(fd.query({ text: large })).rejects.toMatchObject({
      type: 'ServerBusy',
      isRepeatable: true,
      message: expect.stringContaining('16777216 bytes (statementsBytesMax)'),
    })
    expect(await rowTexts(await fd.query({ text: "SHOW UPPER('a')" }))).toEqual(['"A"'])
    await chunks.return?.()
    expect(memory.bytes).toBe(0)
    expect((await rowTexts(await fd.query({ text: large }))).map(({ length }) => length)).toEqual([2 ** 21 + 2])
    expect(memory.bytes).toBe(0)
    await fd.close()
  })

  it('is given back by what fails, and by transactions', async () => {
    const memory = new MemoryPool()
    const fd = await FederatedDatabase.open({ alias: 'test', store: await openStoreOfRun(), memory })
    await expect(fd.query({ text: `${doubled(20)}SHOW $x + $x + $x` })).rejects.toThrow(/textCharactersMax/)
    expect(memory.bytes).toBe(0)
    for await (const _ of (await fd.query({ text: schema })).chunks);
    for await (const _ of (await fd.query({ text: `${doubled(18)}CREATE T {s: $x}` })).chunks);
    expect(memory.bytes).toBe(0)
    let most = 0
    await fd.transaction(async (step) => {
      await step(1).createObject('T', { s: 'x'.repeat(4 * megabyte) })
      most = memory.bytes
    }, false)
    expect(most).toBeGreaterThan(4 * megabyte - 1)
    expect(memory.bytes).toBe(0)
    await fd.close()
  })
})
