/** Several processes on one store, some killed and PostgreSQL crashed meanwhile: nothing lost, nothing doubled. */

import { expect, it, TestRunner } from 'vitest'
import { postgresOfRun, startAnotherPostgres } from '../../../../tools/postgres-of-run.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { rowValues } from '../row-texts.ts'
import { type Child, startChild } from './children/child.ts'
import { canKillCitusNodes, citusNodes } from './citus-nodes.ts'
import { temporaryDirectory } from './temporary-stores.ts'
import { startThreeNodes } from './three-nodes.ts'

const scale = Number(process.env.ASHLAR_RUNS ?? 1)
const clients = 16
const processes = 4
const hubCount = 3
/** Of the processes, those that are killed where some are: the first. */
const victims = 2

const classes = [
  {
    className: 'Hub',
    isReferenceable: true,
    attributes: [
      { attributeName: 'name', logicalType: 'string' },
      { attributeName: 'count', logicalType: 'integer' },
      {
        attributeName: 'items',
        logicalType: 'list',
        elementSpecification: { logicalType: 'reference', referencedClass: 'Item', inverseAttribute: 'hub' },
      },
    ],
  },
  {
    className: 'Item',
    isReferenceable: true,
    attributes: [
      { attributeName: 'key', logicalType: 'string' },
      { attributeName: 'hub', logicalType: 'reference', referencedClass: 'Hub', inverseAttribute: 'items' },
    ],
  },
]

/** What the processes told. */
class Told {
  readonly created = new Map<string, string>()
  readonly oids: string[] = []
  readonly deletionsBegun = new Set<string>()
  readonly deleted = new Set<string>()
  readonly incrementsBegun = new Map<string, number>()
  readonly increments = new Map<string, number>()
  lines = 0

  take(line: string): void {
    this.lines++
    const [word, first = '', second = ''] = line.split(' ')
    if (word === 'C') {
      this.created.set(second, first)
      this.oids.push(second)
    } else if (word === 'd') this.deletionsBegun.add(first)
    else if (word === 'D') this.deleted.add(first)
    else if (word === 'i') count(this.incrementsBegun, first)
    else if (word === 'I') count(this.increments, first)
  }
}

function isRunning(child: Child): boolean {
  return child.process.exitCode === null
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

async function rows(fd: FederatedDatabase, text: string): Promise<Record<string, unknown>[]> {
  return (await rowValues(await fd.query({ text }))) as Record<string, unknown>[]
}

async function expectAsTold(fd: FederatedDatabase, told: Told, hubs: readonly string[]): Promise<void> {
  expect(new Set(told.oids).size, 'no OID twice').toBe(told.oids.length)
  const items = new Map((await rows(fd, 'FROM Item RETURN *')).map((item) => [item.__identifier__, item]))
  const missing = [...told.created.keys()].filter((oid) => !told.deletionsBegun.has(oid) && !items.has(oid))
  const shown = { missing: missing.length, first: missing[0], last: missing.at(-1), seen: items.size }
  expect(shown, `of ${told.created.size} created`).toMatchObject({ missing: 0 })
  for (const [oid, key] of told.created) {
    if (told.deleted.has(oid)) expect(items.has(oid), `${oid} was deleted`).toBe(false)
    else if (!told.deletionsBegun.has(oid)) expect(items.get(oid)?.key, `${oid} was created`).toBe(key)
  }
  const keys = [...items.values()].map(({ key }) => key)
  expect(new Set(keys).size, 'no key twice').toBe(keys.length)
  for (const hub of hubs) {
    const { count: counted } = JSON.parse((await fd.readObject(hub)).toString()) as { count: number }
    expect(counted, `${hub} has each increment that was acknowledged`).toBeGreaterThanOrEqual(
      told.increments.get(hub) ?? 0,
    )
    expect(counted, `${hub} has no increment twice`).toBeLessThanOrEqual(told.incrementsBegun.get(hub) ?? 0)
  }
  expect((await fd.verify()).problems).toEqual([])
}

interface Shared {
  readonly address: string
  crash(): Promise<void>
  stop(): Promise<void>
  /** So many each client does; one takes the longer, the more nodes there are. */
  readonly operations: number
  /** So often it goes on crashing until all is over. */
  readonly crashesEveryMs?: number
}

/** LMDB has no process of its own that could crash. */
async function onLmdb(): Promise<Shared> {
  const address = `lmdb:${await temporaryDirectory()}`
  return { address, operations: 15, crash: async () => undefined, stop: async () => undefined }
}

/** A server of its own, which the test may crash. */
async function onPostgres(): Promise<Shared> {
  postgresOfRun()
  return { ...(await startAnotherPostgres()), operations: 5 }
}

async function onCitus(): Promise<Shared> {
  if (!canKillCitusNodes) TestRunner.getCurrentTest()?.context.skip('no Citus is given whose nodes may be killed')
  const nodes = await citusNodes()
  const address = await nodes.freshAddress(`shared_${process.pid}`)
  let crashes = 0
  return {
    address,
    operations: 40,
    async crash() {
      // The coordinator, a worker, the next worker, and again.
      const node = crashes++ % 3
      await nodes.kill(node)
      await nodes.start(node)
    },
    stop: () => nodes.stop(),
    crashesEveryMs: 8_000,
  }
}

async function onThreeNodes(): Promise<Shared> {
  postgresOfRun()
  const nodes = await startThreeNodes()
  const address = await nodes.freshAddress(`shared_${process.pid}`)
  return { address, operations: 3, crash: async () => undefined, stop: () => nodes.stop() }
}

/** Reads across everything until told to stop: whatever the moment, what is shown fits together. */
async function readAlong(fd: FederatedDatabase, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const shown = await rows(fd, 'FROM Item RETURN key, hub.name AS hub')
    for (const { key, hub } of shown) expect([typeof key, typeof hub]).toEqual(['string', 'string'])
    await rows(fd, 'FROM Hub RETURN *')
    await rows(fd, "FROM Item WHERE key = 'shared-7' RETURN *")
    // A store that answers at once would leave no time for what the processes tell.
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

it.each<[string, string, () => Promise<Shared>, boolean]>([
  ['LMDB', 'at peace', onLmdb, false],
  ['LMDB', 'with two of them killed', onLmdb, true],
  ['three nodes', 'at peace', onThreeNodes, false],
  ['PostgreSQL', 'at peace', onPostgres, false],
  ['PostgreSQL', 'with two of them killed and PostgreSQL crashed twice', onPostgres, true],
  ['Citus', 'with two of them killed and nodes crashed again and again', onCitus, true],
])(
  'on %s, four processes with 64 clients, %s: all that was acknowledged is there, once',
  async (_store, _how, open, isAtWar) => {
    const server = await open()
    // Those that are killed always have something to do, however late that is.
    const operations = Math.ceil(server.operations * (isAtWar ? Math.max(1, scale) : scale))
    const operationsOf = (child: number): number => (isAtWar && child < victims ? Number.MAX_SAFE_INTEGER : operations)
    const fd = await FederatedDatabase.open({ alias: 'shared', store: await openStore(server.address) })
    await fd.defineClasses(classes, 'create')
    const keyAttributes = [{ attributeName: 'key' }]
    await fd.createIndex({ name: 'byKey', indexedClass: 'Item', isUnique: true, keyAttributes })
    const hubs: string[] = []
    for (let hub = 0; hub < hubCount; hub++) {
      const oid = await fd.createObject('Hub', { count: 0 })
      await fd.updateObject(oid, { name: oid })
      hubs.push(oid)
    }
    const told = new Told()
    const script = new URL('./children/use-database.ts', import.meta.url)
    const children = Array.from({ length: processes }, (_, child) =>
      startChild(script, [server.address, `p${child}`, String(clients), String(operationsOf(child)), ...hubs]),
    )
    for (const { lines } of children) expect((await lines.next()).value).toBe('ready')
    for (const child of children) child.process.stdin.write('begin\n')
    const readings = children.map(async (child) => {
      for await (const line of child.lines) told.take(line)
    })
    const share = async (part: number): Promise<void> => {
      while (told.lines < part * processes * clients * operations && children.every(isRunning))
        await new Promise((resolve) => setTimeout(resolve, 1))
    }
    let isOver = false
    const along = isAtWar ? undefined : readAlong(fd, () => isOver)
    if (isAtWar) {
      for (const [part, victim] of [
        [0.3, 0],
        [0.6, 1],
      ] as const) {
        await share(part)
        children[victim]?.process.kill('SIGKILL')
        await server.crash()
      }
      const isAtWork = (child: Child): boolean => isRunning(child) && child.process.signalCode === null
      while (server.crashesEveryMs !== undefined && children.some(isAtWork)) {
        await new Promise((resolve) => setTimeout(resolve, server.crashesEveryMs))
        await server.crash()
      }
    }
    const ends = await Promise.all(children.map((child) => child.ended))
    await Promise.all(readings)
    isOver = true
    await along
    for (const [child, { code, signal, errors }] of ends.entries()) {
      const isVictim = isAtWar && child < victims
      expect({ code, signal, errors: isVictim ? '' : errors }).toEqual(
        isVictim ? { code: null, signal: 'SIGKILL', errors: '' } : { code: 0, signal: null, errors: '' },
      )
    }
    await expectAsTold(fd, told, hubs)
    await fd.close()
    await server.stop()
  },
  300_000 * Math.max(1, scale),
)
