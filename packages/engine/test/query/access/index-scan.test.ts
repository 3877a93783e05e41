/** Predicates that an index answers: equality, IN, null, compound keys and ranges. */
import { describe, expect, it } from 'vitest'
import type { FederatedDatabase } from '../../../src/federated-database.ts'
import { classOf, index, toOne, withFd } from '../../engine/open-fd.ts'
import { rowValues } from '../../row-texts.ts'
import { find, touched } from '../plans.ts'
import type { QueryDatabase, ShownPlan } from '../query-database.ts'
import { airlineTests, changingTest, remarkOf } from './airline.ts'

const classes = [classOf('Hub', {}), classOf('Car', { license: 'string', n: 'integer', hub: toOne('Hub') })]
const longText = 'x'.repeat(3_000)

async function numbersOf(fd: FederatedDatabase, where: string, parameters: Record<string, unknown> = {}) {
  const reply = await fd.query({ text: `FROM Car WHERE ${where} ORDER BY n RETURN n`, parameters })
  return ((await rowValues(reply)) as { n: number }[]).map(({ n }) => n)
}

const flights = 400
const plannerTest = airlineTests(flights)

describe('equality', () => {
  plannerTest('on a unique index touches one entry, by = and == and either way round', async (db) => {
    for (const predicate of ['number = 77', 'number == 77', '77 = number', '77 == number']) {
      const plan = await db.analyze(`FROM Flight WHERE ${predicate} RETURN *`)
      expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightNumber', 1, 1])
    }
  })

  plannerTest('of a parameter, of $$ID within a class that it is not of', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number = $n RETURN *', { n: 78 })
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightNumber', 1, 1])
    const [airport] = await db.rows("FROM Airport WHERE code = 'a1' RETURN *")
    expect(await db.rows('FROM Flight WHERE $$ID = $oid RETURN *', { oid: airport?.__identifier__ })).toEqual([])
  })

  plannerTest('on an attribute of an embedded object', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE route.gate = 7 RETURN *')
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightGate', 8, 8])
  })

  plannerTest('IN asks for each value', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number IN LIST{1, 5, 5, 99999, 7} RETURN *')
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightNumber', 3, 3])
  })

  plannerTest('with subclasses, and ONLY without', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number = 5002 RETURN *')
    expect([touched(plan), plan.returned]).toEqual([1, 1])
    const only = await db.analyze('FROM ONLY Flight WHERE number = 5002 RETURN *')
    expect([touched(only), only.returned]).toEqual([1, 0])
    const below = await db.analyze('FROM Charter WHERE number = 5002 RETURN *')
    expect([find(below, 'indexScan').index, touched(below), below.returned]).toEqual(['flightNumber', 1, 1])
  })

  plannerTest('a cut text is compared in full on the object', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE remark = $r RETURN *', { r: remarkOf(12) })
    const scan = find(plan, 'indexScan')
    expect([scan.index, scan.recheck]).toEqual(['flightRemark', ['remark']])
    expect([touched(plan), plan.returned]).toEqual([flights / 40, flights / 400])
    expect(await db.rows('FROM Flight WHERE remark = $r RETURN *', { r: `${remarkOf(12)}!` })).toEqual([])
  })

  changingTest('null', async (db) => {
    await db.rows('UPDATE Flight WHERE number < 4 CLEAR day')
    const plan = await db.analyze('FROM Flight WHERE IS_NULL(day) RETURN number')
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightDay', 4, 4])
  })
})

describe('at least so many elements', () => {
  const numbers = async (db: QueryDatabase, where: string): Promise<unknown[]> =>
    (await db.rows(`FROM Flight WHERE ${where} AND number < 8 ORDER BY number RETURN number`)).map(
      ({ number }) => number,
    )

  plannerTest('that are equal are not any: all qualify for none of them', async (db) => {
    const all = [0, 1, 2, 3, 4, 5, 6, 7]
    for (const word of ['OF_EQUAL', 'SOME_EQUAL']) {
      expect(await numbers(db, `${word}(0, LIST{1, 5}, number)`)).toEqual(all)
      expect(await numbers(db, `${word}(1, LIST{1, 5}, number)`)).toEqual([1, 5])
      expect(await numbers(db, `${word}(2, LIST{1, 5, 5}, number)`)).toEqual([5])
      const plan = await db.analyze(`FROM Flight WHERE ${word}(2, LIST{1, 5, 5}, number) RETURN number`)
      expect(find(plan, 'extentScan').examined).toBe(flights + 3)
    }
  })

  plannerTest('that qualify are not any of those that refer back', async (db) => {
    const codes = async (least: number): Promise<unknown[]> => {
      const where = `OF(${least}, departures, (number = 7 OR number = 57)) AND code IN LIST{'a7', 'a8'}`
      return (await db.rows(`FROM Airport WHERE ${where} ORDER BY code RETURN code`)).map(({ code }) => code)
    }
    expect(await codes(0)).toEqual(['a7', 'a8'])
    expect(await codes(1)).toEqual(['a7'])
    expect(await codes(2)).toEqual(['a7'])
    expect(await codes(3)).toEqual([])
  })
})

describe('several predicates', () => {
  plannerTest('AND with one side indexed reads that side', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE plain > 10 AND number = 77 RETURN *')
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightNumber', 1, 1])
  })
})

describe('compound indexes', () => {
  plannerTest('by their first attribute alone', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE carrierCode = 'c7' RETURN *")
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual([
      'flightCarrierSeats',
      flights / 20,
      flights / 20,
    ])
  })

  plannerTest('by a range on the attribute after equal ones', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE carrierCode = 'c7' AND seats >= 40 AND seats < 60 RETURN *")
    const scan = find(plan, 'indexScan')
    expect([scan.index, scan.conditions]).toEqual([
      'flightCarrierSeats',
      ["carrierCode = 'c7'", 'seats >= 40', 'seats < 60'],
    ])
    expect([touched(plan), plan.returned]).toEqual([flights / 100, flights / 100])
  })
})

describe('what keys tell beyond the range', () => {
  const objectsOf = (plan: ShownPlan): unknown => find(plan, 'filter').examined

  plannerTest('is checked on the entry: objects that cannot qualify are not read', async (db) => {
    const cases: [predicate: string, entries: number, rows: number][] = [
      ["carrierCode >= 'c1' AND carrierCode < 'c11' AND seats = 10", 2 * (flights / 20), 4],
      ["carrierCode = 'c7' AND seats IN (7, 27) AND seats != 27", 8, 4],
      ["carrierCode = 'c7' AND NOT (seats = 27)", flights / 20, 16],
      ["carrierCode = 'c7' AND seats % 40 = 7", flights / 20, 12],
      ["carrierCode LIKE 'c1%9' AND seats > 20", 220, 16],
    ]
    for (const [predicate, entries, rows] of cases) {
      const plan = await db.analyze(`FROM ONLY Flight WHERE ${predicate} RETURN number`)
      // Where reads are trips, entries are read when they are counted.
      const examined = touched(plan) + Number(plan.entriesCounted ?? 0)
      expect([predicate, objectsOf(plan)]).toEqual([predicate, rows])
      expect(examined).toBeGreaterThanOrEqual(entries)
      expect(touched(plan)).toBeLessThanOrEqual(entries)
      expect(plan.returned).toBe(rows)
      expect(await db.rows(`FROM ONLY Flight WHERE ${predicate} RETURN number`)).toHaveLength(rows)
    }
  })

  plannerTest('is checked in the order of the index, too', async (db) => {
    const text = "FROM Flight WHERE carrierCode = 'c7' AND seats % 40 = 7 ORDER BY seats DESC TAKE 5 RETURN number"
    const plan = await db.analyze(text)
    expect(find(plan, 'orderedIndexScan').entryFilter).toEqual(['seats % 40 = 7'])
    expect([objectsOf(plan), plan.returned]).toEqual([12, 5])
  })

  plannerTest('does not fail where another conjunct would have kept the row from failing', async (db) => {
    const rows = await db.rows(
      "FROM Flight WHERE carrierCode = 'c7' AND plain != 7 AND 100 / (seats - 7) > 0 RETURN number",
    )
    expect(rows.length).toBeGreaterThan(0)
  })

  plannerTest('of cut texts is left to the object', async (db) => {
    const rows = await db.rows("FROM ONLY Flight WHERE remark LIKE 'remark 012%' AND remark LIKE '%052' RETURN number")
    expect(rows).toEqual([{ number: 52 }])
  })

  plannerTest('of LIKE is one condition, of which the range answers the beginning alone', async (db) => {
    const plan = await db.analyze("FROM ONLY Flight WHERE carrierCode LIKE 'c1%' TAKE 3 RETURN number")
    expect([find(plan, 'indexScan').conditions, plan.returned]).toEqual([["carrierCode LIKE 'c1%'"], 3])
  })
})

describe('ranges', () => {
  plannerTest('open and closed, from either side', async (db) => {
    const cases: [string, number][] = [
      [`number > ${flights - 10} AND number < 5001`, 9],
      [`number >= ${flights - 10} AND number <= 5001`, 11],
      [`${flights - 10} <= number AND 5001 >= number`, 11],
      ['number < 5', 5],
      ['number > 4.5 AND number <= 6.0', 2],
      ['number > 7 AND number < 7', 0],
    ]
    for (const [predicate, rows] of cases) {
      const plan = await db.analyze(`FROM Flight WHERE ${predicate} RETURN *`)
      expect([predicate, touched(plan), plan.returned]).toEqual([predicate, rows, rows])
    }
  })

  plannerTest('of what is not beyond an end', async (db) => {
    const cases: [string, number][] = [
      ['NOT (number > 4)', 5],
      ['NOT (number <= 5001)', 2],
      ['NOT (4 < number)', 5],
      ['NOT (number != 7)', 1],
      ['NOT NOT (number < 3)', 3],
    ]
    for (const [predicate, rows] of cases) {
      const plan = await db.analyze(`FROM Flight WHERE ${predicate} RETURN *`)
      expect([predicate, find(plan, 'indexScan').index]).toEqual([predicate, 'flightNumber'])
      expect([predicate, touched(plan), plan.returned]).toEqual([predicate, rows, rows])
    }
    const others = await db.rows('FROM Flight WHERE NOT (number = 7) RETURN number')
    expect(others).toHaveLength(flights + 2)
  })

  plannerTest('of texts in which a regular expression is found that begins with letters', async (db) => {
    const rows = await db.rows('FROM Flight RETURN carrierCode')
    const codes = rows.map(({ carrierCode }) => String(carrierCode))
    const cases: [pattern: string, isIndexed: boolean][] = [
      ['^c1$', true],
      ['^c1[0-3]$', true],
      ['^c19?', true],
      ['^c19*$', true],
      ['^c7{1}', true],
      ['^c7|1', false],
      ['c7', false],
      ['^(c)7', false],
      ['^d', true],
    ]
    for (const [pattern, isIndexed] of cases) {
      const plan = await db.analyze(`FROM Flight WHERE carrierCode =~ '${pattern}' RETURN number`)
      const found = codes.filter((code) => new RegExp(pattern).test(code)).length
      expect([pattern, plan.returned]).toEqual([pattern, found])
      if (isIndexed && found < flights / 8) expect(find(plan, 'indexScan').index).toBe('flightCarrierSeats')
      if (!isIndexed) expect(find(plan, 'extentScan').examined).toBe(codes.length)
    }
    const failure = await db.failure("FROM Flight WHERE carrierCode =~ '^d(' RETURN number")
    expect(failure.type).toBe('QueryError')
  })

  plannerTest('of dates', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE day >= 2024-12-01 RETURN number')
    const rows = Math.floor(flights / 12) + 3
    expect([find(plan, 'indexScan').index, touched(plan), plan.returned]).toEqual(['flightDay', rows, rows])
  })
})

/** Equality on all its attributes reads the entries with those very keys; where keys do not tell objects apart, a range. */
describe('a unique index', () => {
  it('finds one object a key, in lists of any length', async () => {
    await withFd(classes, async (fd) => {
      await fd.createIndex(index('byLicense', 'Car', true, 'license'))
      const numbers = Array.from({ length: 600 }, (_, n) => n)
      await fd.createObjects(numbers.map((n) => ({ class: 'Car', attributes: { license: `L${n}`, n } })))
      expect(await numbersOf(fd, "license = 'L7'")).toEqual([7])
      expect(await numbersOf(fd, "license = 'L'")).toEqual([])
      const licenses = numbers.filter((n) => n % 2 === 0).map((n) => `L${n}`)
      expect(await numbersOf(fd, 'license IN $licenses', { licenses: [...licenses, 'none', 'L0'] })).toEqual(
        numbers.filter((n) => n % 2 === 0),
      )
    })
  })

  it('finds every object where texts are cut, and where null and 0-0-0-0 do not count', async () => {
    await withFd(classes, async (fd) => {
      const keyAttributes = [{ attributeName: 'license', properties: { maxStoredStringLength: 3 } }]
      await fd.createIndex({ name: 'byLicense', indexedClass: 'Car', isUnique: true, keyAttributes })
      await fd.createIndex(index('byHub', 'Car', true, 'hub'))
      await fd.createIndex(index('byNumberAndHub', 'Car', true, 'n', 'hub'))
      const [hub] = await fd.createObjects([{ class: 'Hub', attributes: {} }])
      const cars = ['abc', 'abcd', 'abce', longText, `${longText}y`, null, null]
      await fd.createObjects(cars.map((license, n) => ({ class: 'Car', attributes: { license, n } })))
      await fd.createObjects([{ class: 'Car', attributes: { license: 'last', n: 9, hub } }])
      expect(await numbersOf(fd, "license = 'abc'")).toEqual([0])
      expect(await numbersOf(fd, "license = 'abcd'")).toEqual([1])
      expect(await numbersOf(fd, 'license = $text', { text: `${longText}y` })).toEqual([4])
      expect(await numbersOf(fd, "license IN LIST{'abc', 'abce', 'ab'}")).toEqual([0, 2])
      expect(await numbersOf(fd, 'hub = $hub', { hub })).toEqual([9])
      expect(await numbersOf(fd, 'n = 9 AND hub = $hub', { hub })).toEqual([9])
      expect(await numbersOf(fd, 'hub = $none', { none: '0-0-0-0' })).toEqual(await numbersOf(fd, 'n < 9'))
      expect(await numbersOf(fd, 'n = 3 AND hub = $none', { none: '0-0-0-0' })).toEqual([3])
    })
  })
})
