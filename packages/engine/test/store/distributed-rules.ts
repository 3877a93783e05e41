/** A table split by placement over several nodes: commits are exact, reads of one placement are, and all reads where that is asked for. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Bytes, Store } from '../../src/store/store.ts'
import { storeConformance } from './conformance.ts'
import { emptiedSchemas } from './emptied-schemas.ts'

export interface DistributedNodes {
  /** The address of a new store on the coordinator, in a schema of its own, that is not distributed. */
  plainAddress(schema: string): string
  /** The address of a new store, in a schema of its own. */
  freshAddress(schema: string): Promise<string>
  /** How many rows of a store's table each node that may have some has. */
  rows(schema: string): Promise<number[]>
  stop(): Promise<void>
}

const addresses = new WeakMap<Store, string>()

async function openAt(address: string): Promise<Store> {
  const store = await openStore(address)
  addresses.set(store, address)
  return store
}

const freshSchema = (): string => `test_${randomBytes(6).toString('hex')}`

/** The key of an object in a container; containers are placements. */
function keyIn(container: number, nth: number): Buffer {
  const key = Buffer.from([0x03, 0, 3, 0, 0, 0, 0, 0, 0])
  key.writeUInt16BE(container, 3)
  key.writeUInt32BE(nth, 5)
  return key
}

const containers = Array.from({ length: 24 }, (_, i) => 3 + i)
const put = (key: Bytes, value: string) => ({ kind: 'put', key, value: Buffer.from(value) }) as const
const absent = (key: Bytes) => ({ kind: 'absent', key }) as const

/** The promises of every store, and those of a table over several nodes. */
export function distributedRules(
  name: string,
  start: () => Promise<DistributedNodes>,
  { hasLimitsElsewhere = false } = {},
): void {
  let nodes: DistributedNodes
  beforeAll(async () => {
    nodes = await start()
  })
  afterAll(() => nodes?.stop())

  const open = async (schema = freshSchema()): Promise<Store> => openAt(await nodes.freshAddress(schema))

  const emptied = emptiedSchemas(() => nodes.freshAddress(freshSchema()))
  storeConformance(name, { ...emptied, hasLimitsElsewhere, cannotAppend: true })

  describe(name, () => {
    it('have the rows of each placement on one node, and all have some', async () => {
      const schema = freshSchema()
      const store = await open(schema)
      const changes = containers.flatMap((container) => [put(keyIn(container, 1), 'a'), put(keyIn(container, 2), 'b')])
      await store.commit({ changes, preconditions: [] })
      const rows = await nodes.rows(schema)
      expect(rows.every((count) => count > 0 && count % 2 === 0)).toBe(true)
      expect(rows.reduce((sum, count) => sum + count)).toBe(changes.length)
      expect(store.capabilities.hasConsistentSnapshots).toBe(false)
      await store.close()
    })

    it('keep a store whole that is not to be distributed, with its statistics, and say so when it is opened', async () => {
      const warnings: string[] = []
      const address = nodes.plainAddress(freshSchema())
      const store = await openStore(address, { warn: (message) => warnings.push(message) })
      expect(warnings).toEqual([expect.stringContaining('not distributed')])
      await store.commit({ changes: [put(keyIn(3, 1), 'a')], preconditions: [] })
      expect(await store.stats()).toMatchObject({ entries: 1, bytes: expect.any(Number) })
      expect(store.capabilities.hasConsistentSnapshots).toBe(true)
      await store.close()
    })

    it('may be made a store by several at once', async () => {
      const address = `${nodes.plainAddress(freshSchema()).replace('&distribute=no', '')}&distribute=citus`
      const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(address)))
      for (const store of stores) expect(store.capabilities.hasConsistentSnapshots).toBe(false)
      for (const store of stores) await store.close()
    })

    it('are not kept from commits for longer than lockingMs by a read whose client does not go on', async () => {
      const writing = await open()
      const reading = await openAt(`${addresses.get(writing)}&reads=locking&lockingMs=2000`)
      const key = keyIn(3, 1)
      await writing.commit({ changes: [put(key, 'a')], preconditions: [] })
      const snapshot = await reading.snapshot({ isolation: 'readOnly' })
      expect((await snapshot.read([key])).values).toHaveLength(1)
      await writing.commit({ changes: [put(key, 'b')], preconditions: [] })
      await expect(snapshot.read([key])).rejects.toMatchObject({
        type: 'StoreUnavailable',
        message: expect.stringContaining('lockingMs'),
      })
      snapshot.release()
      const next = await reading.snapshot({ isolation: 'readOnly' })
      expect((await next.read([key])).values).toEqual([Buffer.from('b')])
      next.release()
      for (const store of [writing, reading]) await store.close()
    })

    it('get the objects of one class on several of them, since processes, and transactions in turn, write into different containers', async () => {
      const schema = freshSchema()
      const address = await nodes.freshAddress(schema)
      const fds: FederatedDatabase[] = []
      for (let nth = 0; nth < 6; nth++)
        fds.push(await FederatedDatabase.open({ alias: `fd${nth}`, store: await openAt(address) }))
      const [first] = fds
      await first?.defineClasses([{ className: 'Car', isReferenceable: true, attributes: [] }], 'create')
      const containersOf = async (): Promise<string[]> => {
        const oids = await Promise.all(fds.map((fd) => fd.createObject('Car', {})))
        return oids.map((oid) => oid.split('-', 2).join('-'))
      }
      expect(new Set(await containersOf()).size).toBe(fds.length)
      const oids: string[] = []
      for (let nth = 0; nth < 8; nth++) oids.push((await first?.createObject('Car', {})) ?? '')
      const containers = oids.map((oid) => oid.split('-', 2).join('-'))
      expect(new Set(containers).size).toBe(4)
      expect(containers.slice(4)).toEqual(containers.slice(0, 4))
      const together = await first?.createObjects(Array.from({ length: 20 }, () => ({ class: 'Car', attributes: {} })))
      expect(new Set(together?.map((oid) => oid.split('-', 2).join('-'))).size).toBe(1)
      expect((await first?.verify())?.problems).toEqual([])
      for (const fd of fds) await fd.close()
      expect((await nodes.rows(schema)).every((count) => count > 0)).toBe(true)
    })

    it('let no write skew through: of two commits that each expect the other not to be there, one at most is made', async () => {
      const stores = [await open()]
      const address = addresses.get(stores[0] as Store) ?? ''
      stores.push(await openAt(address), await openAt(address))
      const rounds = 150
      let made = 0
      for (let round = 0; round < rounds; round += 30) {
        const pairs = Array.from({ length: 30 }, async (_, i) => {
          const nth = round + i
          const [one, other] = [
            keyIn(containers[nth % 24] as number, nth),
            keyIn(containers[(nth * 7 + 5) % 24] as number, 1e6 + nth),
          ]
          const attempts = [one, other, one, other].map((key, who) => {
            const against = key === one ? other : one
            const store = stores[(nth + who) % stores.length] as Store
            return store.commit({ changes: [put(key, `${who}`)], preconditions: [absent(key), absent(against)] })
          })
          const outcomes = await Promise.all(attempts)
          const winners = outcomes.filter(({ isCommitted }) => isCommitted).length
          expect(winners).toBeLessThanOrEqual(1)
          const snapshot = await (stores[nth % stores.length] as Store).snapshot()
          const { values } = await snapshot.read([one, other])
          snapshot.release()
          expect(values.filter((value) => value !== undefined)).toHaveLength(winners)
          made += winners
        })
        await Promise.all(pairs)
      }
      expect(made).toBeGreaterThan(0)
      for (const store of stores) await store.close()
    })

    it('let of two commits that each change what the other expects to stay, one at most be made', async () => {
      const one = await open()
      const other = await openAt(addresses.get(one) ?? '')
      const pairs = containers.map(
        (container, nth) => [keyIn(container, 1), keyIn(containers[(nth + 7) % 24] as number, 2)] as const,
      )
      for (let round = 0; round < 5; round++) {
        const changes = pairs.flat().map((key) => put(key, `${round} `))
        await one.commit({ changes, preconditions: [] })
        const winners = await Promise.all(
          pairs.map(async ([left, right], nth) => {
            const skewed = async (store: Store, kept: Bytes, changed: Bytes) => {
              const precondition = { kind: 'revision', key: kept, prefix: Buffer.from(`${round} `) } as const
              return store.commit({ changes: [put(changed, 'changed')], preconditions: [precondition] })
            }
            const [first, second] = nth % 2 === 0 ? [one, other] : [other, one]
            const outcomes = await Promise.all([skewed(first, left, right), skewed(second, right, left)])
            return outcomes.filter(({ isCommitted }) => isCommitted).length
          }),
        )
        expect(winners.every((count) => count <= 1)).toBe(true)
        expect(winners.some((count) => count === 1)).toBe(true)
      }
      for (const store of [one, other]) await store.close()
    })

    it('show each placement as of one moment, and all of them in a snapshot that keeps commits out', async () => {
      const writing = await open()
      const address = addresses.get(writing) ?? ''
      const [plain, locking] = [await openAt(address), await openAt(`${address}&reads=locking`)]
      const keys = containers.flatMap((container) => [keyIn(container, 1), keyIn(container, 2)])
      const commit = (count: number) => {
        return writing.commit({ changes: keys.map((key) => put(key, `${count}`)), preconditions: [] })
      }
      await commit(0)
      let isWriting = true
      const writer = (async () => {
        for (let count = 1; isWriting; count++) await commit(count)
        return true
      })()
      const valuesIn = async (store: Store, isolation: 'readOnly' | 'consistent'): Promise<string[]> => {
        const snapshot = await store.snapshot({ isolation })
        const halves = [await snapshot.read(keys.slice(0, 24)), await snapshot.read(keys.slice(24))]
        snapshot.release()
        return halves.flatMap(({ values }) => values.map((value) => Buffer.from(value ?? []).toString()))
      }
      for (let nth = 0; nth < 20; nth++) {
        const torn = await valuesIn(plain, 'readOnly')
        for (let i = 0; i < torn.length; i += 2) expect(torn[i]).toBe(torn[i + 1])
        for (const values of [await valuesIn(locking, 'readOnly'), await valuesIn(plain, 'consistent')])
          expect(new Set(values).size).toBe(1)
      }
      isWriting = false
      expect(await writer).toBe(true)
      for (const store of [writing, plain, locking]) await store.close()
    })
  })
}
