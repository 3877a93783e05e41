/** What is sorted, grouped, made distinct and joined beyond memory is what memory would come to, in the same order, and leaves nothing on disk. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EngineLimits } from '../../../src/limits.ts'
import { nodeFileSystem, type TemporaryFileHandle, TemporarySpace } from '../../../src/spill/temporary-space.ts'
import type { Store } from '../../../src/store/store.ts'
import { runs } from '../../bytes/property-runs.ts'
import { rowValues } from '../../row-texts.ts'
import { leftOpen } from '../../store/left-open.ts'
import { openStoreOfRun } from '../../store/store-of-run.ts'
import { type OpenQueryDatabase, openQueryDatabase, type ShownPlan } from '../query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Place {code: Integer, city: String}
  CREATE CLASS Thing {
    n: Integer, big: Integer{Storage: B64}, r: Real, s: String, b: Boolean, day: Date, zoned: DateTime{Storage: DateTimeOffset},
    guid: Guid, l: List{Element: Integer}, place: Reference{Referenced: Place}
  }
}`
const places = 'FOR EACH n IN LIST{1, 2, 3, 4, 5} => (CREATE Place {code: $n, city: CAST($n AS String)})'
const things = `FOR EACH t IN $things => (CREATE Thing {
  n: $t.n, big: $t.big, r: $t.r, s: $t.s, b: $t.b, day: 2024-02-28, zoned: 2024-02-28 08:05:09.25 +05:30,
  guid: '00000000-0000-4000-8000-00000000000a', l: LIST{$t.k, 7}, place: (LOOKUP Place WHERE code = $t.k)
})`

const count = 700
const given = Array.from({ length: count }, (_, k) => {
  const n = k % 13 === 0 ? null : (k * 7_919) % 97
  const text = `${[...'é😀ab'].slice(0, k % 6).join('')}${(k * 31) % 211}`
  const big = `${2 ** 40 * ((k * 17) % 401)}`
  return { n, big: Number(big), r: ((k * 37) % 101) / 7 - 3, s: k % 11 === 0 ? null : text, b: k % 3 === 0, k: k % 6 }
})

const narrow: Partial<EngineLimits> = { statementBytesMax: 2 ** 17 }

/** Files that are open, and what is told of each block that a statement writes. */
const openFiles = new Set<TemporaryFileHandle>()
let writes = 0
let onWrite: (writes: number) => void = () => undefined
let failure: (writes: number) => Error | undefined = () => undefined

async function create(path: string): Promise<TemporaryFileHandle> {
  const file = await nodeFileSystem.create(path)
  const write = (async (bytes: Buffer, offset: number, length: number, position: number) => {
    onWrite(++writes)
    const failed = failure(writes)
    if (failed !== undefined) throw failed
    return file.write(bytes, offset, length, position)
  }) as TemporaryFileHandle['write']
  const own: TemporaryFileHandle = {
    read: file.read.bind(file),
    write,
    truncate: file.truncate.bind(file),
    close() {
      openFiles.delete(own)
      return file.close()
    },
  }
  if (openFiles.size === 0) writes = 0
  openFiles.add(own)
  return own
}

let directory: string
let store: Store
let wide: OpenQueryDatabase
let tight: OpenQueryDatabase
const spaces: TemporarySpace[] = []

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'beyond-memory-'))
  store = await openStoreOfRun()
  wide = await openQueryDatabase([schema, places], { store: leftOpen(store) })
  await wide.db.rows(things, { things: given })
  const temporary = new TemporarySpace(directory, { ...nodeFileSystem, create })
  spaces.push(temporary)
  tight = await openQueryDatabase([], { store, limits: narrow, temporary })
})

afterAll(async () => {
  await wide.close()
  await tight.close()
  await rm(directory, { recursive: true })
})

/** The operators that went to disk. */
function spilledOf({ operator, spilledRuns, inputs = [] }: ShownPlan): readonly string[] {
  return [...(spilledRuns === undefined ? [] : [operator]), ...inputs.flatMap(spilledOf)]
}

async function isSame(statement: string): Promise<void> {
  const expected = await wide.db.rows(statement)
  expect({ statement, rows: await tight.db.rows(statement) }).toEqual({ statement, rows: expected })
  expect(spaces.map(({ bytes }) => bytes)).toEqual(spaces.map(() => 0))
  expect(await readdir(directory)).toEqual([])
}

async function goesToDisk(statement: string, operator: string): Promise<void> {
  await isSame(statement)
  const plan = await tight.db.analyze(statement)
  expect({ statement, spilled: spilledOf(plan) }).toMatchObject({
    statement,
    spilled: expect.arrayContaining([operator]),
  })
}

async function nothingLeft(): Promise<void> {
  expect(spaces.map(({ bytes }) => bytes)).toEqual(spaces.map(() => 0))
  expect(await readdir(directory)).toEqual([])
  expect(openFiles.size).toBe(0)
}

describe('statements beyond their memory', () => {
  it('sort', async () => {
    await goesToDisk('FROM Thing ORDER BY n RETURN *', 'sort')
    await goesToDisk('FROM Thing ORDER BY s DESC, n, big DESC RETURN *, place.city AS city', 'sort')
    await goesToDisk('FROM Thing t, Place p WHERE t.place = p ORDER BY p.city DESC RETURN t.n, p.city, t.l', 'sort')
    await goesToDisk('MATCH (t:Thing)-[e:place]->(p:Place) ORDER BY t.n RETURN t.n, p.city, e', 'sort')
    await goesToDisk('FROM Thing ORDER BY n TAKE 600 RETURN n, $$ID', 'sort')
    await goesToDisk('FROM Thing GROUP BY n, s, big ORDER BY n RETURN n, COUNT() AS c, COLLECT(s) AS l', 'group')
  })

  it('group', async () => {
    await goesToDisk('FROM Thing GROUP BY s, n RETURN s, n, COUNT() AS c, SUM(r) AS sum', 'group')
    await goesToDisk('FROM Thing GROUP BY s HAVING COUNT() > 1 RETURN s, COLLECT(r) AS l, AVG(r) AS a', 'group')
    await goesToDisk('FROM Thing GROUP BY n RETURN n, COUNT(DISTINCT s) AS c, COLLECT(s) AS l, MEDIAN(r) AS m', 'group')
    await isSame('FROM Thing RETURN COUNT() AS c, COUNT(DISTINCT big) AS d, COLLECT(DISTINCT n) AS l')
  })

  it('make rows distinct', async () => {
    await goesToDisk('FROM Thing RETURN DISTINCT s, n, big', 'distinct')
    await goesToDisk('FROM Thing ORDER BY s RETURN DISTINCT s, n, big', 'distinct')
    await isSame('FROM Thing RETURN DISTINCT n')
  })

  it('look through windows', async () => {
    const by = 'PARTITION BY b ORDER BY s, big'
    await goesToDisk(
      `FROM Thing RETURN n, s, ROW_NUMBER() OVER (${by}) AS i, RANK() OVER (ORDER BY n) AS r, DENSE_RANK() OVER (ORDER BY n) AS d`,
      'window',
    )
    await goesToDisk(
      `FROM Thing RETURN n, LAG(s) OVER (${by}) AS a, LEAD(l, 3) OVER (${by}) AS b, LAG(n, 400, -1) OVER (${by}) AS c,
       LEAD(n, 10000, 5) OVER (${by}) AS d, LAG(big, 0) OVER (${by}) AS e`,
      'window',
    )
    await goesToDisk(
      `FROM Thing RETURN n, SUM(r) OVER (PARTITION BY n ORDER BY s) AS a, SUM(r) OVER () AS b, COUNT() OVER (PARTITION BY n) AS c,
       AVG(r) OVER (ORDER BY n) AS d, MIN(zoned) OVER (PARTITION BY s) AS e, MEDIAN(r) OVER (PARTITION BY n) AS f,
       COLLECT(r) OVER (PARTITION BY n ORDER BY r DESC) AS g`,
      'window',
    )
    await goesToDisk(
      `FROM Thing RETURN *, FIRST_VALUE(place) OVER (${by}) AS a, LAST_VALUE(l) OVER (${by}) AS z, LAST_VALUE(s) OVER () AS y`,
      'window',
    )
    await goesToDisk(
      'FROM Thing t, Place p WHERE t.place = p RETURN t, RANK() OVER (PARTITION BY p.city ORDER BY t.n) AS r',
      'window',
    )
    await goesToDisk(
      'FROM Thing GROUP BY s, n RETURN s, n, SUM(COUNT()) OVER (PARTITION BY s ORDER BY n) AS c',
      'window',
    )
    await goesToDisk('FROM Thing ORDER BY i DESC RETURN DISTINCT s, ROW_NUMBER() OVER (ORDER BY s, n) AS i', 'window')
  })

  it('take the rows of other statements', async () => {
    const wide = 'FROM Thing RETURN n, s, big, zoned, guid'
    await isSame(`FROM (${wide}) AS r WHERE r.n > 50 RETURN *`)
    await isSame(`FROM (${wide}) AS r RETURN r.s, r.n TAKE 5`)
    await goesToDisk(`FROM (${wide}) AS r ORDER BY r.s, r.n RETURN r`, 'sort')
    await goesToDisk(`${wide} UNION ${wide} UNION ALL FROM Thing WHERE n < 20 RETURN n, s, big, zoned, guid`, 'values')
    await goesToDisk(
      `${wide} UNION FROM Place RETURN code, city, 1, 2024-02-28 08:05:09.25 Z, null ORDER BY s TAKE 20`,
      'values',
    )
    await goesToDisk('FROM Thing RETURN guid, big UNION FROM Thing RETURN guid, n', 'values')
    await isSame(`${wide} UNION ALL ${wide}`)
    await isSame(`WITH w AS (${wide}) FROM w RETURN COUNT(), SUM(w.n) AS s, MAX(zoned) AS z`)
    await isSame(`WITH w AS (${wide}) FROM w a, Place p WHERE a.n = p.code RETURN a, p.city`)
    await isSame(`WITH w AS (${wide}) FROM w a, w b WHERE a.n = b.n AND a.n < 5 RETURN a.s, b.s AS t`)
    await isSame(
      `WITH w AS (${wide}), x AS (FROM w WHERE n > 3 RETURN n, s) FROM x a, (FROM w RETURN MAX(n) AS m) AS b WHERE a.n = b.m RETURN a`,
    )
    await isSame(`FROM (${wide}) AS a, (${wide}) AS b WHERE a.n = b.n AND a.big < b.big RETURN a.s, b.s AS t`)
    await isSame(`FROM Place p RETURN code, (FROM (${wide}) AS r WHERE r.n = p.code RETURN COUNT()) AS c`)
    await isSame(`FROM Place p WHERE EXISTS(FROM (${wide}) AS r WHERE r.n = p.code + 20) RETURN code`)
  })

  it('take the objects of other statements, each once', async () => {
    await isSame('FROM (FROM Thing RETURN *) AS t WHERE t.n > 50 RETURN t.n, t.s')
    await isSame('FROM (FROM Thing RETURN *) AS t RETURN * TAKE 3')
    await goesToDisk('FROM Thing WHERE n < 80 RETURN * UNION FROM Thing WHERE n > 20 RETURN *', 'oidLookup')
    await isSame('FROM Thing RETURN * UNION ALL FROM Thing WHERE n > 20 RETURN * ORDER BY s, n, big SKIP 5 TAKE 30')
    await goesToDisk('WITH w AS (FROM Thing RETURN *) FROM w RETURN COUNT() AS c, SUM(w.r) AS s', 'oidLookup')
    await isSame('FROM (FROM Thing RETURN place) AS p RETURN p.city ORDER BY p.city')
    await isSame('FROM Place p RETURN code, (FROM (FROM Thing RETURN *) AS t WHERE t.place = p RETURN COUNT()) AS c')
    await isSame('FROM Place p WHERE EXISTS(FROM (FROM Thing RETURN *) AS t WHERE t.n = p.code) RETURN code')
    await isSame('MATCH (t:Thing)-[:place]->(p:Place) RETURN t UNION MATCH (t:Thing) RETURN t ORDER BY t TAKE 9')
  })

  it('read the rows of variables', async () => {
    const rows = 'LET w = (FROM Thing RETURN n, s, big, zoned, l)'
    await isSame(`${rows}; FROM $w AS w RETURN *`)
    await isSame(`${rows}; FROM $w AS w WHERE w.n > 50 ORDER BY w.s, w.big RETURN w.n, w.l TAKE 20`)
    await isSame(`${rows}; FROM $w AS a, $w AS b WHERE a.n = b.n AND a.big < b.big RETURN a.s, b.s AS t`)
    await isSame(`${rows}; FROM Place p RETURN code, (FROM $w AS w WHERE w.n = p.code RETURN COUNT()) AS c`)
    await isSame(
      `${rows}; LET w = FROM $w AS w WHERE w.n < 90 RETURN w.n AS n, w.s AS s; FROM $w AS w RETURN COUNT(), MAX(w.n)`,
    )
    await isSame('LET o = (FROM Thing RETURN *); FROM $o WHERE n > 30 RETURN n, s; FROM $o RETURN *')
    await isSame(
      'LET o = (FROM Thing RETURN *); FROM $o GROUP BY s ORDER BY s RETURN s, COUNT() AS c; FROM $o ORDER BY s, n RETURN n',
    )
    const objects = 'LET o = FROM Thing RETURN * UNION ALL FROM Thing RETURN *'
    const refused = await tight.db.failure(`${objects}; SHOW COUNT($o)`)
    expect(refused).toMatchObject({ message: expect.stringContaining('rows, which are on disk') })
    await isSame(
      `${objects}; FROM $o AS t, Place p WHERE t.place = p ORDER BY p.code, t.n, t.s RETURN p.city, t.n, t.s`,
    )
    await isSame(`${objects}; FROM Place p, $o AS t WHERE t.n = p.code RETURN COUNT() AS c, SUM(t.r) AS s`)
    await isSame(`${objects}; FROM $o AS t, $o AS u WHERE t.n = u.n AND t.big < u.big RETURN COUNT() AS c`)
    await isSame(`${objects}; FROM Place p, $o AS t WHERE t.n < p.code RETURN COUNT() AS c`)
    await isSame(`${objects}; LOOKUP $o WHERE n = 5`)
    await isSame('LET o = FROM Thing RETURN * UNION FROM Thing RETURN *; FROM $o AS t ORDER BY t.s, t.big RETURN t.n')
    await isSame(
      `LET a = (FROM Place RETURN code, city); ${rows}; FROM $a AS a, $w AS w WHERE a.code = w.n RETURN a, w.s`,
    )
    await isSame(`FOR EACH i IN LIST{1, 2, 3} => (${rows}; LET c = (FROM $w AS w RETURN COUNT())); SHOW $c`)
    await isSame('FOR EACH t IN (FROM Thing ORDER BY s, big RETURN n, s, big, zoned, l) => (LET last = $t); SHOW $last')
    await isSame('FOR EACH t IN (FROM Thing ORDER BY big RETURN *) => (LET last = $t.big); SHOW $last')
    // In memory they are a value as well.
    await isSame(
      'LET few = (FROM Thing WHERE n < 5 RETURN n); FROM Thing WHERE n IN $few RETURN COUNT(); SHOW COUNT($few)',
    )
    for (const text of [
      'SHOW COUNT($w)',
      'SHOW PARAMETERS',
      'LET x = $w',
      'FROM Place WHERE code IN $w.n RETURN code',
    ]) {
      const error = await tight.db.failure(`${rows}; ${text}`)
      expect(error).toMatchObject({ type: 'LimitExceeded', message: expect.stringContaining('$w has 700 rows') })
      expect(error.message).toContain('FROM $w AS x')
      await nothingLeft()
    }
  })

  it('join by value', async () => {
    const all = 'FROM Thing t, Thing u WHERE'
    await goesToDisk(`${all} t.n = u.n RETURN t, u`, 'hashJoin')
    await goesToDisk(`${all} t.s = u.s AND t.r < u.r RETURN t.n, u.n AS m, u.l`, 'hashJoin')
    await goesToDisk(`${all} t.b = u.b AND u.n = 3 RETURN t.n, u.n AS m`, 'hashJoin')
    await goesToDisk(`${all} u.n < 3 AND t.n < u.n + 2 RETURN t.n, u.n AS m`, 'product')
    const rows = '(FROM Thing WHERE b RETURN n, s, zoned) AS u'
    await isSame(`FROM Thing t, ${rows} WHERE t.n = u.n AND t.n < 5 RETURN t.s, u`)
  })

  const sorting = 'FROM Thing ORDER BY s, n, big RETURN *'

  it('leave nothing on disk when they are cancelled, at any time', async () => {
    for (const statement of [
      sorting,
      'FROM Thing GROUP BY s, n RETURN s, n, COUNT() AS c',
      'FROM Thing RETURN DISTINCT s, n, big',
      'FROM Thing t, Thing u WHERE t.n = u.n RETURN t, u',
      'WITH w AS (FROM Thing RETURN n, s, l) FROM w a, w b WHERE a.n = b.n RETURN a, b',
      'FROM Thing RETURN n, s, big UNION FROM Thing RETURN n, s, big',
      'FROM Thing RETURN * UNION FROM Thing RETURN *',
      'LET w = (FROM Thing RETURN n, s, l); FROM $w AS a, $w AS b WHERE a.n = b.n RETURN a, b',
      'FROM Thing RETURN *, LAG(n) OVER (ORDER BY s) AS a, SUM(n) OVER (PARTITION BY b ORDER BY n) AS z',
    ]) {
      for (let afterWrites = 1; afterWrites < 40; afterWrites += 5) {
        const abort = new AbortController()
        onWrite = (writes) => void (writes === afterWrites && abort.abort(new Error('cancelled')))
        const asked = tight.db.fd.query({ text: statement, signal: abort.signal })
        const ended = await Promise.resolve(asked)
          .then(rowValues)
          .then(() => 'whole', String)
        expect(ended).toBe(abort.signal.aborted ? 'Error: cancelled' : 'whole')
        await nothingLeft()
      }
    }
  })

  it('leave nothing on disk when nobody takes their rows any more', async () => {
    for (const statement of [
      sorting,
      'FROM Thing t, Thing u WHERE t.n = u.n RETURN t, u',
      'LET w = (FROM Thing RETURN n, s, l); FROM $w AS a, $w AS b RETURN a, b',
    ]) {
      const { chunks } = await tight.db.fd.query({ text: statement })
      const rows = chunks[Symbol.asyncIterator]()
      await rows.next()
      expect(openFiles.size).toBeGreaterThan(0)
      await rows.return?.()
      await nothingLeft()
    }
  })

  it('are refused on a full disk, now and then, and where less of it may be used', async () => {
    for (let at = 1; at < 30; at += 4) {
      failure = (writes) => (writes === at ? Object.assign(new Error('full'), { code: 'ENOSPC' }) : undefined)
      const error = await tight.db.failure(sorting)
      expect(error).toMatchObject({
        type: 'ServerBusy',
        isFatal: false,
        message: expect.stringMatching(/temporaryDir/),
      })
      await nothingLeft()
    }
    failure = () => undefined
    for (const [limit, type] of [
      ['statementDiskBytesMax', 'LimitExceeded'],
      ['statementsDiskBytesMax', 'ServerBusy'],
    ] as const) {
      const limits = { ...narrow, [limit]: 30_000 }
      const temporary = new TemporarySpace(directory)
      const bounded = await openQueryDatabase([], { store: leftOpen(store), limits, temporary })
      const error = await bounded.db.failure(sorting)
      expect(error).toMatchObject({ type, message: expect.stringContaining(`30000 bytes on disk (${limit})`) })
      expect(temporary.bytes).toBe(0)
      await bounded.close()
    }
    await isSame(sorting)
  })

  const keys = fc.uniqueArray(
    // Zero has two signs, and the root of what is below it is no number.
    fc.constantFrom('n', 's', 'r', 'b', 'big', 'day', 'zoned', 'guid', 'place', 'place.city', 'r * 0', 'SQRT(r)'),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  const aggregates = fc.uniqueArray(
    fc.constantFrom(
      ...[
        'COUNT()',
        'COUNT(s)',
        'COUNT(DISTINCT s)',
        'SUM(r)',
        'SUM(n)',
        'SUM(DISTINCT r)',
        'AVG(r)',
        'MIN(s)',
        'MAX(zoned)',
      ],
      ...[
        'COLLECT(l)',
        'COLLECT(DISTINCT s)',
        'STDDEV(r)',
        'MEDIAN(r)',
        'PERCENTILE(n, 0.3)',
        'COLLECT(zoned)',
        'COLLECT(place)',
      ],
    ),
    { minLength: 1, maxLength: 4 },
  )
  const windows = fc.constantFrom(
    ...['ROW_NUMBER()', 'RANK()', 'DENSE_RANK()', 'LAG(s)', 'LEAD(l, 2)', 'LAG(r, 30, 0.5)', 'FIRST_VALUE(zoned)'],
    ...['LAST_VALUE(place)', 'SUM(r)', 'COUNT()', 'AVG(n)', 'MIN(s)', 'COUNT(DISTINCT s)', 'MEDIAN(r)'],
  )
  const order = fc.array(fc.tuple(keys, fc.constantFrom('', ' DESC')), { minLength: 1, maxLength: 3 })
  const sorted = fc.tuple(order, fc.option(fc.integer({ min: 0, max: count })), fc.constantFrom('*', 'n, s, l, place'))
  const statement = fc.oneof(
    sorted.map(([by, take, columns]) => {
      const items = [...new Set(by.map(([[key], direction]) => `${key}${direction}`))]
      return `FROM Thing ORDER BY ${items}${take === null ? '' : ` TAKE ${take}`} RETURN ${columns}`
    }),
    fc.tuple(keys, aggregates).map(([by, all]) => {
      const columns = all.map((one, i) => `${one} AS a${i}`)
      return `FROM Thing GROUP BY ${by} RETURN ${[...by.map((key, i) => `${key} AS k${i}`), ...columns]}`
    }),
    fc.tuple(keys, order, fc.uniqueArray(windows, { minLength: 1, maxLength: 4 })).map(([by, inOrder, all]) => {
      const items = [...new Set(inOrder.map(([[key], direction]) => `${key}${direction}`))]
      const overs = [`(PARTITION BY ${by} ORDER BY ${items})`, `(ORDER BY ${items})`, `(PARTITION BY ${by})`]
      const overOf = (one: string, i: number): string =>
        /DISTINCT|MEDIAN/.test(one) ? `(PARTITION BY ${by})` : `${overs[i % 3]}`
      return `FROM Thing RETURN ${all.map((one, i) => `${one} OVER ${overOf(one, i)} AS w${i}`)}`
    }),
    keys.map((all) => `FROM Thing RETURN DISTINCT ${all.map((key, i) => `${key} AS k${i}`)}`),
  )

  it('have the rows that memory would come to', async () => {
    const isSameOrOfOneGroup = async (text: string): Promise<void> => {
      try {
        await isSame(text)
      } catch (error) {
        // What the aggregates of one group hold on to stays in memory.
        const isHeld = /(GROUP BY|OVER) .*(COLLECT|DISTINCT|MEDIAN|PERCENTILE)|(DISTINCT|MEDIAN).* OVER/.test(text)
        if (!isHeld || !String(error).includes('(statementBytesMax)')) throw error
        refused++
      }
    }
    let refused = 0
    const { numRuns, ...seed } = runs(60)
    await fc.assert(fc.asyncProperty(statement, isSameOrOfOneGroup), { numRuns, ...seed })
    expect(refused).toBeLessThan(Math.max(2, numRuns / 4))
  })
})
