/** Measures the stores: commits by how many are in flight, views, snapshots and scans. Run: node --import tsx bench/store.ts */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../packages/engine/src/storage/open-store.ts'
import type { Bytes, Snapshot, Store } from '../packages/engine/src/store/store.ts'

const entries = 100_000
const valueBytes = 150
const measureMs = 500
const readsPerTurn = 64

interface Figure {
  readonly name: string
  readonly perSecond: number
}

function keyOf(number: number): Buffer {
  const key = Buffer.alloc(12)
  key.writeUInt32BE(number, 4)
  return key
}

/** How often a second `act` can be done; `perAct` is how much one call does. */
async function rate(name: string, act: () => Promise<number> | number): Promise<Figure> {
  const start = performance.now()
  let done = 0
  while (performance.now() - start < measureMs) {
    done += await act()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { name, perSecond: (done / (performance.now() - start)) * 1_000 }
}

async function fill(store: Store): Promise<void> {
  const batch = 5_000
  for (let first = 0; first < entries; first += batch) {
    const changes = Array.from({ length: batch }, (_, offset) => ({
      kind: 'put' as const,
      key: keyOf(first + offset),
      value: Buffer.alloc(valueBytes, offset),
    }))
    await store.commit({ changes, preconditions: [] })
  }
}

/** Each commit writes two entries and expects one absent: about what creating an object does. */
async function commits(store: Store, inFlight: number): Promise<Figure> {
  const start = performance.now()
  let done = 0
  async function write(): Promise<void> {
    while (performance.now() - start < measureMs) {
      const key = keyOf(Math.floor(Math.random() * 4_294_967_295))
      const other = Buffer.concat([Buffer.of(1), key])
      await store.commit({
        changes: [
          { kind: 'put', key: Buffer.concat([Buffer.of(2), key]), value: Buffer.alloc(valueBytes, done) },
          { kind: 'put', key: other, value: Buffer.alloc(16, done) },
        ],
        preconditions: [{ kind: 'present', key: keyOf(done % entries) }],
      })
      done += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, write))
  return { name: `commits, ${inFlight} in flight`, perSecond: (done / (performance.now() - start)) * 1_000 }
}

const firstByte = (value: Bytes) => value[0]
const randomKey = () => keyOf(Math.floor(Math.random() * entries))

async function viewMany(snapshot: Snapshot): Promise<number> {
  for (let read = 0; read < readsPerTurn; read += 1) snapshot.view(randomKey(), firstByte)
  return readsPerTurn
}

async function snapshotMany(store: Store): Promise<number> {
  for (let read = 0; read < readsPerTurn; read += 1) {
    const answer = store.snapshot()
    const snapshot = answer instanceof Promise ? await answer : answer
    snapshot.view(randomKey(), firstByte)
    snapshot.release()
  }
  return readsPerTurn
}

async function scanAll(snapshot: Snapshot, keysOnly: boolean, reverse = false): Promise<number> {
  let rows = 0
  const range = { to: keyOf(entries) }
  for await (const batch of snapshot.scan(range, firstByte, { keysOnly, reverse })) rows += batch.length
  return rows
}

async function measure(store: Store): Promise<Figure[]> {
  await fill(store)
  const figures: Figure[] = []
  for (const inFlight of [1, 8, 32, 128]) figures.push(await commits(store, inFlight))
  const snapshot = await store.snapshot()
  figures.push(await rate('views', () => viewMany(snapshot)))
  figures.push(await rate('snapshot + view + release', () => snapshotMany(store)))
  figures.push(await rate('scan, rows', () => scanAll(snapshot, false)))
  figures.push(await rate('scan backwards, rows', () => scanAll(snapshot, false, true)))
  figures.push(await rate('scan, keys only', () => scanAll(snapshot, true)))
  snapshot.release()
  return figures
}

const directory = await mkdtemp(join(tmpdir(), 'ashlar-bench.'))
try {
  const table: Record<string, Record<string, string>> = {}
  for (const address of [`lmdb:${directory}`, 'memory:']) {
    const store = await openStore(address)
    for (const { name, perSecond } of await measure(store)) {
      table[name] ??= {}
      const column = `${store.capabilities.kind}, per second`
      table[name][column] = Math.round(perSecond).toLocaleString('en')
    }
    await store.close()
  }
  console.table(table)
} finally {
  await rm(directory, { recursive: true })
}
