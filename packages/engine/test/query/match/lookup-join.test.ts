/** Lookup joins: the look-up uses what the source asks by itself, as ranges of keys and on the entries, and finds the same rows. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { openQueryDatabase, type Row, type ShownPlan, storeKinds } from '../query-database.ts'

interface Post {
  readonly id: number
  readonly topic: string | null
  readonly likes: number | null
  readonly kind: number
  readonly isOpen: boolean
}

const topics = ['a', 'b', 'c', null]
const posts: readonly Post[] = Array.from({ length: 240 }, (_, id) => ({
  id,
  topic: topics[id % 4] ?? null,
  likes: id % 11 === 0 ? null : (id * 7) % 30,
  kind: id % 5,
  isOpen: id % 3 === 0,
}))

const schema = `UPDATE SCHEMA {
  CREATE CLASS Person {id: Integer, city: String, least: Integer}
  CREATE CLASS Post {id: Integer, topic: String, likes: Integer, kind: Integer, isOpen: Boolean}
}`

function load(): string[] {
  const post = ({ id, topic, likes, kind, isOpen }: Post): string =>
    `CREATE Post {id: ${id}, topic: ${topic === null ? 'null' : `'${topic}'`}, likes: ${likes}, kind: ${kind}, isOpen: ${isOpen}}`
  const people = ["{id: 1, city: 'a', least: 20}", "{id: 2, city: 'd', least: 1}", '{id: 3, city: null, least: 5}']
  return [schema, [...posts.map(post), ...people.map((person) => `CREATE Person ${person}`)].join(';')]
}

/** By their names, which tell the attributes. */
const indexes = [
  'topic,likes',
  'likes,topic',
  'topic,kind,likes',
  'kind,topic,likes',
  'topic',
  'likes',
  'isOpen,topic,kind',
  'topic,isOpen,likes',
]

type Asks = readonly [text: string, holds: (post: Post) => boolean]

const own: readonly Asks[] = [
  ['o.likes > 12', ({ likes }) => likes !== null && likes > 12],
  ['o.likes <= 7', ({ likes }) => likes !== null && likes <= 7],
  ['o.likes = 14', ({ likes }) => likes === 14],
  ['o.likes IS NULL', ({ likes }) => likes === null],
  ['o.likes IN (1, 2, 3, null)', ({ likes }) => likes !== null && [1, 2, 3].includes(likes)],
  ['o.likes NOT IN (1, 2, 3)', ({ likes }) => likes !== null && ![1, 2, 3].includes(likes)],
  ['o.likes NOT IN (1, null)', () => false],
  ['o.likes % 2 = 0', ({ likes }) => likes !== null && likes % 2 === 0],
  ['o.kind = 2', ({ kind }) => kind === 2],
  ['o.kind IN (1, 3)', ({ kind }) => kind === 1 || kind === 3],
  ['(o.kind = 1 OR o.likes = 3)', ({ kind, likes }) => kind === 1 || likes === 3],
  ['o.isOpen', ({ isOpen }) => isOpen],
  ['NOT o.isOpen', ({ isOpen }) => !isOpen],
  ["o.topic = 'a'", ({ topic }) => topic === 'a'],
  ["o.topic >= 'b'", ({ topic }) => topic !== null && topic >= 'b'],
  ["o.topic LIKE 'a%'", ({ topic }) => topic?.startsWith('a') === true],
]

interface Person {
  readonly city: string | null
  readonly least: number
}
type Joins = readonly [text: string, holds: (post: Post, person: Person) => boolean]

const people: readonly Person[] = [
  { city: 'a', least: 20 },
  { city: 'd', least: 1 },
  { city: null, least: 5 },
]

const joins: readonly Joins[] = [
  ['o.topic = p.city', (post, person) => post.topic !== null && post.topic === person.city],
  ['p.least = o.likes', (post, person) => post.likes === person.least],
  [
    'o.topic = p.city AND o.likes > p.least',
    (post, person) =>
      post.topic !== null && post.topic === person.city && post.likes !== null && post.likes > person.least,
  ],
  ['o.likes >= p.least', (post, person) => post.likes !== null && post.likes >= person.least],
]

const asked = fc.record({
  join: fc.constantFrom(...joins),
  conditions: fc.array(fc.constantFrom(...own), { maxLength: 3 }),
  isMatch: fc.boolean(),
})

describe('a lookup join', () => {
  for (const [kind, wrap] of storeKinds.entries()) {
    it(`finds what a naive evaluator finds (${kind})`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.subarray(indexes, { minLength: 1, maxLength: 3 }),
          fc.array(asked, { minLength: 6, maxLength: 12 }),
          async (named, all) => {
            const made = named.map((name, i) => `CREATE INDEX i${i} ON Post (${name})`)
            const { db, close } = await openQueryDatabase([...load(), ...made], {}, wrap)
            for (const { join, conditions, isMatch } of all) {
              const where = [join[0], ...conditions.map(([text]) => text)].join(' AND ')
              const from = isMatch ? 'MATCH (p:Person), (o:Post)' : 'FROM Person p, Post o'
              const text = `${from} WHERE ${where} ORDER BY p.id, o.id RETURN p.id AS p, o.id AS o`
              const expected = people.flatMap((person, at) =>
                posts
                  .filter((post) => join[1](post, person) && conditions.every(([, holds]) => holds(post)))
                  .map(({ id }) => ({ p: at + 1, o: id })),
              )
              expect({ text, named, found: await db.rows(text) }).toEqual({ text, named, found: expected })
            }
            await close()
          },
        ),
        runs(10),
      )
    })
  }

  const lookupOf = (plan: ShownPlan): ShownPlan | undefined => {
    if (plan.operator === 'lookupJoin') return plan
    for (const input of plan.inputs ?? []) {
      const found = lookupOf(input)
      if (found !== undefined) return found
    }
    return undefined
  }
  /** The access of the source that is looked up. */
  const scanOf = (plan: ShownPlan): Row => {
    const below = (node: ShownPlan | undefined): ShownPlan | undefined => {
      if (node === undefined || node.operator === 'indexScan' || node.operator === 'uniqueLookup') return node
      return below(node.inputs?.at(-1))
    }
    return (below(lookupOf(plan)?.inputs?.at(-1)) ?? {}) as Row
  }

  it('reads the entries of the range alone, and only objects that qualify', async () => {
    const { db, close } = await openQueryDatabase([...load(), 'CREATE INDEX ptopic ON Post (topic, likes)'])
    const qualified = posts.filter(({ topic, likes }) => topic === 'a' && likes !== null && likes > 25).length
    for (const from of ['FROM Post o, Person p', 'MATCH (o:Post), (p:Person)']) {
      const text = `${from} WHERE o.topic = p.city AND p.id = 1 AND o.likes > 25 RETURN o.id`
      const { index, conditions, examined, returned } = scanOf(await db.analyze(text))
      expect({ index, conditions, examined, returned }).toEqual({
        index: 'ptopic',
        conditions: ['topic = p.city', 'likes > 25'],
        examined: qualified,
        returned: qualified,
      })
    }
    await close()
  })

  it('checks on the entries what is no range of keys', async () => {
    const { db, close } = await openQueryDatabase([...load(), 'CREATE INDEX ptopic ON Post (topic, kind, likes)'])
    const qualified = posts.filter(({ topic, likes }) => topic === 'a' && likes === 21).length
    const plan = await db.analyze(
      'FROM Post o, Person p WHERE o.topic = p.city AND p.id = 1 AND o.likes = 21 RETURN o.id',
    )
    const { entryFilter, returned } = scanOf(plan)
    expect({ entryFilter, returned, objectsRead: plan.objectsRead }).toMatchObject({
      entryFilter: ['o.likes = 21'],
      returned: qualified,
    })
    await close()
  })

  it('checks the values of IN on the entries, instead of looking up each of them for each row', async () => {
    const { db, close } = await openQueryDatabase([...load(), 'CREATE INDEX ptopic ON Post (topic, likes)'])
    const wanted = [1, 2, 3, 21, ...Array.from({ length: 100 }, (_, i) => 1_000 + i)].join(', ')
    const plan = await db.analyze(
      `FROM Post o, Person p WHERE o.topic = p.city AND p.id = 1 AND o.likes IN (${wanted}) RETURN o.id`,
    )
    const { conditions, entryFilter, examined, returned } = scanOf(plan)
    expect({ conditions, entryFilter, examined, returned }).toEqual({
      conditions: ['topic = p.city'],
      entryFilter: [`o.likes IN (${wanted})`],
      examined: posts.filter(({ topic }) => topic === 'a').length,
      returned: posts.filter(({ topic, likes }) => topic === 'a' && [1, 2, 3, 21].includes(likes ?? 0)).length,
    })
    await close()
  })

  it('uses an index that begins with what the source asks by itself', async () => {
    const { db, close } = await openQueryDatabase([...load(), 'CREATE INDEX pkind ON Post (kind, topic, likes)'])
    const text =
      'FROM Post o, Person p WHERE o.topic = p.city AND p.id = 1 AND o.kind = 2 AND o.likes > p.least RETURN o.id'
    const { index, conditions, examined } = scanOf(await db.analyze(text))
    expect({ index, conditions, examined }).toEqual({
      index: 'pkind',
      conditions: ['kind = 2', 'topic = p.city', 'likes > p.least'],
      examined: posts.filter(({ topic, kind, likes }) => topic === 'a' && kind === 2 && (likes ?? 0) > 20).length,
    })
    await close()
  })
})
