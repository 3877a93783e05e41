/** Nodes of a real Citus are killed in the middle of commits: each commit is made once, and shown whole once it is acknowledged. */
import { randomBytes } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { assert } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Bytes, Store } from '../../src/store/store.ts'
import { type CitusNodes, canKillCitusNodes, citusNodes } from './citus-nodes.ts'

let nodes: CitusNodes
/** Each commit waits so long before it is durable on the nodes that are told so: time to kill somebody. */
const commitDelay =
  'ALTER SYSTEM SET commit_delay = 100000; ALTER SYSTEM SET commit_siblings = 0; SELECT pg_reload_conf()'
const noCommitDelay = 'ALTER SYSTEM RESET commit_delay; ALTER SYSTEM RESET commit_siblings; SELECT pg_reload_conf()'

/** Of 32 shards on three nodes, each is met sooner; looking for one that is not there takes longer than a test may. */
const containersSearchedMax = 500

/** The key of an object in a container; containers are placements. */
function keyIn(container: number): Buffer {
  const key = Buffer.from([0x03, 0, 3, 0, 0, 0, 0, 0, 1])
  key.writeUInt16BE(container, 3)
  return key
}
const placementOfContainer = (container: number): number => 3 * 32_768 + container

async function valuesOf(
  store: Store,
  keys: readonly Bytes[],
  isolation: 'readOnly' | 'consistent' = 'readOnly',
): Promise<string[]> {
  const snapshot = await store.snapshot({ isolation })
  try {
    const { values } = await snapshot.read(keys)
    return values.map((value) => Buffer.from(value ?? []).toString())
  } finally {
    snapshot.release()
  }
}

interface Scene {
  readonly store: Store
  readonly address: string
  readonly schema: string
  readonly warnings: string[]
  /** Keys of the first containers that the given nodes have, by node. */
  keysOn(...wanted: number[]): Promise<Buffer[]>
  commit(keys: readonly Buffer[], from: number): Promise<unknown>
}

const stores: Store[] = []
async function scene(): Promise<Scene> {
  const schema = `test_${randomBytes(6).toString('hex')}`
  const address = `${await nodes.freshAddress(schema)}&patienceMs=30000`
  const warnings: string[] = []
  const store = await openStore(address, { warn: (message) => warnings.push(message) })
  stores.push(store)
  return {
    store,
    address,
    schema,
    warnings,
    async keysOn(...wanted) {
      const keys: Buffer[] = []
      for (let container = 3; keys.length < wanted.length; container++) {
        assert(
          container <= containersSearchedMax,
          `the nodes ${wanted.join(' and ')} have placements: tables of others decide where`,
        )
        const node = await nodes.nodeOf(schema, placementOfContainer(container))
        if (node === wanted[keys.length]) keys.push(keyIn(container))
      }
      return keys
    },
    commit(keys, from) {
      return store.commit({
        changes: keys.map((key) => ({ kind: 'put', key, value: Buffer.from(`${from + 1};`) })),
        preconditions: keys.map((key) => ({ kind: 'revision', key, prefix: Buffer.from(`${from};`) })),
      })
    },
  }
}

async function until(node: number, sql: string): Promise<void> {
  for (;;) {
    const [row] = await nodes.on(node, sql)
    if (row !== undefined && Object.values(row)[0] === true) return
  }
}
const isPrepared = `SELECT count(*) > 0 FROM pg_prepared_xacts WHERE gid LIKE 'citus%'`
const isCommitting = `SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'COMMIT%' AND state = 'active'`

describe.skipIf(!canKillCitusNodes)('Citus, when nodes are killed in the middle of a commit', () => {
  beforeAll(async () => {
    nodes = await citusNodes()
  })
  afterEach(async () => {
    for (const node of [0, 1, 2]) for (const sql of noCommitDelay.split('; ')) await nodes.on(node, sql)
    await coordinatorHasShards(false)
    for (const store of stores.splice(0)) await store.close()
    // Citus puts the shards of a new table where those of the tables before it are.
    await nodes.stop()
  })

  async function coordinatorHasShards(hasShards: boolean): Promise<void> {
    const [row] = await nodes.on(0, 'SELECT nodename, nodeport FROM pg_dist_node WHERE groupid = 0')
    await nodes.on(
      0,
      `SELECT citus_set_node_property('${row?.nodename}', ${row?.nodeport}, 'shouldhaveshards', ${hasShards})`,
    )
  }

  async function delayed(node: number): Promise<void> {
    for (const sql of commitDelay.split('; ')) await nodes.on(node, sql)
  }

  it.each([
    ['one placement', [1]],
    ['two placements of one worker', [1, 1]],
    ['placements of both workers', [1, 2]],
    ['several placements of both workers', [2, 1, 2, 1]],
    ['placements of a worker and of the coordinator itself', [1, 0]],
    ['placements of the coordinator itself and of a worker', [0, 1]],
  ])(
    'the coordinator, with %s changed: it is done once',
    async (_what, where) => {
      await coordinatorHasShards(where.includes(0))
      const { keysOn, commit, store, schema } = await scene()
      const keys = await keysOn(...where)
      await store.commit({
        changes: keys.map((key) => ({ kind: 'put', key, value: Buffer.from('0;') })),
        preconditions: [],
      })
      // A change that is on the coordinator alone is not to be seen before it is durable.
      const watched = where.find((node) => node !== 0) ?? 0
      const watchedKey = keys[where.indexOf(watched)]
      const shard = await nodes.on(
        0,
        `SELECT get_shard_id_for_distribution_column('${schema}.kv', ${placementOfContainer(watchedKey?.readUInt16BE(3) ?? 0)}) AS id`,
      )
      const isChanged = (count: number): string =>
        `SELECT (SELECT count(*) > 0 FROM ${schema}.kv_${shard[0]?.id} WHERE value = '${count};') OR (${isPrepared})`
      for (let count = 0; count < 4; count++) {
        await delayed(0)
        const outcome = commit(keys, count)
        await until(watched, isChanged(count + 1))
        await nodes.kill(0)
        await nodes.start(0)
        expect(await outcome).toEqual({ isCommitted: true })
        expect(await valuesOf(store, keys)).toEqual(keys.map(() => `${count + 1};`))
      }
    },
    180_000,
  )

  it('a worker, between the two phases: it is shown whole once it is acknowledged, and always to reads that keep commits out', async () => {
    const { keysOn, commit, store, address } = await scene()
    const keys = await keysOn(1, 2)
    await store.commit({
      changes: keys.map((key) => ({ kind: 'put', key, value: Buffer.from('0;') })),
      preconditions: [],
    })
    const other = await openStore(address)
    stores.push(other)
    for (let count = 0; count < 4; count++) {
      await delayed(0)
      const outcome = commit(keys, count)
      let isDone = false
      const watching = (async () => {
        while (!isDone) expect(new Set(await valuesOf(other, keys, 'consistent')).size).toBe(1)
      })()
      await until(2, isPrepared)
      await nodes.kill(2)
      await nodes.start(2)
      expect(await outcome).toEqual({ isCommitted: true })
      expect(await valuesOf(other, keys)).toEqual(keys.map(() => `${count + 1};`))
      isDone = true
      await watching
    }
  }, 300_000)

  it('a worker, before a change that keeps all others out: nothing is done, and it can be repeated; a server starts', async () => {
    const { address } = await scene()
    const open = async () => {
      const store = await openStore(address.replace('patienceMs=30000', 'patienceMs=500'))
      return FederatedDatabase.open({ alias: 'fd', store })
    }
    const impatient = await open()
    const part = { className: 'Part', isReferenceable: true, attributes: [] }
    await nodes.kill(1)
    await expect(impatient.defineClasses([part], 'create')).rejects.toMatchObject({ type: 'StoreUnavailable' })
    const late = await open()
    expect(await late.listClasses()).toEqual([])
    await nodes.start(1)
    await impatient.defineClasses([part], 'create')
    expect((await late.listClasses()).length).toBe(1)
    for (const one of [impatient, late]) await one.close()
  })

  it('the connection of a change of the catalog: its outcome is found out', async () => {
    const { store, schema } = await scene()
    const fd = await FederatedDatabase.open({ alias: 'fd', store })
    const part = { className: 'Part', isReferenceable: true, attributes: [] }
    await delayed(0)
    const defined = fd.defineClasses([part], 'create')
    const committing = `state <> 'idle' AND query LIKE '%${schema}.commit(%' AND pid <> pg_backend_pid()`
    await until(0, `SELECT count(*) > 0 AS is_so FROM pg_stat_activity WHERE ${committing}`)
    await nodes.on(0, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${committing}`)
    await defined
    expect((await fd.listClasses()).length).toBe(1)
    await fd.close()
  })

  it('the only worker of a commit, before it is durable there: it is done once', async () => {
    const { keysOn, commit, store } = await scene()
    const keys = await keysOn(1)
    await store.commit({
      changes: keys.map((key) => ({ kind: 'put', key, value: Buffer.from('0;') })),
      preconditions: [],
    })
    for (let count = 0; count < 4; count++) {
      await delayed(1)
      const outcome = commit(keys, count)
      await until(1, isCommitting)
      await nodes.kill(1)
      await nodes.start(1)
      expect(await outcome).toEqual({ isCommitted: true })
      expect(await valuesOf(store, keys)).toEqual([`${count + 1};`])
    }
  }, 300_000)
})
