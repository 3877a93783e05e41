/** COALESCE, IS_NULL, IS_VALID and OBJECT (DO, section 4, Operators). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'
import { everyType, everyValue } from './every-type.ts'
import { expectRefusals, expectValues, expectValuesOf } from './expect-expressions.ts'

const shop = `UPDATE SCHEMA {
  CREATE CLASS Client {name: String, partner: Reference{Referenced: Client}, friends: List{Element: Reference{Referenced: Client}}}
}`
const clients = `
  LET one = CREATE Client {name: 'one'};
  CREATE Client {name: 'two', partner: $one, friends: LIST{$one}}`
/** A reference whose object is gone, and that nothing has cleaned up. */
const dangling = `
  LET gone = CREATE Client {name: 'gone'};
  CREATE Client {name: 'three', partner: $gone};
  DELETE Client WHERE name = 'gone'`

describe('null', () => {
  queryTest('is told by IS_NULL, of values of every type', [everyType, everyValue], async (db) => {
    await expectValues(db, {
      'IS_NULL(null)': true,
      'IS_NULL(0)': false,
      "IS_NULL('')": false,
      'IS_NULL(false)': false,
      'IS_NULL(1 / 0)': true,
      'IS_NULL(null = null)': true,
      'IS_NULL(0-0-0-0)': true,
      'IS_NULL(3-3-1-9)': false,
      'IS_NULL(LIST{})': false,
      'NOT IS_NULL(5)': true,
      'is_null(null)': true,
    })
    const attributes = ['flag', 'letter', 'tiny', 'whole', 'big', 'natural', 'single', 'real', 'guid', 'text', 'day']
    for (const name of [...attributes, 'clock', 'moment', 'zoned', 'span']) {
      expect(await db.rows(`FROM Value WHERE IS_NULL(${name}) RETURN label`), name).toEqual([{ label: 'none' }])
      expect(await db.rows(`FROM Value WHERE NOT IS_NULL(${name}) RETURN label`), name).toHaveLength(2)
    }
    expect(await db.rows('FROM Value WHERE IS_NULL(other) RETURN label')).toEqual([{ label: 'low' }, { label: 'none' }])
    expect(await db.rows('FROM Value WHERE IS_NULL(other.whole) RETURN label')).toHaveLength(2)
  })

  queryTest('gives way in COALESCE to the first value that there is', [everyType, everyValue], async (db) => {
    await expectValues(db, {
      'COALESCE(null, 2, 3)': 2,
      'COALESCE(1, 2)': 1,
      'COALESCE(null, null)': null,
      'COALESCE(null)': null,
      "COALESCE(null, 'a')": 'a',
      'COALESCE(1 / 0, 7)': 7,
      'COALESCE(null, 1, 2.5)': 1,
      'COALESCE(false, true)': false,
      'COALESCE(0-0-0-0, 3-3-1-9)': '3-3-1-9',
    })
    await expectValuesOf(db, "Value WHERE label = 'none'", {
      'COALESCE(whole, 5)': 5,
      'COALESCE(whole, big, 5)': 5,
      'COALESCE(text, label)': 'none',
      'COALESCE(day, 2024-02-29)': '2024-02-29',
      'COALESCE(whole, big)': null,
    })
    await expectValuesOf(db, "Value WHERE label = 'high'", { 'COALESCE(whole, 5)': 2, 'COALESCE(real, whole)': 2 })
    await expectRefusals(db, {
      'COALESCE()': [1, /COALESCE takes at least 1 operand/],
      "COALESCE(1, 'a')": [13, /COALESCE takes values of one type, not an integer and a string/],
      'COALESCE(null, true, 2024-02-29)': [22, /a boolean and a date/],
    })
  })

  queryTest('IS_VALID is true for a reference to an object that there is', [shop, clients, dangling], async (db) => {
    const rows = await db.rows('FROM Client ORDER BY name RETURN name, IS_VALID(partner) AS valid')
    expect(rows).toEqual([
      { name: 'one', valid: false },
      { name: 'three', valid: false },
      { name: 'two', valid: true },
    ])
    await expectValuesOf(db, "Client WHERE name = 'two'", {
      'IS_VALID($$ID)': true,
      'IS_VALID(friends[0])': true,
      'IS_VALID(friends[1])': false,
      'IS_VALID(partner.partner)': false,
      "IS_VALID((LOOKUP Client WHERE name = 'one'))": true,
      "IS_VALID((LOOKUP Client WHERE name = 'nobody'))": false,
    })
    await expectValues(db, { 'IS_VALID(0-0-0-0)': false, 'IS_VALID(9-9-9-9)': false, 'IS_VALID(null)': false })
    expect(await db.rows('FROM Client WHERE IS_VALID(partner) RETURN name')).toEqual([{ name: 'two' }])
    await expectRefusals(db, {
      'IS_VALID(5)': [10, /IS_VALID takes a reference, not an integer/],
      'IS_VALID()': [1, /IS_VALID takes 1 operand, not 0/],
    })
  })

  queryTest('OBJECT shows the whole object that a reference names', [shop, clients], async (db) => {
    const [one] = await db.rows("FROM Client WHERE name = 'one' RETURN *")
    await expectValuesOf(db, "Client WHERE name = 'two'", {
      'OBJECT(partner)': one,
      'OBJECT(partner).name': 'one',
      'OBJECT(partner.partner)': null,
      'OBJECT(partner) = partner': true,
      'OBJECT(null)': null,
      "OBJECT((LOOKUP Client WHERE name = 'one'))": one,
    })
    expect(await db.value("OBJECT((LOOKUP Client WHERE name = 'one'))")).toEqual(one)
    expect(await db.value('OBJECT($oid)', { oid: one?.__identifier__ })).toEqual(one)
    await expectRefusals(db, { 'OBJECT(5)': [8, /OBJECT takes a reference, not an integer/] })
  })
})
