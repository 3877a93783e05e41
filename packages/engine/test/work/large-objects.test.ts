/** Objects are read few at a time where they are large: what they take in memory is known only once they are read. */
import { expect, it, vi } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { SnapshotReader } from '../../src/query/execute/snapshot-reader.ts'
import { StatementContext } from '../../src/query/execute/statement-context.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Bytes, KeyRange, ReadAnswer, ScanOptions, Snapshot, Store } from '../../src/store/store.ts'
import { classOf, index } from '../engine/open-fd.ts'

const count = 100
const textBytes = 2 ** 17
/** A first part whose sizes nobody knows, or what parts take, and what is kept of those before. */
const bytesMax = 40 * textBytes

/** The most bytes of records that one read, or a batch of a scan, gives: everything that it gives is in memory at the same time. */
function watched(store: Store): { readonly store: Store; longest: number; commits: number } {
  const seen = { longest: 0, commits: 0, store }
  const note = (all: readonly (Bytes | undefined)[]): void => {
    seen.longest = Math.max(
      seen.longest,
      all.reduce((sum, one) => sum + (one?.length ?? 0), 0),
    )
  }
  const noteAnswer = (answer: ReadAnswer): ReadAnswer => {
    note([...answer.values, ...answer.ranges.flat().map(({ value }) => value)])
    return answer
  }
  const ofSnapshot = (snapshot: Snapshot): Snapshot =>
    new Proxy(snapshot, {
      get(target, name) {
        const found = Reflect.get(target, name, target) as unknown
        if (name === 'scan') return (...given: Parameters<Snapshot['scan']>) => watchedScan(target, note, ...given)
        if (name !== 'read') return typeof found === 'function' ? found.bind(target) : found
        return (...given: Parameters<Snapshot['read']>) => {
          const answer = target.read(...given)
          return answer instanceof Promise ? answer.then(noteAnswer) : noteAnswer(answer)
        }
      },
    })
  seen.store = new Proxy(store, {
    get(target, name) {
      const found = Reflect.get(target, name, target) as unknown
      if (name === 'commit') seen.commits++
      if (name !== 'snapshot') return typeof found === 'function' ? found.bind(target) : found
      return (...given: Parameters<Store['snapshot']>) => {
        const snapshot = target.snapshot(...given)
        return snapshot instanceof Promise ? snapshot.then(ofSnapshot) : ofSnapshot(snapshot)
      }
    },
  })
  return seen
}

async function* watchedScan(
  snapshot: Snapshot,
  note: (all: readonly Bytes[]) => void,
  range: KeyRange,
  use: (key: Bytes, value: Bytes) => unknown,
  options?: ScanOptions,
): AsyncGenerator<unknown[]> {
  let borrowed: Bytes[] = []
  const noted = (key: Bytes, value: Bytes): unknown => {
    borrowed.push(value)
    return use(key, value)
  }
  for await (const batch of snapshot.scan(range, noted, options)) {
    note(borrowed)
    borrowed = []
    yield batch
  }
}

it('an index build, a check, an upgrade, queries and changes hold some large objects at a time, not all', async () => {
  const seen = watched(await openStore('memory:'))
  const fd = await FederatedDatabase.open({ alias: 'test', store: seen.store })
  await fd.defineClasses([classOf('Text', { n: 'integer', body: 'string' })], 'create')
  await fd.createIndex(index('byNumber', 'Text', false, 'n'))
  const body = 'x'.repeat(textBytes)
  for (let n = 0; n < count; n++) await fd.createObject('Text', { n, body })
  const query = async (text: string): Promise<number> => {
    let bytes = 0
    for await (const chunk of (await fd.query({ text })).chunks) bytes += chunk.bytes.length
    return bytes
  }
  const works: Record<string, () => Promise<unknown>> = {
    'index build': () => fd.createIndex(index('byBody', 'Text', false, 'body')),
    'index build in a batch': () =>
      fd.transaction((step) => step(1).createIndex(index('inBatch', 'Text', false, 'body')), false),
    upgrade: () => fd.upgradeObjects(),
    'objects by an index': () => query("FROM Text WHERE n >= 0 AND body != '' RETURN n"),
    'objects in the order of an index': () => query('FROM Text ORDER BY n RETURN n'),
    verify: () => fd.verify(),
    change: () => query('UPDATE Text SET n TO n + 1 RETURN COUNT()'),
  }
  for (const [name, work] of Object.entries(works)) {
    seen.longest = 0
    await work()
    expect([name, seen.longest < bytesMax]).toEqual([name, true])
  }
  // Its keys are all that an index build holds, so that the size of objects does not make commits of it.
  seen.commits = 0
  await fd.createIndex(index('byBoth', 'Text', false, 'n', 'body'))
  expect(seen.commits).toBeLessThanOrEqual(4)
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
})

it('a walk to many large objects hands on some at a time', async () => {
  const seen = watched(await openStore('memory:'))
  const fd = await FederatedDatabase.open({ alias: 'test', store: seen.store })
  const texts = { logicalType: 'list', elementSpecification: { logicalType: 'reference', referencedClass: 'Text' } }
  await fd.defineClasses([classOf('Text', { n: 'integer', body: 'string', texts })], 'create')
  const body = 'x'.repeat(textBytes)
  const oids: string[] = []
  for (let n = 1; n <= count; n++) oids.push(await fd.createObject('Text', { n, body }))
  await fd.createObject('Text', { n: 0, texts: oids })
  let [read, most] = [0, 0]
  const { object } = SnapshotReader.prototype
  vi.spyOn(SnapshotReader.prototype, 'object').mockImplementation(function (this: SnapshotReader, oid) {
    const view = object.call(this, oid)
    read += view.record.length
    most = Math.max(most, read)
    return view
  })
  const { yieldIfDue } = StatementContext.prototype
  vi.spyOn(StatementContext.prototype, 'yieldIfDue').mockImplementation(function (this: StatementContext) {
    read = 0
    return yieldIfDue.call(this)
  })
  const { chunks } = await fd.query({ text: 'MATCH (h:Text {n: 0})-[e:texts]->(t:Text) RETURN t.n, e' })
  for await (const _ of chunks);
  vi.restoreAllMocks()
  expect(most).toBeGreaterThan(textBytes)
  expect(most).toBeLessThan(bytesMax)
  await fd.close()
})
