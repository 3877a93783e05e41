/** No word of the language is reserved: each is the name of an attribute, of a column, of a source and of a class, bare and in backquotes. */
import { expect, it } from 'vitest'
import { functions } from '../../../src/query/functions/function-table.ts'
import { infixWords } from '../../../src/query/language/operators.ts'
import { openQueryDatabase, type QueryDatabase } from '../query-database.ts'

const clauses = `FROM WHERE GROUP BY HAVING ORDER ASC DESC SKIP TAKE WHILE LIMIT OFFSET RETURN SELECT AS ONLY DISTINCT UNION WITH OVER
  PARTITION OPTIONAL SHORTEST PATH PATHS WALK TRAIL ACYCLIC SIMPLE`
const statements = `CREATE UPDATE SET TO CLEAR ADD REMOVE KEYS DELETE UPSERT ON LOOKUP LET SHOW PARAMETERS CLASS CLASSES SCHEMA MATCH FOR
  EACH IF THEN ELSE IMPORT CSV USE HEADER COMMIT EVERY FORMAT UNIQUE INDEX DROP ALTER RENAME SUPERCLASS EMBEDDABLE EXPLAIN ANALYZE`
const expressions = `CASE WHEN END IS LIKE ILIKE BETWEEN EXISTS NULL TRUE FALSE NOT LIST MAP INTERVAL DAYS HOURS MINUTES SECONDS
  MILLISECONDS CAST IS_NULL IS_VALID IS_EMPTY OBJECT COALESCE CONCAT DATE_TRUNC OF SOME OF_EQUAL SOME_EQUAL`
const calls = `COUNT SUM AVG MIN MAX COLLECT STDDEV MEDIAN PERCENTILE ROW_NUMBER RANK DENSE_RANK LAG LEAD FIRST_VALUE LAST_VALUE NOW`
const types =
  'Boolean Character Integer Real Float Guid String Date Time DateTime Reference Object List Map Element Key'

/** Otherwise each word is tried in capital or in small letters, and one of four in backquotes as well. */
const areAllTried = Number(process.env.ASHLAR_RUNS ?? 1) >= 1

const words = [
  ...new Set(
    [clauses, statements, expressions, calls, types]
      .flatMap((some) => some.trim().split(/\s+/))
      .concat([...infixWords.keys()], [...functions.keys()])
      .flatMap((word, i) => {
        const both = [word, word.toLowerCase()]
        return areAllTried ? both : (both[i % 2] as string)
      }),
  ),
]

/** What they are where a value stands, whatever has their name. */
const values: readonly string[] = ['NULL', 'TRUE', 'FALSE', 'NOT']

/** What goes on with a value, or ends the columns: behind DISTINCT it makes this a name, and is one itself in backquotes. */
const behindValue: readonly string[] = [
  ...infixWords.keys(),
  ...'IS LIKE ILIKE BETWEEN AS ASC DESC FROM WHERE SKIP TAKE LIMIT OFFSET RETURN SET ADD REMOVE CLEAR'.split(' '),
]

const isValue = (word: string): boolean => values.includes(word.toUpperCase())

/** How the store answers makes no difference to the parser. */
function wordsTest(name: string, test: (db: QueryDatabase) => Promise<void>): void {
  it(name, async () => {
    const { db, close } = await openQueryDatabase([])
    await test(db)
    await close()
  })
}

/** What a class has of them at once: a write and a read of an object take as long as it has attributes. */
const attributesOfClass = 40
const groups = Array.from({ length: Math.ceil(words.length / attributesOfClass) }, (_, i) =>
  words.slice(i * attributesOfClass, (i + 1) * attributesOfClass),
)

wordsTest('each word is the name of an attribute and of a column', async (db) => {
  const refused: string[] = []
  for (const [i, group] of groups.entries()) refused.push(...(await refusedAsNames(db, `T${i}`, group)))
  expect(refused).toEqual([])
})

/** Statements about a class whose attributes are these that do not give what they should. */
async function refusedAsNames(db: QueryDatabase, type: string, attributes: readonly string[]): Promise<string[]> {
  const definitions = attributes.map((word) => `\`${word}\`: Integer`)
  await db.rows(`UPDATE SCHEMA { CREATE CLASS ${type} {${definitions.join(', ')}} }; CREATE ${type} {}`)
  const refused: string[] = []
  const check = async (text: string, wanted: unknown): Promise<void> => {
    try {
      expect({ text, rows: await db.rows(text) }).toEqual({ text, rows: wanted })
    } catch (error) {
      refused.push(`${text}: ${(error as Error).message.slice(0, 200)}`)
    }
  }
  for (const [i, word] of attributes.entries()) {
    const quoted = `\`${word}\``
    const isQuoted = areAllTried || i % 4 === 0 || isValue(word)
    for (const name of [...(isQuoted ? [quoted] : []), ...(isValue(word) ? [] : [word])]) {
      await check(`UPDATE ${type} SET ${name} TO ${i} RETURN COUNT() AS c`, [{ c: 1 }])
      await check(
        `FROM ${type} WHERE ${name} = ${i} AND ${name} + 0 >= ${i} ORDER BY ${name} DESC RETURN $$ID.${name} AS ${name}`,
        [{ [word]: i }],
      )
      await check(`FROM ${type} t RETURN t.${name} AS x, COALESCE(${name}, 1) AS y, ${name} AS z`, [
        { x: i, y: i, z: i },
      ])
      await check(`FROM ${type} GROUP BY ${name} RETURN ${name} AS x`, [{ x: i }])
      await check(`FROM ${type} AS ${name} RETURN 1 AS ${name}`, [{ [word]: 1 }])
      await check(`SELECT ${name} FROM ${type}`, [{ [name]: i }])
      if (name === quoted || !behindValue.includes(word.toUpperCase())) {
        await check(`FROM ${type} RETURN DISTINCT ${name} AS x`, [{ x: i }])
      }
      await check(
        `FROM ${type} WHERE ${name} IS NOT NULL AND ${name} IN (${i}, -1) RETURN CASE WHEN ${name} = ${i} THEN 1 END AS x`,
        [{ x: 1 }],
      )
    }
  }
  return refused
}

wordsTest('each word is the name of a class', async (db) => {
  const classes = [...new Set(words.map((word) => word.toUpperCase()))]
  await db.rows(`UPDATE SCHEMA { ${classes.map((word) => `CREATE CLASS W.${word} {n: Integer}`).join(' ')} }`)
  const refused: string[] = []
  for (const [i, word] of classes.entries()) {
    const names = [word, `\`${word}\``, `W.${word}`]
    for (const name of areAllTried ? names : [word, names[1 + (i % 2)] as string]) {
      for (const text of [
        `CREATE ${name} {n: 1}; FROM ${name} WHERE n = 1 RETURN n`,
        // `FROM ONLY t` is the class t without its subclasses.
        `FROM ${name} ${name === 'ONLY' ? 'AS t' : 't'} WHERE t.n = 1 RETURN t.n AS n`,
        `SELECT n FROM ${name} WHERE n = 1`,
        `MATCH (v:${name} {n: 1}) RETURN v.n AS n`,
        `UPDATE ${name} WHERE n = 1 SET n TO 1 RETURN n`,
        `DELETE ${name} WHERE n = 1 RETURN n`,
      ]) {
        const rows = await db.rows(text).catch((error: Error) => error.message.slice(0, 200))
        if (JSON.stringify(rows) !== '[{"n":1}]') refused.push(`${text}: ${JSON.stringify(rows)}`)
      }
    }
  }
  expect(refused).toEqual([])
})
