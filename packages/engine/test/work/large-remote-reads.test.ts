/** Reads of large objects of a store that is elsewhere: however many come together, a few hold their records and texts at a time. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { joinKeys, keyRequest } from '../../src/store/postgres/key-requests.ts'
import type { Bytes, Store } from '../../src/store/store.ts'
import { classOf } from '../engine/open-fd.ts'
import { sometimesLater } from '../store/wrappers/sometimes-later.ts'

/** The store, and how many of its snapshots were open together at the most. */
function counted(store: Store): { readonly store: Store; readonly counts: { open: number; most: number } } {
  const counts = { open: 0, most: 0 }
  return {
    counts,
    store: {
      ...store,
      async snapshot(options) {
        const snapshot = await store.snapshot(options)
        counts.most = Math.max(counts.most, ++counts.open)
        const release = snapshot.release.bind(snapshot)
        snapshot.release = () => {
          counts.open--
          release()
        }
        return snapshot
      },
    },
  }
}

it('objects that are known to be large are read a few at a time, and others beside them', async () => {
  const { store, counts } = counted(sometimesLater(await openMemoryStore(), 7))
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await fd.defineClasses([classOf('Long', { text: 'string' })], 'create')
  const text = 'x'.repeat(2 ** 20)
  const [large, small] = await fd.createObjects([
    { class: 'Long', attributes: { text } },
    { class: 'Long', attributes: { text: 'short' } },
  ])
  const read = async (oid = ''): Promise<unknown> =>
    (JSON.parse(String(await fd.readObject(oid))) as { text: unknown }).text
  expect(await read(large)).toBe(text)
  counts.most = 0
  const all = await Promise.all(Array.from({ length: 40 }, () => read(large)))
  expect(all.every((one) => one === text)).toBe(true)
  expect(counts.most).toBeLessThanOrEqual(4)
  counts.most = 0
  await Promise.all(Array.from({ length: 40 }, () => read(small)))
  expect(counts.most).toBeGreaterThan(4)
  await fd.close()
})

/** As PostgreSQL does: what is large is not read early. `counts`: of large values that were on their way together. */
function leavingOut(store: Store): { readonly store: Store; readonly counts: { underWay: number; most: number } } {
  const counts = { underWay: 0, most: 0 }
  return {
    counts,
    store: {
      ...store,
      capabilities: { ...store.capabilities, hasSynchronousReads: false },
      async snapshot(options) {
        const snapshot = await store.snapshot(options)
        const bytesOf = (key: Bytes): number => (snapshot.view(key, ({ length }) => length) as number | undefined) ?? 0
        const isLarge = (key: Bytes): boolean => bytesOf(key) > 2 ** 19
        return {
          view: async (key, use) => {
            if (!isLarge(key)) return snapshot.view(key, use)
            counts.most = Math.max(counts.most, ++counts.underWay)
            await nextTurn()
            counts.underWay--
            return snapshot.view(key, use)
          },
          bytesLeftOut: async (key) => (isLarge(key) ? 2 ** 19 : undefined),
          read: (keys, ranges) => snapshot.read(keys, ranges),
          scan: (range, use, scanOptions) => snapshot.scan(range, use, scanOptions),
          release: () => snapshot.release(),
        }
      },
    },
  }
}

it('different large objects of which nobody has read one are read a few at a time, too', async () => {
  const { store, counts } = leavingOut(await openMemoryStore())
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await fd.defineClasses([classOf('Long', { text: 'string' })], 'create')
  const texts = Array.from({ length: 20 }, (_, i) => String.fromCharCode(97 + i).repeat(2 ** 20))
  const oids: string[] = []
  for (const text of texts) oids.push(...(await fd.createObjects([{ class: 'Long', attributes: { text } }])))
  counts.most = 0
  const read = await Promise.all(
    oids.map(async (oid) => (JSON.parse(String(await fd.readObject(oid))) as { text: unknown }).text),
  )
  expect(read).toEqual(texts)
  expect(counts.most).toBeGreaterThan(0)
  expect(counts.most).toBeLessThanOrEqual(4)
  await fd.close()
})

/** As PostgreSQL with one connection for reads, and others for what is read within them: whatever is not read early needs it, and a snapshot holds it until it is released. */
function ofOneConnection(store: Store): Store {
  let before: Promise<void> = Promise.resolve()
  return {
    ...store,
    capabilities: { ...store.capabilities, hasSynchronousReads: false },
    async snapshot({ prefetchKeys = [], isNested = false } = {}) {
      const snapshot = await store.snapshot()
      let connected: Promise<void> | undefined = isNested ? Promise.resolve() : undefined
      let leave = (): void => undefined
      const connect = (): Promise<void> => {
        connected = before
        before = new Promise((resolve) => {
          leave = resolve
        })
        return connected
      }
      const isLarge = (key: Bytes): boolean => snapshot.view(key, ({ length }) => length > 2 ** 19) === true
      const isEarly = (key: Bytes): boolean => prefetchKeys.some((early) => Buffer.compare(early, key) === 0)
      return {
        async view(key, use) {
          if (!isEarly(key) || isLarge(key)) await (connected ?? connect())
          return snapshot.view(key, use)
        },
        bytesLeftOut: (key) =>
          isEarly(key) && connected === undefined ? Promise.resolve(isLarge(key) ? 2 ** 19 : undefined) : undefined,
        async read(keys, ranges) {
          await (connected ?? connect())
          return snapshot.read(keys, ranges)
        },
        async *scan(range, use, options) {
          await (connected ?? connect())
          yield* snapshot.scan(range, use, options)
        },
        release() {
          snapshot.release()
          leave()
        },
      }
    },
  }
}

it('who holds a connection and reads a large object does not wait for those who wait for a connection', async () => {
  const fd = await FederatedDatabase.open({ alias: 'test', store: ofOneConnection(await openMemoryStore()) })
  await fd.defineClasses([classOf('Long', { text: 'string' })], 'create')
  const made = Array.from({ length: 10 }, (_, i) => ({ class: 'Long', attributes: { text: `${i}`.repeat(2 ** 20) } }))
  const [first = '', ...others] = await fd.createObjects(made)
  const [small = ''] = await fd.createObjects([{ class: 'Long', attributes: { text: 'short' } }])
  let reads: Promise<Buffer[]> = Promise.resolve([])
  const [, large] = await fd.transaction(async (step) => {
    const short = await step(0).readObject(small)
    reads = Promise.all(others.map(async (oid) => fd.readObject(oid)))
    // They wait for the connection by now.
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    return [short, await step(1).readObject(first)]
  }, false)
  expect(large?.length).toBeGreaterThan(2 ** 20)
  expect((await reads).map(({ length }) => length > 2 ** 20)).toEqual(others.map(() => true))
  await fd.close()
})

it('many who ask PostgreSQL for a key together get the same bytes where these are shared, else bytes of their own', async () => {
  const key = Buffer.from('key')
  for (const isShared of [true, false]) {
    const answers: (Bytes | undefined)[] = []
    const answer = { resolve: (values: (Bytes | undefined)[]) => answers.push(...values), reject: () => undefined }
    const joined = joinKeys([keyRequest([key], 0, answer), keyRequest([key], 0, answer)], isShared)
    expect(joined.keys).toEqual([key])
    joined.resolve([Buffer.from('value')])
    const [one, other] = answers
    expect([one, other]).toEqual([Buffer.from('value'), Buffer.from('value')])
    expect(one === other).toBe(isShared)
  }
})
