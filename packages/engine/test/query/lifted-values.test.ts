/** Texts that differ only in the values that they compare with share a plan, and answer as if each had its own. */
import { describe, expect, it } from 'vitest'
import { PlanCache } from '../../src/query/plan-cache.ts'
import { classOf, index } from '../engine/open-fd.ts'
import { queryTest } from './query-database.ts'

const tokensMax = 1_000

describe('the values of a text', () => {
  const sameStatements = (one: string, other: string): boolean => {
    const plans = new PlanCache()
    const of = (text: string) => plans.parsed(`${text} RETURN n`, tokensMax).statements
    return of(one) === of(other)
  }
  const together: [string, string][] = [
    ["FROM Car WHERE license = 'L-1'", "FROM Car WHERE license = 'L-2'"],
    ["FROM Car WHERE n >= 10 AND license = 'a' TAKE 5", "FROM Car WHERE n >= 99 AND license = '=' TAKE 5"],
    ['FROM Car WHERE n<1 ORDER BY n', 'FROM Car WHERE n<2 ORDER BY n'],
    ["FROM Car WHERE (n != 1 OR license = 'x')", "FROM Car WHERE (n != 2 OR license = 'y')"],
    ['FROM Car WHERE license = "n = 1 AND" AND n = 1', 'FROM Car WHERE license = "it\'s = 2!" AND n = 1'],
    ["UPDATE Car WHERE n = 1 SET n TO 2, license TO 'a'", "UPDATE Car WHERE n = 3 SET n TO 4, license TO 'b'"],
    ["CREATE Car {license: 'a', n: 1}; FROM Car", "CREATE Car {license: 'b', n: 2}; FROM Car"],
    [
      "UPSERT Car {license: 'a', n: 1} ON (license); FROM Car",
      "UPSERT Car {license: 'b', n: 2} ON (license); FROM Car",
    ],
    [
      'LET c = LOOKUP Car WHERE n = 1; DELETE Car WHERE n = 1',
      'LET c = LOOKUP Car WHERE n = 2; DELETE Car WHERE n = 3',
    ],
    [
      'IF EXISTS (FROM Car WHERE n = 1) THEN (CREATE Car {n: 1}); FROM Car',
      'IF EXISTS (FROM Car WHERE n = 2) THEN (CREATE Car {n: 3}); FROM Car',
    ],
  ]
  it.each(together)('are taken out: %s', (one, other) => {
    expect(sameStatements(one, other)).toBe(true)
  })

  const apart: [string, string][] = [
    // Places in the text would be others.
    ["FROM Car WHERE license = 'L-1'", "FROM Car WHERE license = 'L-10'"],
    ['FROM Car TAKE 1', 'FROM Car TAKE 2'],
    ['FROM Car WHERE n = 1 + 1', 'FROM Car WHERE n = 2 + 1'],
    ['FROM Car WHERE n = 0x1F', 'FROM Car WHERE n = 0x2F'],
    ["FROM Car WHERE license =~ '^L'", "FROM Car WHERE license =~ '^M'"],
    ['FROM Car WHERE "n = 1 AND" = license AND n = 1', 'FROM Car WHERE "n = 2 AND" = license AND n = 1'],
    ['FROM Car WHERE license = "a\\t"', 'FROM Car WHERE license = "b\\t"'],
    ['FROM Car /* n = 1 */ WHERE n = 1', 'FROM Car /* n = 2 */ WHERE n = 1'],
    ['FROM Car /* n = \u0001 */ WHERE n = 1', 'FROM Car /* n = 2 */ WHERE n = 1'],
    ['FROM Car WHERE n = 1 RETURN n = 1; FROM Car', 'FROM Car WHERE n = 2 RETURN n = 2; FROM Car'],
    ['SHOW PARAMETERS; FROM Car WHERE n = 1', 'SHOW PARAMETERS; FROM Car WHERE n = 2'],
    ['EXPLAIN FROM Car WHERE n = 1', 'EXPLAIN FROM Car WHERE n = 2'],
    ['CREATE Car {n: 1.5}; FROM Car', 'CREATE Car {n: 2.5}; FROM Car'],
    ['CREATE Car {n: 1, at: 8:05}; FROM Car', 'CREATE Car {n: 1, at: 8:06}; FROM Car'],
  ]
  it.each(apart)('stay in it: %s', (one, other) => {
    expect(sameStatements(one, other)).toBe(false)
  })
})

queryTest('each text has its own rows and errors, whichever of its shape came first', [], async (db) => {
  const attributes = { license: 'string', n: 'integer', day: 'date', weight: 'real' }
  await db.fd.defineClasses([classOf('Car', attributes)], 'create')
  await db.fd.createIndex(index('byLicense', 'Car', true, 'license'))
  await db.fd.createIndex(index('byNumber', 'Car', false, 'n'))
  const cars = ['a', 'b', '='].map((license, n) => ({ license, n, day: `2024-01-0${n + 1}`, weight: n + 0.5 }))
  await db.fd.createObjects(cars.map((attributes) => ({ class: 'Car', attributes })))
  const numbers = async (where: string) =>
    (await db.rows(`FROM Car WHERE ${where} ORDER BY n RETURN n`)).map(({ n }) => n)
  for (const [n, license] of ['a', 'b', '='].entries()) {
    expect(await numbers(`license = '${license}'`)).toEqual([n])
    expect(await numbers(`license = "${license}"`)).toEqual([n])
    expect(await numbers(`license != '${license}'`)).toEqual([0, 1, 2].filter((other) => other !== n))
    expect(await numbers(`n >= ${n} AND license = 'b'`)).toEqual(n <= 1 ? [1] : [])
    expect(await numbers(`day = '2024-01-0${n + 1}'`)).toEqual([n])
    expect(await numbers(`weight > ${n}`)).toEqual([0, 1, 2].filter((other) => other >= n))
  }
  for (const day of ['2024-13-01', '2024-01-32']) {
    const { type, message, extensions } = await db.failure(`FROM Car WHERE n = 9 AND day = '${day}' RETURN n`)
    expect({ type, message, text: extensions.text }).toEqual({
      type: 'QueryError',
      message: `Line 1, column 32: class Car, attribute day: "${day}" is not a date such as 2024-02-29.`,
      text: `'${day}'`,
    })
  }
  const [plan] = await db.rows("EXPLAIN FROM Car WHERE license = 'b' RETURN n")
  expect(JSON.stringify(plan)).toContain("license = 'b'")
})
