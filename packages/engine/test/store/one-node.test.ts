/** A table that is split by placement on one node: what holds for every store, by the statements that Citus gets. */
import { randomBytes } from 'node:crypto'
import type { QueryConfig } from 'pg'
import { describe, expect, inject, it } from 'vitest'
import { indexRange } from '../../src/indexes/index-key.ts'
import { containerLinksRange, linkRange } from '../../src/records/link-keys.ts'
import { containerExtent, objectKey } from '../../src/records/object-key.ts'
import type { IndexNumber } from '../../src/schema/class-definition.ts'
import { copyStore } from '../../src/storage/copy-store.ts'
import { keyPlacement } from '../../src/storage/key-placement.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { byPlacement, type KeysOfPlacement, readKeysOfPlacement } from '../../src/store/citus/placed-statements.ts'
import { tableOf } from '../../src/store/citus/tables.ts'
import type { Segment } from '../../src/store/key-placement.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { readPage } from '../../src/store/postgres/read-pages.ts'
import type { Oid } from '../../src/types/oid.ts'
import type { AttributeNumber } from '../../src/types/type-spec.ts'
import { storeConformance } from './conformance.ts'
import { runSql } from './database-client.ts'
import { emptiedSchemas } from './emptied-schemas.ts'
import { oneNodeDatabase } from './one-node.ts'
import { seededRandom } from './wrappers/seeded-random.ts'

let database: Promise<string> | undefined

storeConformance('one node', { ...emptiedSchemas(freshAddress), cannotAppend: true })

async function freshAddress(): Promise<string> {
  database ??= oneNodeDatabase(inject('postgres'))
  return `${await database}?schema=test_${randomBytes(6).toString('hex')}&distribute=citus`
}

/** How many partitions a statement reads as it is planned with its parameters. */
async function partitionsRead(address: string, { text, values = [] }: QueryConfig<unknown[]>): Promise<number> {
  const url = new URL(address)
  url.search = ''
  const rows = await runSql(url.href, `EXPLAIN ${text}`, values)
  const plan = rows.map((row) => row['QUERY PLAN'] as string).join('\n')
  return new Set([...plan.matchAll(/ on (kv_\w+)/g)].map(([, table]) => table)).size
}

describe('of a distributed store', () => {
  it('the operator is told when all of its shards are on one node', async () => {
    const address = await oneNodeDatabase(inject('postgres'))
    await runSql(
      address,
      `CREATE TABLE pg_dist_node (groupid int4, isactive bool, noderole text);
       CREATE TABLE pg_dist_shard (logicalrelid regclass, shardid int8);
       CREATE TABLE pg_dist_placement (shardid int8, groupid int4);
       INSERT INTO pg_dist_node VALUES (0, true, 'primary'), (3, false, 'primary'), (4, true, 'secondary')`,
    )
    const warnings = async (): Promise<string[]> => {
      const told: string[] = []
      await (
        await openStore(`${address}?schema=spread&distribute=citus`, { warn: (message) => told.push(message) })
      ).close()
      return told.filter((message) => message.includes('shards'))
    }
    await warnings()
    await runSql(
      address,
      `INSERT INTO pg_dist_shard SELECT rel::regclass, i FROM (VALUES ('spread.kv', 1), ('spread.kv', 2), ('spread.slot', 3)) AS v(rel, i);
       INSERT INTO pg_dist_placement VALUES (1, 0), (2, 0), (3, 1)`,
    )
    expect(await warnings()).toEqual([
      expect.stringMatching(/no workers.*all 2 shards.*citus_add_node.*rebalance_table_shards/),
    ])
    await runSql(address, `INSERT INTO pg_dist_node VALUES (1, true, 'primary'), (2, true, 'primary')`)
    expect(await warnings()).toEqual([
      expect.stringMatching(/^Citus has 2 workers, and all 2 shards.*rebalance_table_shards/),
    ])
    await runSql(address, 'UPDATE pg_dist_placement SET groupid = shardid')
    expect(await warnings()).toEqual([])
  })

  it('a page of a container, of links and of an index asks one partition, and so do keys of one placement', async () => {
    const address = await freshAddress()
    await (await openStore(address)).close()
    const tables = { schema: new URL(address).searchParams.get('schema') ?? '', hasRoot: true, keys: keyPlacement }
    const ranges = [3, 4, 5, 6, 7].flatMap((number) => [
      containerExtent(3, number),
      containerLinksRange(3, number),
      linkRange(`3-${number}-1-1` as Oid, 1 as AttributeNumber, 1),
      indexRange(number as IndexNumber),
    ])
    for (const range of ranges) {
      const [segment, ...others] = keyPlacement.segmentsOf(range) as [Segment]
      expect(others).toEqual([])
      for (const isReverse of [false, true]) {
        const page = readPage(tableOf(tables, segment.firstPlacement), {
          segment,
          isReverse,
          limit: 10,
          keysOnly: false,
        })
        expect(await partitionsRead(address, page)).toBe(1)
      }
    }
    const keys = [1, 2, 3].map((slot) => objectKey(`3-5-1-${slot}` as Oid))
    for (const count of [1, 3]) {
      const [group, ...others] = byPlacement(keyPlacement, keys.slice(0, count)) as [KeysOfPlacement]
      expect(others).toEqual([])
      expect(await partitionsRead(address, readKeysOfPlacement(tables, group.placement, group.keys))).toBe(1)
    }
  })

  it('is opened by addresses of both schemes, and created by citus://', async () => {
    const postgres = new URL((await freshAddress()).replace('&distribute=citus', ''))
    const citus = postgres.href.replace('postgres:', 'citus:')
    for (const address of [citus, postgres.href, `${postgres.href}&distribute=citus`]) {
      const store = await openStore(address)
      expect(store.capabilities).toMatchObject({ isDistributed: true, location: expect.stringMatching(/^postgres:/) })
      await store.close()
    }
    await expect(openStore(`${citus}&distribute=no`)).rejects.toThrow("has distribute='no'; it is citus")
  })

  it('a copy goes there and back, byte for byte', async () => {
    const random = seededRandom(7)
    const byte = (): number => Math.floor(random() * 256)
    const [source, target, back] = [
      await openMemoryStore(),
      await openStore(await freshAddress()),
      await openMemoryStore(),
    ]
    const changes = Array.from({ length: 3_000 }, (_, i) => {
      const key = Buffer.from([1 + Math.floor(random() * 5), 0, 3, 0, byte() % 12, byte(), byte(), i >> 8, i & 0xff])
      return { kind: 'put', key, value: Buffer.from(Array.from({ length: byte() % 40 }, byte)) } as const
    })
    await source.commit({ changes, preconditions: [] })
    const there = await copyStore(source, target)
    expect(there.entries).toBeGreaterThan(2_900)
    expect(await copyStore(target, back)).toEqual(there)
    for (const store of [source, target, back]) await store.close()
  })
})
