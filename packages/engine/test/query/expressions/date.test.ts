/** YEAR to SECOND, of dates, times and datetimes (DO, section 4, Operators). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { everyType, everyValue } from './every-type.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

const ofDay = ['DAY_NAME', 'DAY_OF_MONTH', 'DAY_OF_WEEK', 'MONTH', 'MONTH_NAME', 'WEEK', 'YEAR']
const ofClock = ['HOUR', 'MINUTE', 'SECOND']

describe('date functions', () => {
  queryTest('of a date', [], async (db) => {
    await expectValues(db, {
      'YEAR(2024-02-29)': 2024,
      'MONTH(2024-02-29)': 2,
      'MONTH_NAME(2024-02-29)': 'February',
      'DAY_OF_MONTH(2024-02-29)': 29,
      'DAY_OF_WEEK(2024-02-29)': 4,
      'DAY_NAME(2024-02-29)': 'Thursday',
      'WEEK(2024-02-29)': 9,
      'YEAR(0001-01-01)': 1,
      'YEAR(9999-12-31)': 9999,
      'DAY_NAME(1900-03-01)': 'Thursday',
      'DAY_NAME(2000-02-29)': 'Tuesday',
      'year(2024/2/9)': 2024,
    })
  })

  queryTest('name every day and every month', [], async (db) => {
    const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
    for (const [i, name] of days.entries()) {
      await expectValues(db, { [`DAY_NAME(2024-01-0${i + 1})`]: name, [`DAY_OF_WEEK(2024-01-0${i + 1})`]: i + 1 })
    }
    for (let month = 1; month <= 12; month++) {
      const name = new Date(Date.UTC(2023, month - 1, 1)).toLocaleString('en', { month: 'long', timeZone: 'UTC' })
      await expectValues(db, { [`MONTH_NAME(2023-${month}-15)`]: name, [`MONTH(2023-${month}-15)`]: month })
    }
  })

  queryTest('count weeks as ISO 8601 does', [], async (db) => {
    await expectValues(db, {
      'WEEK(2024-01-01)': 1,
      'WEEK(2023-01-01)': 52,
      'WEEK(2021-01-03)': 53,
      'WEEK(2021-01-04)': 1,
      'WEEK(2020-12-31)': 53,
      'WEEK(2024-12-30)': 1,
      'WEEK(2026-12-31)': 53,
      'WEEK(0001-01-01)': 1,
    })
  })

  queryTest('of a time', [], async (db) => {
    await expectValues(db, {
      'HOUR(23:05:09.25)': 23,
      'MINUTE(23:05:09.25)': 5,
      'SECOND(23:05:09.25)': 9,
      'SECOND(23:05:59.9999)': 59,
      'HOUR(0:00:00)': 0,
    })
  })

  queryTest('of a datetime, and of one with an offset by its own clock', [], async (db) => {
    await expectValues(db, {
      'YEAR(2024-02-29 08:05:09.25)': 2024,
      'DAY_NAME(2024-02-29 23:59:59)': 'Thursday',
      'HOUR(2024-02-29 08:05:09.25)': 8,
      'MINUTE(2024-02-29 08:05:09.25)': 5,
      'SECOND(2024-02-29 08:05:09.25)': 9,
      'DAY_OF_MONTH(2024-03-01 01:30:00 +05:30)': 1,
      'MONTH(2024-03-01 01:30:00 +05:30)': 3,
      'HOUR(2024-03-01 01:30:00 +05:30)': 1,
      'MINUTE(2024-03-01 01:30:00 +05:30)': 30,
      'HOUR(2024-03-01 01:30:00Z)': 1,
      'YEAR(2023-12-31 23:00:00 -08:00)': 2023,
    })
  })

  queryTest('of stored values, and of null', [everyType, everyValue], async (db) => {
    await expectValuesOf(db, "Value WHERE label = 'low'", {
      'YEAR(day)': 2024,
      'DAY_OF_MONTH(moment)': 28,
      'DAY_NAME(zoned)': 'Wednesday',
      'HOUR(clock)': 8,
      'HOUR(zoned)': 8,
      'MINUTE(moment)': 5,
      'SECOND(zoned)': 9,
      'MONTH(day + span)': 2,
      'DAY_OF_MONTH(other.day)': null,
    })
    for (const name of ofDay) {
      await expectValues(db, { [`${name}(null)`]: null })
      await expectValuesOf(db, "Value WHERE label = 'none'", {
        [`${name}(day)`]: null,
        [`${name}(moment)`]: null,
        [`${name}(zoned)`]: null,
      })
    }
    for (const name of ofClock) {
      await expectValues(db, { [`${name}(null)`]: null })
      await expectValuesOf(db, "Value WHERE label = 'none'", { [`${name}(clock)`]: null, [`${name}(zoned)`]: null })
    }
    expect(await db.rows('FROM Value WHERE DAY_OF_MONTH(day) = 29 RETURN label')).toEqual([{ label: 'high' }])
  })

  queryTest('take dates and times', [everyType], async (db) => {
    for (const name of ofDay) {
      await expectRefusals(db, {
        [`${name}(08:00:00)`]: [name.length + 2, new RegExp(`${name} takes a date, not a time`)],
        [`${name}(5)`]: [name.length + 2, /not an integer/],
        [`${name}()`]: [1, /takes 1 operands?, not 0/],
      })
    }
    for (const name of ofClock) {
      await expectRefusals(db, {
        [`${name}(2024-02-29)`]: [name.length + 2, new RegExp(`${name} takes a time, not a date`)],
        [`${name}('now')`]: [name.length + 2, /not a string/],
      })
    }
  })
})
