/** Names and keywords: which words are bound to their meaning, and where (DO, section 2). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'

/** Attributes that are called as keywords are. */
const words = ['from', 'where', 'skip', 'take', 'order', 'group', 'by', 'as', 'set', 'to', 'add', 'remove', 'only']
const more = ['list', 'map', 'interval', 'count', 'any', 'not', 'null_', 'create', 'lookup', 'class', 'schema', 'index']

const schema = `UPDATE SCHEMA {
  CREATE CLASS Lot.Keyword { ${[...words, ...more].map((word) => `\`${word}\`: Integer`).join(', ')} }
  CREATE CLASS Lot.Only { name: String }
  CREATE CLASS Lot.Index { name: String }
  CREATE CLASS Lot.Client { name: String, age: Integer }
  CREATE CLASS Other.Client { title: String }
  CREATE CLASS Lot.Box { size: Integer }
  CREATE CLASS Lot.Boxes { count: Integer }
}`

describe('keywords', () => {
  queryTest(
    'are known in any case',
    [schema, "create LOT.Client {name: 'a', age: 1}".replace('LOT', 'Lot')],
    async (db) => {
      const texts = [
        'from Lot.Client where age = 1 order by name desc skip 0 take 1 return name as n',
        'FROM Lot.Client WHERE age = 1 ORDER BY name DESC SKIP 0 TAKE 1 RETURN name AS n',
        'Select name As n From Lot.Client Where age = 1 Order By name Limit 1 Offset 0',
      ]
      for (const text of texts) expect(await db.rows(text)).toEqual([{ n: 'a' }])
    },
  )

  queryTest('are names where the grammar leaves no doubt, and always in backquotes', [schema], async (db) => {
    const values = [...words, ...more].map((word, i) => `\`${word}\`: ${i}`).join(', ')
    await db.rows(`CREATE Keyword {${values}}`)
    for (const [i, word] of [...words, ...more].entries()) {
      expect(await db.rows(`FROM Keyword WHERE \`${word}\` = ${i} RETURN \`${word}\` AS found`), word).toEqual([
        { found: i },
      ])
      if (word === 'not') continue
      expect(await db.rows(`FROM Keyword WHERE ${word} = ${i} RETURN ${word} + 1 AS found`), word).toEqual([
        { found: i + 1 },
      ])
      await db.rows(`UPDATE Keyword SET ${word} TO ${i + 1}`)
      expect(await db.rows(`FROM Keyword ORDER BY ${word} RETURN $$ID.${word} AS found`), word).toEqual([
        { found: i + 1 },
      ])
    }
    await db.rows("CREATE Only {name: 'only'}; CREATE Index {name: 'index'}")
    expect(await db.rows('FROM Only WHERE true RETURN name')).toEqual([{ name: 'only' }])
    expect(await db.rows('FROM ONLY Only RETURN name')).toEqual([{ name: 'only' }])
    expect(await db.rows('FROM Index RETURN name')).toEqual([{ name: 'index' }])
  })
})

describe('class names', () => {
  queryTest('may leave out the namespace where the simple name is unique', [schema], async (db) => {
    expect(await db.rows('FROM Keyword RETURN *')).toEqual([])
    expect(await db.rows('FROM Lot.Keyword RETURN *')).toEqual([])
    expect(await db.rows('FROM Lot::Keyword RETURN *')).toEqual([])
    const ambiguous = await db.failure('FROM Client RETURN *')
    expect(ambiguous.type).toBe('QueryError')
    expect(ambiguous.message).toMatch(/Client.*Lot\.Client.*Other\.Client/)
  })

  queryTest('of a source may be plural, unless a class has that name', [schema], async (db) => {
    await db.rows("CREATE Lot.Client {name: 'one'}; CREATE Box {size: 1}; CREATE Boxes {count: 2}")
    expect(await db.rows('FROM Lot.Clients RETURN name')).toEqual([{ name: 'one' }])
    expect(await db.rows('FROM Keywords RETURN *')).toEqual([])
    expect(await db.rows('FROM Boxes RETURN count')).toEqual([{ count: 2 }])
    expect((await db.failure("CREATE Lot.Clients {name: 'two'}")).type).toBe('QueryError')
  })

  queryTest('are exact, and near ones are suggested', [schema], async (db) => {
    expect((await db.failure('FROM Bxo RETURN *')).message).toMatch(/Did you mean Box\?$/)
    await db.rows('UPDATE SCHEMA { CREATE CLASS CallDetail {a: Integer} }')
    expect((await db.failure('FROM CalDetail RETURN *')).message).toMatch(/Did you mean CallDetail\?$/)
    const missing = await db.failure('FROM Kyeword RETURN *')
    expect(missing.extensions).toMatchObject({ line: 1, column: 6, text: 'Kyeword' })
    expect(missing.message).toMatch(/Did you mean Keyword\?/)
    expect((await db.failure('FROM lot.client RETURN *')).message).toMatch(/Did you mean.*Client/)
    expect((await db.failure('FROM Lot.Client\nWHERE agge = 1 RETURN *')).extensions).toMatchObject({
      line: 2,
      column: 7,
      text: 'agge',
    })
    expect((await db.failure('FROM Lot.Client WHERE agge = 1 RETURN *')).message).toMatch(/Did you mean age\?/)
    expect((await db.failure('FROM Lot.Client RETURN Name')).message).toMatch(/Did you mean name/)
    expect((await db.failure('FROM Lot.Client RETURN UPER(name)')).message).toMatch(/Did you mean UPPER/)
  })
})

describe('what begins a statement', () => {
  const clients = [schema, "CREATE Lot.Client {name: 'a', age: 1}; CREATE Lot.Client {name: 'b', age: 2}"]

  queryTest('LET takes every statement of rows, from parentheses on', clients, async (db) => {
    for (const statement of [
      'FROM (FROM Lot.Client WHERE age > 1 RETURN age AS n) RETURN n, 1 AS k',
      'SELECT -age * -1 AS n, 1 AS k FROM Lot.Client WHERE age > 1',
      'WITH old AS (FROM Lot.Client WHERE age > 1 RETURN age AS n) FROM old RETURN n, 1 AS k',
    ]) {
      expect(await db.rows(`LET all = ${statement}; FROM $all RETURN n`)).toEqual([{ n: 2 }])
    }
    expect(
      await db.rows('LET one = LOOKUP (FROM Lot.Client WHERE age > 1 RETURN $$ID) WHERE TRUE; SHOW $one.name'),
    ).toEqual(['b'])
  })

  queryTest('in parentheses, also RETURN, and parentheses behind the word', clients, async (db) => {
    const inner = ['RETURN age FROM Lot.Client WHERE age = 1', 'SELECT (age) FROM Lot.Client WHERE age = 1']
    for (const statement of inner) {
      expect(await db.rows(`FROM Lot.Client WHERE age IN (${statement}) RETURN name`)).toEqual([{ name: 'a' }])
      expect(await db.rows(`FROM Lot.Client WHERE EXISTS(${statement}) RETURN COUNT() AS n`)).toEqual([{ n: 2 }])
    }
  })

  queryTest('attributes called as the word, and what asks of them', [schema, 'CREATE Lot.Keyword {}'], async (db) => {
    for (const predicate of [
      '(from IS NOT NULL)',
      '(create IS NULL) = FALSE',
      '(from NOT IN (1, 2))',
      '(lookup BETWEEN 0 AND 1)',
    ]) {
      expect(await db.rows(`FROM Lot.Keyword WHERE ${predicate} RETURN COUNT() AS n`)).toEqual([{ n: 1 }])
    }
  })

  queryTest('DISTINCT before * and UNION, and before SET{…}', clients, async (db) => {
    const rows = 'FROM Lot.Client RETURN DISTINCT *'
    expect(await db.rows(`${rows} UNION ${rows}`)).toHaveLength(2)
    expect(await db.rows('FROM Lot.Client RETURN DISTINCT SET{1, 2} = SET{1} AS x')).toEqual([{ x: false }])
  })
})
