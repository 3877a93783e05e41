/** EXISTS of a statement: one link or entry where the predicate is the access path, and no object (docs/query-language.md, Statements within statements). */
import { describe, expect, it } from 'vitest'
import { rowValues } from '../../row-texts.ts'
import { isOnPostgres } from '../../store/store-of-run.ts'
import { openQueryDatabase, queryTest } from '../query-database.ts'

const setUp = [
  `UPDATE SCHEMA {
     CREATE CLASS Person {id: Integer, city: String, posts: List{Element: Reference{Referenced: Post, Inverse: author}},
       liked: List{Element: Reference{Referenced: Post}}}
     CREATE CLASS Post {id: Integer, topic: String, likes: Integer, author: Reference{Referenced: Person, Inverse: posts},
       by: Reference{Referenced: Person}}
     CREATE CLASS Reply SUPERCLASS Post {depth: Integer}
   }`,
  "LET a = CREATE Person {id: 1, city: 'a'}; CREATE Person {id: 2, city: 'b'}; CREATE Person {id: 3, city: 'c', liked: LIST{CREATE Post {id: 900}}}",
  `FOR EACH i IN $all => (CREATE Post {id: $i, likes: $i % 50, topic: 'a', author: (LOOKUP Person WHERE id = 1), by: (LOOKUP Person WHERE id = 1)})`,
  "CREATE Reply {id: 800, topic: 'long long long long long long long long', author: (LOOKUP Person WHERE id = 2)}; DELETE Post WHERE id = 900",
]
const all = Array.from({ length: 300 }, (_, i) => i)

const indexes =
  'CREATE INDEX byTopic ON Post (topic, likes); CREATE INDEX byBy ON Post (by, likes); CREATE INDEX byCity ON Person (city)'

/** Which persons have one, and how many links or entries and objects it takes for the one with most. */
const asked: readonly (readonly [exists: string, ids: readonly number[], entries: number])[] = [
  ['EXISTS(FROM Post o WHERE o.author = p)', [1, 2], 1],
  ['EXISTS(FROM Post o WHERE o.author = p RETURN o.id)', [1, 2], 1],
  ['EXISTS(FROM Post o WHERE o.by = p)', [1], 1],
  ['EXISTS(FROM Post o WHERE o.topic = p.city)', [1], 1],
  ['EXISTS(FROM Post o WHERE o.topic = p.city AND o.likes > 40)', [1], 1],
  ['EXISTS(FROM Post o WHERE o.by = p AND o.likes >= 49)', [1], 1],
]

/** Of the accesses of statements within, not of the person's. */
function examinedBy(part: unknown): unknown[] {
  if (typeof part !== 'object' || part === null) return []
  const { operator, examined } = part as { readonly operator?: unknown; readonly examined?: unknown }
  const below = Object.entries(part).flatMap(([name, value]) => (name === 'candidates' ? [] : examinedBy(value)))
  return operator === 'reverseNavigation' || operator === 'indexOnlyScan' ? [examined, ...below] : below
}

/** Where more has to be read. */
const others: readonly (readonly [exists: string, ids: readonly number[]])[] = [
  ['EXISTS(FROM ONLY Post o WHERE o.author = p)', [1]],
  ['EXISTS(FROM Reply o WHERE o.author = p)', [2]],
  ['EXISTS(FROM Post o WHERE o.author = p AND o.likes = 49)', [1]],
  ['EXISTS(FROM Post o WHERE o.author = p AND o.likes > 49)', []],
  ['EXISTS(FROM Post o WHERE o.author = p SKIP 299)', [1]],
  ['EXISTS(FROM Post o WHERE o.author = p SKIP 300)', []],
  ['EXISTS(FROM Post o WHERE o.author = p ORDER BY o.id DESC TAKE 1)', [1, 2]],
  ['EXISTS(FROM Post o WHERE o.author = p TAKE 0)', []],
  ['EXISTS(FROM Post o WHERE o.author = p SKIP WHILE o.id < 299)', [1, 2]],
  ['EXISTS(FROM Post o WHERE o.author = p RETURN COUNT())', [1, 2, 3]],
  ['EXISTS(FROM Post o WHERE o.author = p GROUP BY o.likes HAVING COUNT() > 5)', [1]],
  ['EXISTS(FROM Post o WHERE o.author = p RETURN DISTINCT o.likes SKIP 49)', [1]],
  ['EXISTS(FROM p.posts o)', [1, 2]],
  ['EXISTS(FROM p.posts)', [1, 2]],
  ['EXISTS(FROM p.posts o WHERE o.likes = 7)', [1]],
  ['EXISTS(FROM p.posts o SKIP 1)', [1]],
  ['EXISTS(FROM p.posts o RETURN COUNT())', [1, 2, 3]],
  // What it refers to is gone.
  ['EXISTS(FROM p.liked o)', []],
  ['EXISTS(p.liked)', [3]],
  ["EXISTS(FROM Post o WHERE o.topic = 'long long long long long long long long' AND o.author = p)", [2]],
]

describe('EXISTS of a statement', () => {
  queryTest('has the rows that there are', setUp.slice(0, 2), async (db) => {
    for (const text of setUp.slice(2)) await db.rows(text, { all })
    for (const index of ['', indexes]) {
      if (index !== '') await db.rows(index)
      for (const [exists, ids] of [...asked, ...others]) {
        const found = async (where: string): Promise<unknown[]> => {
          return (await db.rows(`FROM Person p WHERE ${where} ORDER BY id RETURN id`)).map(({ id }) => id)
        }
        expect({ exists, ids: await found(exists) }).toEqual({ exists, ids })
        const rest = [1, 2, 3].filter((id) => !ids.includes(id))
        expect({ exists, none: await found(`NOT ${exists}`) }).toEqual({ exists, none: rest })
      }
      expect(await db.rows('MATCH (p:Person) WHERE EXISTS(FROM p.posts) ORDER BY p.id RETURN p.id AS id')).toEqual([
        { id: 1 },
        { id: 2 },
      ])
    }
  })

  // On PostgreSQL, a batch of links is one trip as one link is, so that more of them are read.
  it.skipIf(isOnPostgres)(
    'reads one link or entry, and no object, where the predicate is the access path',
    async () => {
      const { db, close } = await openQueryDatabase(setUp.slice(0, 2))
      for (const text of setUp.slice(2)) await db.rows(text, { all })
      await db.rows(indexes)
      const work = async (exists: string): Promise<Record<string, unknown>> => {
        const plan = await db.analyze(`FROM Person p WHERE ${exists} AND p.city = 'a' RETURN p.id`)
        const { objectsRead, linksRead } = plan
        return { exists, objectsRead, linksRead, examined: examinedBy(plan) }
      }
      for (const [exists, , entries] of asked) {
        // The object of the person is read.
        expect(await work(exists)).toMatchObject({ exists, objectsRead: 1, examined: [entries] })
        expect(await work(`NOT ${exists}`)).toMatchObject({ objectsRead: 1, examined: [entries] })
      }
      expect(await work('EXISTS(FROM p.posts o)')).toMatchObject({ objectsRead: 1, linksRead: 1 })
      expect(await work('NOT EXISTS(FROM p.posts)')).toMatchObject({ objectsRead: 1, linksRead: 1 })
      await close()
    },
  )

  it('finds nothing that the caller does not see', async () => {
    const { db, close } = await openQueryDatabase(setUp.slice(0, 2))
    for (const text of setUp.slice(2)) await db.rows(text, { all: [1, 2, 3] })
    await db.rows(indexes)
    const sees = (className: string, read?: string): object => ({
      on: { kind: 'class', className },
      actions: ['read', 'query'],
      ...(read === undefined ? {} : { rules: { read } }),
    })
    const user = { name: 'bob', roles: [], claims: {} }
    const bob = db.fd.as({ user, grants: [sees('Person'), sees('Post', 'likes = 2')] as never })
    const found = async (exists: string): Promise<unknown[]> => {
      const rows = await rowValues(await bob.query({ text: `FROM Person p WHERE ${exists} ORDER BY id RETURN id` }))
      return rows.map((row) => (row as { readonly id: unknown }).id)
    }
    for (const exists of [
      'EXISTS(FROM Post o WHERE o.author = p)',
      'EXISTS(FROM p.posts o)',
      'EXISTS(FROM Post o WHERE o.by = p)',
      'EXISTS(FROM Post o WHERE o.topic = p.city)',
    ]) {
      expect({ exists, found: await found(exists) }).toEqual({ exists, found: [1] })
    }
    await close()
  })
})
