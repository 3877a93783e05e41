/** What a restricted caller is answered is what everybody would be by a database in which there is nothing to hide (contract 9.4). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Database } from '../../src/database-operations.ts'
import type { Store } from '../../src/store/store.ts'
import { runs } from '../bytes/property-runs.ts'
import { isOnPostgres, openStoreOfRun } from '../store/store-of-run.ts'
import { sometimesLater } from '../store/wrappers/sometimes-later.ts'
import { answerOf, everything, fill, policy, withoutWhatIsHidden, world } from './access-world.ts'
import { query } from './random-query.ts'

async function compare(own: Database, other: Database, texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    const expected = withoutShapes(await answerOf(other, text))
    expect({ text, answer: withoutShapes(await answerOf(own, text)) }).toEqual({ text, answer: expected })
  }
}

/** What was dropped in truth left shapes behind. */
function withoutShapes(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer).replace(/\\"shapeNumber\\":\\"\d+\\"/g, ''))
}

async function objectOf(database: Database, oid: string): Promise<string> {
  try {
    return (await database.readObject(oid)).toString()
  } catch (error) {
    return `${(error as Error).message}`
  }
}

describe('a restricted caller is answered as if what is hidden were not there', () => {
  const kinds: [string, (store: Store) => Store][] = [
    ['', (store) => store],
    [' (from a store that answers later)', (store) => sometimesLater(store, 7)],
  ]
  for (const [suffix, wrap] of isOnPostgres ? kinds.slice(0, 1) : kinds) {
    it(`for random objects, callers and queries${suffix}`, async () => {
      const queries = fc.array(query, { minLength: 12, maxLength: 20, size: 'max' })
      await fc.assert(
        fc.asyncProperty(
          world,
          fc.array(policy, { minLength: 2, maxLength: 3 }),
          queries,
          async (made, policies, texts) => {
            const { fd, oids } = await fill(wrap(await openStoreOfRun()), made)
            for (const each of policies) {
              const copy = await withoutWhatIsHidden(fd, oids, each)
              const [own, other] = [fd.as(each), copy.as(everything(each.user))]
              for (const oid of oids) {
                expect(await objectOf(own, oid), oid).toBe(await objectOf(other, oid))
              }
              await compare(own, other, texts)
              await copy.close()
            }
            await fd.close()
          },
        ),
        runs(isOnPostgres ? 4 : 12),
      )
    })
  }
})
