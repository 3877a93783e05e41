/** What an operation of a statement is refused for has its place in the text, never in a body that nobody sent. */
import { expect } from 'vitest'
import { queryTest } from './query-database.ts'
import { shop } from './shop.ts'

const refused: Readonly<Record<string, readonly [type: string, line: number, column: number]>> = {
  "UPDATE Client\n  WHERE name = 'Ann' SET age TO 3000000000": ['ValueNotAllowed', 2, 26],
  "FROM Client RETURN name;\nUPDATE Client SET name TO 'same'": ['UniqueViolation', 2, 1],
  "CREATE Client {name: 'Ann'}": ['UniqueViolation', 1, 1],
  'CREATE INDEX other ON Client (\n  nme)': ['UnknownAttribute', 2, 3],
  'CREATE UNIQUE INDEX other ON Client (age)': ['UniqueViolation', 1, 1],
  'CREATE INDEX byName ON Client (age)': ['IndexExists', 1, 14],
  'SHOW 1;\n DROP INDEX other': ['IndexNotFound', 2, 2],
}

queryTest('of each statement', [...shop, 'CREATE UNIQUE INDEX byName ON Client (name)'], async (db) => {
  for (const [text, [type, line, column]] of Object.entries(refused)) {
    const error = await db.failure(text)
    const places = error.errors.map(({ place }) => place)
    expect({ statement: text, type: error.type, places, ...error.extensions }).toMatchObject({
      statement: text,
      type,
      places: [['query']],
      line,
      column,
    })
  }
})
