/** The original's dialect: its rows have a class, and MATCH without a mode walks (DO, section 5). */

import { describe, expect } from 'vitest'
import type { Dialect } from '../../src/query/language/dialect.ts'
import { rowTexts } from '../row-texts.ts'
import { type QueryDatabase, queryTest } from './query-database.ts'

const setUp = [
  `UPDATE SCHEMA {
     CREATE CLASS Home EMBEDDABLE {city: String}
     CREATE CLASS Node {name: String, size: Integer, home: Object{Class: Home}, next: List{Element: Reference{Referenced: Node}}}
   }`,
  "LET a = CREATE Node {name: 'a', size: 1, home.city: 'Oslo'}; CREATE Node {name: 'b', size: 2, next: LIST{$a}}; UPDATE Node WHERE name = 'a' ADD (LOOKUP Node WHERE name = 'b') TO next",
]

async function textOf(db: QueryDatabase, text: string, dialect?: Dialect): Promise<string> {
  const reply = await db.fd.query({ text, ...(dialect === undefined ? {} : { dialect }) })
  return (await rowTexts(reply)).join(',')
}

/** Rows that begin with a class of their own in the original's dialect; the others are the same in both. */
const rows: Readonly<Record<string, string>> = {
  "FROM Node WHERE name = 'a' RETURN name, size AS s": '{"name":"a","s":1}',
  "SELECT name FROM Node WHERE name = 'a'": '{"name":"a"}',
  "FROM Node WHERE name = 'a' RETURN home": '{"home":{"city":"Oslo"}}',
  "FROM Node WHERE name = 'a' RETURN OBJECT($$ID) AS o":
    '{"o":{"__class__":"Node","__identifier__":"3-3-1-1","name":"a","size":1,"home":{"city":"Oslo"},"next":["3-3-1-2"]}}',
  'FROM Node RETURN COUNT(), SUM(size) AS sum': '{"COUNT()":2,"sum":3}',
  'FROM Node GROUP BY name ORDER BY name RETURN name': '{"name":"a"},{"name":"b"}',
  "MATCH (n:Node {name: 'b'}) RETURN *":
    '{"n":{"__class__":"Node","__identifier__":"3-3-1-2","name":"b","size":2,"home":{"city":""},"next":["3-3-1-1"]}}',
  "MATCH ACYCLIC (n:Node {name: 'b'})-->(m) RETURN m.name AS m": '{"m":"a"}',
  "UPDATE Node WHERE name = 'a' SET size TO 1 RETURN size": '{"size":1}',
}

const others: readonly string[] = [
  "FROM Node WHERE name = 'a' RETURN *",
  "UPDATE Node WHERE name = 'a' SET size TO 1",
  "LOOKUP Node WHERE name = 'a'",
  'LET x = (FROM Node ORDER BY name RETURN name, size); SHOW $x',
  'SHOW 1 + 1',
  'SHOW CLASS Node',
  'EXPLAIN FROM Node RETURN name',
]

/** As MATCH a-b-a: a walk meets an object again, unless it says that it does not. */
const there = "MATCH w = (n:Node {name: 'a'})-[*3]->(m) RETURN m.name AS m, COUNT(w) AS edges"

describe("the original's dialect", () => {
  queryTest('has rows with a class', setUp, async (db) => {
    for (const [text, plain] of Object.entries(rows)) {
      expect({ text, reply: await textOf(db, text) }).toEqual({ text, reply: plain })
      const classed = plain.replace(/(?<=^|\},)\{/g, '{"__class__":"_Projection",')
      expect({ text, reply: await textOf(db, text, 'objectivity') }).toEqual({ text, reply: classed })
      // Plans are kept by dialect.
      expect({ text, reply: await textOf(db, text, 'ashlar') }).toEqual({ text, reply: plain })
    }
    for (const text of others) {
      const reply = await textOf(db, text, 'objectivity')
      expect({ text, reply }).toEqual({ text, reply: await textOf(db, text) })
      expect(reply).not.toContain('_Projection')
    }
    const created = await textOf(db, "CREATE Node {name: 'c'}", 'objectivity')
    expect(created).toBe('{"__class__":"Node","__identifier__":"3-3-1-3"}')
    const deleted = await textOf(db, "DELETE Node WHERE name = 'c' RETURN name", 'objectivity')
    expect(deleted).toBe('{"__class__":"_Projection","name":"c"}')
  })

  queryTest('walks where MATCH has no mode', setUp, async (db) => {
    const found = '"m":"b","edges":3}'
    expect(await textOf(db, there)).toBe('')
    expect(await textOf(db, there, 'objectivity')).toBe(`{"__class__":"_Projection",${found}`)
    expect(await textOf(db, there)).toBe('')
    expect(await textOf(db, there.replace('MATCH', 'MATCH WALK'))).toBe(`{${found}`)
    expect(await textOf(db, there.replace('MATCH', 'MATCH ACYCLIC'), 'objectivity')).toBe('')
    const any = "MATCH (n:Node {name: 'a'})-[*]->(m) RETURN COUNT() AS n"
    expect(await textOf(db, any, 'objectivity')).toBe('{"__class__":"_Projection","n":8}')
    const nested = `SHOW COUNT((${there}))`
    expect([await textOf(db, nested), await textOf(db, nested, 'objectivity')]).toEqual(['0', '1'])
  })

  queryTest('has no other column called __class__', setUp, async (db) => {
    for (const text of [
      'FROM Node RETURN name AS __class__',
      "MATCH (n:Node) RETURN n.name AS '__class__'",
      'UPDATE Node SET size TO 1 RETURN size AS __class__',
    ]) {
      await expect(textOf(db, text, 'objectivity')).rejects.toMatchObject({
        type: 'QueryError',
        message: expect.stringMatching(/rows have '__class__' already in this dialect; AS gives another name/),
        extensions: { line: 1, column: text.lastIndexOf('RETURN') + 8 },
      })
    }
    expect(await textOf(db, "FROM Node WHERE name = 'a' RETURN name AS __class__")).toBe('{"__class__":"a"}')
  })

  queryTest(
    'is that of the federated database where a query asks for none',
    setUp,
    async (db) => {
      expect(db.fd.dialect).toBe('objectivity')
      expect(await db.rows("FROM Node WHERE name = 'a' RETURN name")).toEqual([{ __class__: '_Projection', name: 'a' }])
      expect(await db.rows(there)).toHaveLength(1)
      expect(await textOf(db, there, 'ashlar')).toBe('')
    },
    { dialect: 'objectivity' },
  )
})
