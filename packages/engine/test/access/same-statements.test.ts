/** What the statements of a restricted caller do is what they would do for everybody in a database in which there is nothing to hide (contract 9.4). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AccessPolicy } from '../../src/access/access-policy.ts'
import type { CallerDatabase } from '../../src/caller-operations.ts'
import type { Database } from '../../src/database-operations.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { copyStore } from '../../src/storage/copy-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { runs } from '../bytes/property-runs.ts'
import { rowValues } from '../row-texts.ts'
import { isOnPostgres, openStoreOfRun } from '../store/store-of-run.ts'
import { sometimesLater } from '../store/wrappers/sometimes-later.ts'
import { everyAction } from './access-notes.ts'
import { answerOf, everything, fill, policy, withoutWhatIsHidden, world } from './access-world.ts'
import { hiddenOf, type Row } from './changes-world.ts'
import { mayTipsHide } from './list-model.ts'
import { statement } from './random-change.ts'
import { query } from './random-query.ts'

/** Changes all that it sees. */
const changing = (policy: AccessPolicy): AccessPolicy => ({
  ...policy,
  grants: policy.grants.map((grant) => ({ ...grant, actions: everyAction })),
})

async function oidsOf(database: Database): Promise<Set<string>> {
  const rows = await rowValues(await database.query({ text: 'FROM ooObj RETURN $$ID AS id' }))
  return new Set(rows.map((row) => (row as { id: string }).id))
}

async function objectsOf(database: Database, oids: Iterable<string>): Promise<Map<string, Row>> {
  const objects = new Map<string, Row>()
  for (const oid of oids) objects.set(oid, JSON.parse((await database.readObject(oid)).toString()) as Row)
  return objects
}

const oidForm = /^\d+-\d+-\d+-\d+$/

/** With the names of the objects that are compared, in the place of their OIDs, and without those of others. */
function comparable(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return oidForm.test(value) ? names.get(value) : value
  if (Array.isArray(value)) return value.map((one) => comparable(one, names)).filter((one) => one !== undefined)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, one]) => [comparable(key, names), comparable(one, names)])
  return Object.fromEntries(entries.filter(([key, one]) => key !== undefined && one !== undefined))
}

interface Answer {
  readonly type?: string
}

/** Counted, so that it shows where nothing is compared any more. */
const seen = { done: 0, refused: 0, failed: 0 }

async function check(fd: FederatedDatabase, policy: AccessPolicy, text: string): Promise<void> {
  const own = fd.as(policy)
  const all = await oidsOf(fd)
  const before = await oidsOf(own)
  const copy = await withoutWhatIsHidden(fd, [...all], policy)
  const other = copy.as(everything(policy.user))
  const stored = await objectsOf(fd, all)
  const answer = await answerOf(own, text)
  const { type } = answer as Answer
  if (type === 'Forbidden') {
    seen.refused++
    // Something hidden would have been replaced or taken, or have come to another element.
    expect(before.size < all.size || (text.includes('tips') && mayTipsHide(policy))).toBe(true)
  } else {
    const expected = await answerOf(other, text)
    if (type !== undefined || (expected as Answer).type !== undefined) {
      seen.failed++
      expect({ text, answer }).toEqual({ text, answer: expected })
    } else await compare(fd, { own, other, before, all, text })
  }
  if (type !== undefined) expect(await objectsOf(fd, await oidsOf(fd))).toEqual(stored)
  else await checkHidden(fd, policy, before, stored, text)
  await copy.close()
}

/** What the caller does not see is what it was: of objects that it sees, and of all that it does not see. */
async function checkHidden(
  fd: FederatedDatabase,
  policy: AccessPolicy,
  visible: ReadonlySet<string>,
  stored: ReadonlyMap<string, Row>,
  text: string,
): Promise<void> {
  const left = await oidsOf(fd)
  for (const oid of stored.keys()) if (!visible.has(oid)) expect(left).toContain(oid)
  // Links to what is deleted end.
  if (text.includes('DELETE')) return
  const made = new Set([...visible, ...[...left].filter((oid) => !stored.has(oid))])
  const now = await objectsOf(fd, stored.keys())
  for (const [oid, object] of stored) {
    const [was, is] = [
      hiddenOf(object, made, policy, undefined),
      hiddenOf(now.get(oid) as Row, made, policy, undefined),
    ]
    // With an element goes what is hidden within it.
    if (text.includes('tips')) for (const each of [was, is]) delete each.tips
    expect({ text, oid, hidden: is }).toEqual({ text, oid, hidden: was })
  }
}

interface Compared {
  readonly own: Database
  readonly other: Database
  /** What the caller saw before the change. */
  readonly before: ReadonlySet<string>
  /** What there was. */
  readonly all: ReadonlySet<string>
  readonly text: string
}

/** As far as the caller sees it before and after: by the change it may have come to see more, or less. */
async function compare(fd: FederatedDatabase, { own, other, before, all, text }: Compared): Promise<void> {
  seen.done++
  const [stored, after, copied] = [await oidsOf(fd), await oidsOf(own), await oidsOf(other)]
  expect({ text, left: [...copied].filter((oid) => all.has(oid)) }).toEqual({
    text,
    left: [...before].filter((oid) => stored.has(oid)),
  })
  const [made, madeThere] = [stored, copied].map((oids) => [...oids].filter((oid) => !all.has(oid))) as [
    string[],
    string[],
  ]
  expect({ text, made: made.length }).toEqual({ text, made: madeThere.length })
  const pairs = [
    ...[...before].filter((oid) => after.has(oid)).map((oid) => [oid, oid] as const),
    ...made.map((oid, i) => [oid, madeThere[i] as string] as const).filter(([oid]) => after.has(oid)),
  ]
  const names = new Map(pairs.map(([oid], i) => [oid, `object ${i}`]))
  const namesThere = new Map(pairs.map(([, oid], i) => [oid, `object ${i}`]))
  const [mine, others] = [await objectsOf(own, names.keys()), await objectsOf(other, namesThere.keys())]
  for (const [oid, there] of pairs) {
    const object = comparable(mine.get(oid), names)
    expect({ text, oid, object }).toEqual({ text, oid, object: comparable(others.get(there), namesThere) })
  }
}

describe('the statements of a restricted caller that changes all that it sees', () => {
  const kinds: [string, (store: Store) => Store][] = [
    ['', (store) => store],
    [' (in a store that answers later)', (store) => sometimesLater(store, 7)],
  ]
  for (const [suffix, wrap] of isOnPostgres ? kinds.slice(0, 1) : kinds) {
    it(`do what they would do if what is hidden were not there${suffix}`, async () => {
      const cases = fc.array(fc.tuple(policy, statement), { minLength: 8, maxLength: 12, size: 'max' })
      await fc.assert(
        fc.asyncProperty(world, cases, async (made, all) => {
          const { fd } = await fill(await openStoreOfRun(), { ...made, indexes: [] })
          for (const [each, text] of all) {
            // Each begins with what there was: what is deleted leaves references to nothing.
            const store = wrap(await openMemoryStore())
            await copyStore(fd.store, store)
            const changed = await FederatedDatabase.open({ alias: 'changed', store })
            await check(changed, changing(each), text)
            await changed.close()
          }
          await fd.close()
        }),
        runs(isOnPostgres ? 2 : 8),
      )
      expect(seen.done).toBeGreaterThan(seen.refused)
    })
  }

  it('show to the later steps of a transaction what they show after it', async () => {
    const texts = fc.array(statement, { minLength: 2, maxLength: 4 })
    const queries = fc.array(query, { minLength: 4, maxLength: 8, size: 'max' })
    await fc.assert(
      fc.asyncProperty(world, policy, texts, queries, async (made, given, changes, asked) => {
        const { fd } = await fill(await openStoreOfRun(), made)
        const own = fd.as(changing(given))
        const within = await answersWithin(own, changes, asked)
        for (const [i, text] of asked.entries()) {
          expect({ text, answer: within[i] }).toEqual({ text, answer: await answerOf(own, text) })
        }
        await fd.close()
      }),
      runs(isOnPostgres ? 3 : 15),
    )
  })
})

/** What is refused is left out, as by whoever asks for a reply to each operation. */
async function answersWithin(
  own: CallerDatabase,
  changes: readonly string[],
  asked: readonly string[],
): Promise<unknown[]> {
  const done = new Set<number>()
  return own.transaction(async (step, isRehearsal) => {
    for (const [i, text] of changes.entries()) {
      if (!isRehearsal && !done.has(i)) continue
      const answer = await answerOf(step(i + 1), text)
      if (isRehearsal && (answer as Answer).type === undefined) done.add(i)
    }
    const answers: unknown[] = []
    if (!isRehearsal)
      for (const [i, text] of asked.entries()) answers.push(await answerOf(step(changes.length + i + 1), text))
    return answers
  }, true)
}
