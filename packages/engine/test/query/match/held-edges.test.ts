/** The memory that searches through a graph take, as it is charged (docs/contract.md, 1.5.14). */
import { describe, expect } from 'vitest'
import { queryTest } from '../query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Node {n: Integer, s: String, to: List{Element: Reference{Referenced: Node}}, hub: Reference{Referenced: Node}} }`
const limits = { statementBytesMax: 2 ** 18, statementDiskBytesMax: 0, walkEdgesMax: 64 }
/** Of a text of 20,000 characters, the records of so many objects are more than a statement may hold. */
const tooMany = 30
const refused = /more than 262144 bytes \(statementBytesMax\)/
const searches = ['ANY', 'ALL SHORTEST']

describe('the objects of a breadth-first search', () => {
  queryTest(
    'are let go of when the edges at them were followed',
    [schema],
    async (db) => {
      let next: string | undefined
      for (let n = tooMany; n >= 0; n--) {
        const attributes = { n, s: 'x'.repeat(20_000), to: next === undefined ? [] : [next] }
        next = (await db.fd.createObjects([{ class: 'Node', attributes }]))[0] as string
      }
      for (const search of searches) {
        const text = `MATCH w = ${search} (a:Node {n = 0})-[:to*1..${tooMany}]->(b:Node {n = ${tooMany}}) RETURN LENGTH(w) AS n, w[5].fromClass AS c, w[5].toClass AS d`
        expect(await db.rows(text)).toEqual([{ n: tooMany, c: 'Node', d: 'Node' }])
      }
    },
    { limits },
  )

  queryTest(
    'are charged until then',
    [schema],
    async (db) => {
      const leaf = { class: 'Node', attributes: { n: 1, s: 'x'.repeat(20_000) } }
      const leaves = await db.fd.createObjects(Array.from({ length: tooMany }, () => leaf))
      await db.fd.createObjects([{ class: 'Node', attributes: { n: 0, to: leaves } }])
      for (const search of searches) {
        const text = `MATCH w = ${search} (a:Node {n = 0})-[:to*1..2]->(b:Node) RETURN LENGTH(w) AS n`
        expect((await db.failure(text)).message).toMatch(refused)
      }
    },
    { limits },
  )
})

describe('the edges at an object', () => {
  queryTest(
    'are charged where an index finds them',
    [schema, 'CREATE INDEX byHub ON Node (hub)'],
    async (db) => {
      const [hub] = await db.fd.createObjects([{ class: 'Node', attributes: { n: 0 } }])
      await db.fd.createObjects(Array.from({ length: 5_000 }, () => ({ class: 'Node', attributes: { n: 1, hub } })))
      for (const edges of ['', '*1..2']) {
        const text = `MATCH (a:Node {n = 0})<-[:hub${edges}]-(b:Node) RETURN COUNT() AS n`
        expect((await db.failure(text)).message).toMatch(refused)
      }
      expect(await db.rows('FROM Node RETURN COUNT() AS n')).toEqual([{ n: 5_001 }])
    },
    { limits },
  )
})
