/** UPDATE SCHEMA: classes and attributes by statements (DO, section 3). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'

const base = 'UPDATE SCHEMA { CREATE CLASS Shop.Thing {name: String} }'

describe('UPDATE SCHEMA', () => {
  queryTest('creates classes with attributes of every type', [base], async (db) => {
    const rows = await db.rows(`UPDATE SCHEMA {
      CREATE CLASS Shop.Part EMBEDDABLE {size: Integer{Encoding: Unsigned, Storage: B8}}
      CREATE CLASS Shop.Machine SUPERCLASS Shop.Thing {
        flag: Boolean, letter: Character, real: Real{Storage: B32}, id: Guid, code: String{Encoding: Byte, Storage: Fixed, FixedLength: 4},
        day: Date, clock: Time, moment: DateTime, span: Interval, part: Object{Class: Shop.Part},
        next: Reference{Referenced: Shop.Machine, Inverse: previous}, previous: Reference{Referenced: Shop.Machine, Inverse: next},
        counts: List{Element: Integer{Storage: B64}}, others: Set{Element: Reference{Referenced: Shop.Thing}},
        byName: Map{Key: String, Element: Reference{Referenced: Shop.Thing}}
      }
    }`)
    expect(rows).toEqual([
      { className: 'Shop.Part', classNumber: expect.stringMatching(/^\d+$/) },
      { className: 'Shop.Machine', classNumber: expect.stringMatching(/^\d+$/) },
    ])
    const [machine] = await db.rows('SHOW CLASS Machine')
    expect(machine).toMatchObject({
      className: 'Shop.Machine',
      superClass: 'Shop.Thing',
      attributes: [
        { attributeName: 'flag', logicalType: 'boolean' },
        { attributeName: 'letter', logicalType: 'character' },
        { attributeName: 'real', logicalType: 'real', storage: 'b32' },
        { attributeName: 'id', logicalType: 'guid' },
        { attributeName: 'code', logicalType: 'string', encoding: 'byte', storage: 'fixed', fixedLength: 4 },
        { attributeName: 'day', logicalType: 'date' },
        { attributeName: 'clock', logicalType: 'time' },
        { attributeName: 'moment', logicalType: 'datetime' },
        { attributeName: 'span', logicalType: 'interval' },
        { attributeName: 'part', logicalType: 'object' },
        { attributeName: 'next', logicalType: 'reference' },
        { attributeName: 'previous', logicalType: 'reference' },
        { attributeName: 'counts', logicalType: 'list' },
        { attributeName: 'others', logicalType: 'set' },
        { attributeName: 'byName', logicalType: 'map' },
      ],
    })
    await db.rows("LET a = CREATE Machine {name: 'a', part.size: 7}; CREATE Machine {name: 'b', previous: $a}")
    expect(await db.rows("FROM Thing WHERE name = 'a' RETURN CAST($$ID AS Machine).next.name AS next")).toEqual([
      { next: 'b' },
    ])
  })

  queryTest('takes the words of the original for types and settings, in any case', [base], async (db) => {
    const things = 'Element: Reference{Referenced: Shop.Thing}'
    await db.rows(`UPDATE SCHEMA { CREATE CLASS Shop.Box {
      single: Float, double: FLOAT{Encoding: IEEE, Storage: B64}, singles: List{Element: float},
      byName: Map{KeyType: String, ${things}, CollectionName: ooMap}, byThing: Map{keytype: Reference{Referenced: Shop.Thing},
      ${things}, COLLECTIONNAME: HashMapOfReferences}, things: List{CollectionName: TreeListOfReferences, ${things}}
    } }`)
    const box = (await db.rows('SHOW CLASS Box'))[0] as { readonly attributes: readonly object[] }
    expect(box.attributes).toEqual([
      { attributeName: 'single', logicalType: 'real', encoding: 'ieee', storage: 'b32' },
      { attributeName: 'double', logicalType: 'real', encoding: 'ieee', storage: 'b64' },
      expect.objectContaining({ elementSpecification: { logicalType: 'real', encoding: 'ieee', storage: 'b32' } }),
      expect.objectContaining({ collectionTypeName: 'NameToReferenceMap' }),
      expect.objectContaining({ collectionTypeName: 'HashMapOfReferences' }),
      expect.objectContaining({ collectionTypeName: 'TreeListOfReferences' }),
    ])
    await db.rows('CREATE Box {single: 0.1, double: 0.1, singles: LIST{0.1}}')
    const row =
      'FROM Box RETURN single, double, CAST(double AS Float) = single AS isSingle, CAST(0.1 AS float{Storage: B64}) = double AS isDouble'
    expect(await db.rows(row)).toEqual([{ single: 0.1, double: 0.1, isSingle: true, isDouble: true }])
    const twice = await db.failure('UPDATE SCHEMA { CREATE CLASS A {a: Map{Key: String, KeyType: String}} }')
    expect(twice.message).toMatch(/the setting KeyType is specified twice/)
    expect(
      (await db.failure(`UPDATE SCHEMA { CREATE CLASS A {a: List{CollectionName: ooMap, ${things}}} }`)).type,
    ).toBe('InvalidDefinition')
  })

  queryTest('takes Instant for a datetime with an offset', [], async (db) => {
    await db.rows(
      'UPDATE SCHEMA { CREATE CLASS Log {at: Instant, all: List{Element: INSTANT{Storage: DateTimeOffset}}} }',
    )
    await db.rows('UPDATE SCHEMA { ALTER CLASS Log {ADD later: instant} }')
    const log = (await db.rows('SHOW CLASS Log'))[0] as { readonly attributes: readonly object[] }
    const instant = { logicalType: 'datetime', encoding: 'objy', storage: 'datetimeoffset' }
    expect(log.attributes).toEqual([
      { attributeName: 'at', ...instant },
      expect.objectContaining({ elementSpecification: instant }),
      { attributeName: 'later', ...instant },
    ])
    await db.rows('CREATE Log {at: 2026-07-01 14:00:00 +02:00, later: 2026-07-01 12:00:00}')
    const casts = `CAST('2026-07-01T12:00:00Z' AS Instant) = at AS same, CAST(2026-07-01 12:00:00 AS INSTANT) AS utc`
    expect(await db.rows(`FROM Log RETURN at, later, at = later AS equal, ${casts}`)).toEqual([
      {
        at: '2026-07-01T14:00:00+02:00',
        later: '2026-07-01T12:00:00Z',
        equal: true,
        same: true,
        utc: '2026-07-01T12:00:00Z',
      },
    ])
    const { type, message } = await db.failure('UPDATE SCHEMA { CREATE CLASS A {a: Instant{Storage: DateTime}} }')
    expect({ type, message }).toEqual({
      type: 'InvalidDefinition',
      message:
        'Line 1, column 53: Class A, attribute a: storage of an instant is datetimeoffset, not "datetime"; a date and time without a zone is a datetime.',
    })
    expect((await db.failure('UPDATE SCHEMA { CREATE CLASS A {a: TIMESTAMPTZ} }')).message).toContain(
      'Did you mean Instant?',
    )
  })

  queryTest(
    'adds attributes, which old objects have by their defaults',
    [base, "CREATE Thing {name: 'old'}"],
    async (db) => {
      expect(
        await db.rows('UPDATE SCHEMA { ALTER CLASS Shop.Thing {ADD count: Integer, ADD tags: List{Element: String}} }'),
      ).toEqual([{ className: 'Shop.Thing', classNumber: expect.any(String) }])
      expect(await db.rows('FROM Thing RETURN name, count, tags')).toEqual([{ name: 'old', count: 0, tags: [] }])
    },
  )

  queryTest('refuses what POST /v1/schema refuses, and changes nothing then', [base], async (db) => {
    const refused: readonly (readonly [string, string, RegExp])[] = [
      ['CREATE CLASS Shop.Thing {a: Integer}', 'ClassExists', /Shop\.Thing/],
      [
        'CREATE CLASS A {a: Intger}',
        'InvalidDefinition',
        /Line 1, column 36: there is no type 'Intger'\. Did you mean Integer\?/,
      ],
      ['CREATE CLASS A {a: Integer{Storage: B7}}', 'InvalidDefinition', /a/],
      ['CREATE CLASS A {a: Integer{Sotrage: B8}}', 'QueryError', /Sotrage/],
      ['CREATE CLASS A SUPERCLASS Nobody {}', 'QueryError', /Nobody/],
      ['CREATE CLASS A {a: Reference{Referenced: Nobody}}', 'QueryError', /Nobody/],
      ['CREATE CLASS A {a: Map{Key: String, Element: Integer}}', 'InvalidDefinition', /has to be reference/],
      ['CREATE CLASS A {a: Integer, a: String}', 'InvalidDefinition', /a/],
      ['ALTER CLASS Nobody {ADD a: Integer}', 'QueryError', /Nobody/],
      ['CREATE CLASS A {a: Integer} CREATE CLASS Shop.Thing {}', 'ClassExists', /Shop\.Thing/],
    ]
    for (const [change, type, message] of refused) {
      const error = await db.failure(`UPDATE SCHEMA { ${change} }`)
      expect({ change, type: error.type, message: error.message }).toEqual({
        change,
        type,
        message: expect.stringMatching(message),
      })
    }
    expect(await db.rows('SHOW CLASSES')).toHaveLength(1)
  })
})
