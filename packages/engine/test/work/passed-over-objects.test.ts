/** Turns that others get while objects are read and passed over, since they are of other classes or are not there. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type OpenQueryDatabase, openQueryDatabase } from '../query/query-database.ts'
import { turnsDuring } from './count-work.ts'

const passedOver = 900

const schema = `UPDATE SCHEMA {
  CREATE CLASS Base {n: Integer, links: List{Element: Reference{Referenced: Base}}}
  CREATE CLASS Wanted SUPERCLASS Base {x: Integer}
  CREATE CLASS Other SUPERCLASS Base {y: Integer}
}`

let open: OpenQueryDatabase
let missing: string[]

beforeAll(async () => {
  open = await openQueryDatabase([schema, 'CREATE INDEX byN ON Base (n)'])
  const { fd, rows } = open.db
  await fd.createObjects(Array.from({ length: 1_000 }, (_, x) => ({ class: 'Wanted', attributes: { n: 5_000, x } })))
  const others = Array.from({ length: passedOver }, (_, n) => ({ class: 'Other', attributes: { n } }))
  const links = await fd.createObjects(others)
  await fd.createObjects([{ class: 'Wanted', attributes: { n: -1, x: -1, links } }])
  missing = await fd.createObjects(others.map(() => ({ class: 'Wanted', attributes: { n: 9_999 } })))
  await rows('DELETE Wanted WHERE n = 9999')
})

afterAll(() => open.close())

const statements = [
  'FROM Wanted WHERE n < $n GROUP BY x RETURN x, COUNT() AS c',
  'FROM Wanted WHERE n < $n ORDER BY x RETURN x',
  'FROM Wanted WHERE $$ID IN $missing ORDER BY x RETURN x',
  'MATCH (a:Wanted {n = $n - 2001})-[:links]->(b:Wanted) RETURN b.n',
  'MATCH (a:Wanted {n = $n - 2001})-[e:links]->(b:Wanted) RETURN b.n',
]

for (const text of statements) {
  it(`others have their turn: ${text}`, async () => {
    const turns = (n: number): Promise<number> => {
      return turnsDuring(async () => {
        await open.db.rows(text, { n, missing: n === 0 ? missing.slice(0, 1) : missing })
      })
    }
    // The first time it is planned as well.
    await turns(0)
    const few = await turns(0)
    expect(await turns(2_000)).toBeGreaterThan(few + 3)
  })
}
