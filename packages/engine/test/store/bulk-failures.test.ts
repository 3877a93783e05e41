/** Failures of PostgreSQL amid bulk creations by two servers: each batch is there as a whole or not at all, once, and what was acknowledged is there. */
import { expect, it } from 'vitest'
import { postgresOfRun } from '../../../../tools/postgres-of-run.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { classOf, index } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'
import { runSql, withClient } from './database-client.ts'
import { freshAddress } from './postgres-stores.ts'

const batchObjects = 300
const writersOfServer = 3

interface Batch {
  readonly name: string
  readonly licenses: readonly string[]
  /** `ok`, or the type of the error. */
  outcome: string
}

/** Each writer creates one batch after the other until `isOver`, at least one. */
class Load {
  readonly batches: Batch[] = []
  readonly faults: unknown[] = []
  isOver = false
  private made = 0
  private readonly firstOf: (nth: number) => number

  /** `firstOf`: the number of the first car of a batch. */
  constructor(firstOf: (nth: number) => number) {
    this.firstOf = firstOf
  }

  async run(fd: FederatedDatabase): Promise<void> {
    do await this.create(fd)
    while (!this.isOver)
  }

  private async create(fd: FederatedDatabase): Promise<void> {
    const nth = this.made++
    const from = this.firstOf(nth)
    const name = `batch ${nth}`
    const licenses = Array.from({ length: batchObjects }, (_, i) => `L${from + i}`)
    const batch = { name, licenses, outcome: 'ok' }
    this.batches.push(batch)
    try {
      await fd.createObjects(
        licenses.map((license, i) => ({ class: 'Car', attributes: { license, year: i % 45, batch: name } })),
      )
    } catch (error) {
      if (error instanceof AshlarError) batch.outcome = error.type
      else this.faults.push(error)
    }
  }

  countOf(outcome: string): number {
    return this.batches.filter((batch) => batch.outcome === outcome).length
  }
}

/** Two servers, whose addresses have `parameters` more; `disturb` beside their writers, and then what is there. */
async function loadBeside(load: Load, parameters: string, disturb: (schema: string) => Promise<void>): Promise<void> {
  const address = freshAddress()
  const open = async (of: string): Promise<FederatedDatabase> => {
    return FederatedDatabase.open({ alias: 'test', store: await openStore(of) })
  }
  // Sets up and looks, without limits that a busy machine may exceed.
  const fd = await open(address)
  await fd.defineClasses([classOf('Car', { license: 'string', year: 'integer', batch: 'string' })], 'create')
  await fd.createIndex(index('byLicense', 'Car', true, 'license'))
  await fd.createIndex(index('byYear', 'Car', false, 'year'))
  const schema = new URL(address).searchParams.get('schema') ?? ''
  const ofServer = `${address}&application_name=${schema}${parameters}`
  const servers = [await open(ofServer), await open(ofServer)]
  const writers = servers.flatMap((server) => Array.from({ length: writersOfServer }, () => load.run(server)))
  try {
    await disturb(schema)
  } finally {
    load.isOver = true
    await Promise.all(writers)
    for (const server of servers) await server.close()
  }
  expect(load.faults).toEqual([])
  const rows = await rowValues(await fd.query({ text: 'FROM Car RETURN license, batch' }))
  const licensesOf = new Map<string, string[]>()
  for (const { license, batch } of rows as readonly { license: string; batch: string }[])
    licensesOf.set(batch, [...(licensesOf.get(batch) ?? []), license])
  for (const { name, licenses, outcome } of load.batches) {
    const found = licensesOf.get(name)?.sort()
    const all = licenses.toSorted()
    if (outcome === 'OutcomeUnknown') expect(found === undefined ? all : found).toEqual(all)
    else expect({ name, outcome, found }).toEqual({ name, outcome, found: outcome === 'ok' ? all : undefined })
  }
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
}

const apart = (nth: number): number => nth * batchObjects

it('backends that are ended', async () => {
  const load = new Load(apart)
  await loadBeside(load, '&connections=6', async (schema) => {
    await withClient(postgresOfRun(), async (admin) => {
      for (let ended = 0; ended < 30; ) {
        const { rows } = await admin.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = $1 AND query LIKE '%commit%' AND state = 'active' ORDER BY random() LIMIT 2`,
          [schema],
        )
        ended += rows.length
      }
    })
  })
  expect(load.countOf('ok')).toBeGreaterThan(0)
  const others = ['ok', 'StoreUnavailable', 'OutcomeUnknown']
  expect(load.batches.filter(({ outcome }) => !others.includes(outcome))).toEqual([])
})

it('statements that wait too long for a lock are told as such, and nothing of them is done', async () => {
  const load = new Load(apart)
  await loadBeside(load, '&statementMs=300', async (schema) => {
    await withClient(postgresOfRun(), async (admin) => {
      await admin.query(`BEGIN; LOCK TABLE ${schema}.kv IN SHARE MODE`)
      await expect.poll(() => load.countOf('StoreUnavailable')).toBeGreaterThan(2)
      await admin.query('COMMIT')
    })
    const done = load.countOf('ok')
    await expect.poll(() => load.countOf('ok')).toBeGreaterThan(done)
  })
})

it('deadlocks with others in the database are tried again', async () => {
  const load = new Load(apart)
  await loadBeside(load, '', async (schema) => {
    const deadlocks = async (): Promise<number> => {
      const [row] = await runSql(postgresOfRun(), 'SELECT sum(deadlocks)::int4 AS count FROM pg_stat_database')
      return row?.count as number
    }
    const before = await deadlocks()
    while ((await deadlocks()) < before + 2) {
      // Commits have the table of rows first, and that of slots thereafter. They look for deadlocks before this one does.
      await runSql(
        postgresOfRun(),
        `BEGIN; SET LOCAL deadlock_timeout = '60s'; LOCK TABLE ${schema}.slot IN SHARE MODE; SELECT pg_sleep(0.05);
          LOCK TABLE ${schema}.kv IN SHARE MODE; COMMIT`,
      )
    }
  })
  expect(load.countOf('ok')).toBe(load.batches.length)
})

it('of batches that have keys in common, each key is created once, and the others are refused with the key', async () => {
  const load = new Load((nth) => (nth % 7) * 200)
  await loadBeside(load, '', async () => {
    await expect.poll(() => load.batches.length).toBeGreaterThan(40)
  })
  expect(load.countOf('ok')).toBeGreaterThan(1)
  expect(load.countOf('ok') + load.countOf('UniqueViolation')).toBe(load.batches.length)
})
