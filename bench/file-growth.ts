/**
 * How the data file of an LMDB store grows by random updates, ten times as many as there are objects, while readers come and go; and what a
 * compaction makes of it, beside the same writers: what it takes, and how long others wait. `[objects] [updates that the longest snapshot outlives]`.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { compactStore, FederatedDatabase, openStore, type Store } from '@ashlar/engine'

const [objects = 10_000, updatesOfSnapshotMax = 1_000] = process.argv.slice(2).map(Number)
const rounds = 10
const writers = 64
const readers = 4

const directory = mkdtempSync(join(tmpdir(), 'ashlar-bench-'))
const state = { isOver: false, updates: 0, worstReadMs: 0, worstWriteMs: 0 }

try {
  const store = await openStore(`lmdb:${directory}`)
  const fd = await FederatedDatabase.open({ alias: 'growth', store })
  const oids = await filled(fd)
  const reading = Array.from({ length: readers }, () => read(store))
  const sizes = [megabytes()]
  for (let round = 0; round < rounds; round++) {
    await update(fd, oids, oids.length)
    sizes.push(megabytes())
  }
  const [, , second = 0] = sizes
  const growth = (100 * ((sizes.at(-1) as number) / second - 1)).toFixed(1)
  tell(`${objects} objects, MiB after each round of as many updates: ${sizes.map((size) => size.toFixed(1)).join(' ')}`)
  tell(`growth after the second round: ${growth} %`)
  await measureCompaction(fd, oids)
  state.isOver = true
  await Promise.all(reading)
  await fd.close()
} finally {
  rmSync(directory, { recursive: true, force: true })
}

async function measureCompaction(fd: FederatedDatabase, oids: readonly string[]): Promise<void> {
  Object.assign(state, { worstReadMs: 0, worstWriteMs: 0 })
  let isCompacted = false
  const begin = performance.now()
  const compaction = compactStore(`lmdb:${directory}`, { signal: new AbortController().signal }).finally(() => {
    isCompacted = true
  })
  let updates = 0
  for (; !isCompacted; updates += writers) await update(fd, oids, writers)
  const { bytesBefore, bytesAfter, aloneMs } = await compaction
  const took = ((performance.now() - begin) / 1_000).toFixed(1)
  const sizes = [bytesBefore, bytesAfter].map((bytes) => (bytes / 1_048_576).toFixed(1)).join(' → ')
  tell(`compacted in ${took} s beside ${updates} updates: ${sizes} MiB; alone in the gate for ${aloneMs.toFixed(0)} ms`)
  tell(
    `longest read meanwhile: ${state.worstReadMs.toFixed(0)} ms, longest update: ${state.worstWriteMs.toFixed(0)} ms`,
  )
}

async function filled(fd: FederatedDatabase): Promise<string[]> {
  const attributes = [
    { attributeName: 'license', logicalType: 'string' },
    { attributeName: 'year', logicalType: 'integer' },
    { attributeName: 'note', logicalType: 'string' },
  ]
  await fd.defineClasses([{ className: 'Item', isReferenceable: true, attributes }], 'create')
  for (const name of ['license', 'year']) {
    const keyAttributes = [{ attributeName: name }]
    await fd.createIndex({ name, indexedClass: 'Item', isUnique: name === 'license', keyAttributes })
  }
  const oids: string[] = []
  while (oids.length < objects) {
    const count = Math.min(1_000, objects - oids.length)
    const made = Array.from({ length: count }, (_, nth) => ({
      class: 'Item',
      attributes: { ...changed(), license: `L ${oids.length + nth}` },
    }))
    oids.push(...(await fd.createObjects(made)).map(String))
  }
  return oids
}

/** Another entry of an index, and another length. */
function changed(): { year: number; note: string } {
  return { year: 1950 + Math.floor(Math.random() * 75), note: 'x'.repeat(Math.random() * 60) }
}

async function update(fd: FederatedDatabase, oids: readonly string[], count: number): Promise<void> {
  let left = count
  const write = async (): Promise<void> => {
    while (left-- > 0) {
      const begin = performance.now()
      await fd.updateObject(oids[Math.floor(Math.random() * oids.length)] as string, changed())
      state.updates++
      state.worstWriteMs = Math.max(state.worstWriteMs, performance.now() - begin)
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
}

/**
 * Opens snapshots and holds each for so many updates, one after the other. By time, a machine that is busy with other things would have the file
 * grow: no page that was freed since the oldest snapshot can be used again.
 */
async function read(store: Store): Promise<void> {
  while (!state.isOver) {
    const begin = performance.now()
    const snapshot = await store.snapshot()
    await snapshot.view(Buffer.of(0), () => undefined)
    state.worstReadMs = Math.max(state.worstReadMs, performance.now() - begin)
    const end = state.updates + Math.random() * updatesOfSnapshotMax
    while (state.updates < end && !state.isOver) await delay(1)
    snapshot.release()
  }
}

function megabytes(): number {
  return statSync(join(directory, 'data.mdb')).size / 1_048_576
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`)
}
