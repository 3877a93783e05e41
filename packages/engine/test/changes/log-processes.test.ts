/** Several processes write, some are killed, and readers come and go: every reader is told the same, and what was acknowledged once. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { QueryReply } from '../../src/query/query-request.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { rowTexts } from '../row-texts.ts'
import { startChild } from '../store/children/child.ts'
import { freshAddress } from '../store/postgres-stores.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'
import { seededRandom } from '../store/wrappers/seeded-random.ts'

const scale = Number(process.env.ASHLAR_RUNS ?? 1)
const script = new URL('./children/write.ts', import.meta.url)
const processes = 4
const writersOfEach = 16
const linesUntilKill = 250
const kills = Math.ceil(3 * scale)
const readers = 5

/** JSON whose shape a test knows and the compiler does not. */
type Loose = ReturnType<typeof JSON.parse>

/** Reads pages until `isOver`, with a database of its own that it opens anew now and then. */
async function readAll(address: string, isOver: () => boolean, random: () => number): Promise<Loose[]> {
  const told: Loose[] = []
  for (let since = 'first'; ; ) {
    const fd = await FederatedDatabase.open({ alias: 'reader', store: await openStore(address) })
    try {
      for (let pages = 1 + Math.floor(random() * 40); pages > 0; pages--) {
        const wasOver = isOver()
        const seen = fd.waiters.count
        const limit = 1 + Math.floor(random() * 100)
        const page = await fd.changes.page({ since, include: 'values', limit })
        for (const { json } of page.changes) told.push(JSON.parse(json.toString()))
        since = page.position
        if (page.isAtEnd && wasOver) return told
        if (page.isAtEnd) await fd.waiters.wait(seen, 50, new AbortController().signal)
      }
    } finally {
      await fd.close()
    }
  }
}

/** Once a further commit is told: PostgreSQL may still be committing for processes that were killed, and nothing is told before what began earlier has ended. */
async function settled(fd: FederatedDatabase): Promise<void> {
  const name = 'the last one'
  await fd.createObject('Hub', { name })
  for (let since = 'first'; ; ) {
    const seen = fd.waiters.count
    const { changes, position, isAtEnd } = await fd.changes.page({ since, include: 'values', limit: 1_000 })
    if (changes.some(({ json }) => JSON.parse(json.toString()).after?.name === name)) return
    since = position
    if (isAtEnd) await fd.waiters.wait(seen, 50, new AbortController().signal)
  }
}

/** Each change follows from what those before it have left. */
function replayed(told: readonly Loose[]): Map<string, Loose> {
  const objects = new Map<string, Loose>()
  for (const { change, oid, before, after } of told) {
    if (change === 'schema') continue
    expect(objects.has(oid)).toBe(change !== 'created')
    if (change === 'deleted') {
      expect(objects.get(oid)).toEqual(before)
      objects.delete(oid)
      continue
    }
    const held = objects.get(oid) ?? {}
    if (change === 'updated') expect(held).toMatchObject(before)
    objects.set(oid, { ...held, ...after })
  }
  return objects
}

it.each([
  ['LMDB', async () => `lmdb:${await temporaryDirectory()}`],
  ['PostgreSQL', async () => freshAddress()],
] as const)('on %s', { timeout: 300_000 * Math.max(1, scale) }, async (_, addressOf) => {
  const address = await addressOf()
  const random = seededRandom(Number(process.env.ASHLAR_SEED ?? 5))
  const fd = await FederatedDatabase.open({ alias: 'test', store: await openStore(address), changeLog: 'on' })
  const attribute = (attributeName: string, logicalType: string) => ({ attributeName, logicalType })
  await fd.defineClasses(
    [
      {
        className: 'Hub',
        isReferenceable: true,
        attributes: [attribute('name', 'string'), attribute('count', 'integer')],
      },
      { className: 'Item', isReferenceable: true, attributes: [attribute('key', 'string')] },
    ],
    'create',
  )
  for (const name of ['h0', 'h1', 'h2']) await fd.createObject('Hub', { name })

  const acknowledged: string[] = []
  let isOver = false
  const reading = Array.from({ length: readers }, () => readAll(address, () => isOver, random))
  const writeUntilKilled = async (nth: number): Promise<void> => {
    for (let kill = 0; kill < kills; kill++) {
      const child = startChild(script, [address, String(writersOfEach), `${nth}.${kill}`])
      let left = linesUntilKill * (0.5 + random())
      for await (const line of child.lines) {
        acknowledged.push(line)
        if (--left <= 0) child.process.kill('SIGKILL')
      }
      const end = await child.ended
      expect(end, end.errors).toMatchObject({ signal: 'SIGKILL' })
    }
  }
  await Promise.all(Array.from({ length: processes }, (__, nth) => writeUntilKilled(nth)))
  await settled(fd)
  isOver = true
  const [told, ...others] = (await Promise.all(reading)) as [Loose[], ...Loose[][]]
  for (const other of others) expect(other).toEqual(told)
  expect(new Set(told.map(({ position }) => position)).size).toBe(told.length)

  const of = (word: string): string[][] =>
    acknowledged.filter((line) => line[0] === word).map((line) => line.split(' '))
  const toldOids = (change: string): string[] => told.filter((one) => one.change === change).map(({ oid }) => oid)
  const created = toldOids('created')
  expect(new Set(created).size).toBe(created.length)
  const [createdOids, deletedOids] = [new Set(created), new Set(toldOids('deleted'))]
  expect(of('C').filter(([, oid]) => !createdOids.has(oid as string))).toEqual([])
  expect(of('D').filter(([, oid]) => !deletedOids.has(oid as string))).toEqual([])
  // Who was killed may not have told of the last ones.
  expect(toldOids('updated').length).toBeGreaterThanOrEqual(of('U').length)

  const objects = replayed(told)
  const { objects: chunks } = await fd.export({})
  const exported = (await rowTexts({ chunks } as QueryReply)).map((text): Loose => JSON.parse(text))
  expect(exported.length).toBe(objects.size)
  const held = ({ key, name, count }: Loose): Loose => ({ key, name, count })
  for (const object of exported) expect(held(object)).toEqual(held(objects.get(object.__identifier__)))
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
})
