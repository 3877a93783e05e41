/** Long transactions beside short ones: whoever has failed a few times gets through, however many others go on writing. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { classOf, read } from './open-fd.ts'

const objects = 200
const writers = 8
/** Requests come in turns of the event loop. Far more than the statement takes: whoever needs them all has not kept the writers from going first. */
const writesMax = 5_000

/** The commit of a statement takes its time, in which others are committed. Counts how often it is tried. */
async function openCounting(): Promise<{ store: Store; attempts: () => number }> {
  const memory = await openMemoryStore()
  let attempts = 0
  const store: Store = {
    ...memory,
    async commit(commit) {
      if (commit.changes.length < objects) return memory.commit(commit)
      attempts++
      for (let turns = 0; turns < 20; turns++) await nextTurn()
      return memory.commit(commit)
    },
  }
  return { store, attempts: () => attempts }
}

async function run(fd: FederatedDatabase, text: string): Promise<void> {
  const { chunks } = await fd.query({ text })
  for await (const chunk of chunks) void chunk
}

for (const [what, nthWritten] of [
  ['one and the same object', () => 0],
  ['objects here and there', (nth: number) => (nth * 37) % objects],
] as const) {
  it(`a statement over many objects ends beside those who write ${what}`, async () => {
    const { store, attempts } = await openCounting()
    const fd = await FederatedDatabase.open({ alias: 'fd', store })
    await fd.defineClasses([classOf('Vehicle', { m: 'integer', n: 'integer' })], 'create')
    const creations = Array.from({ length: objects }, () => ({ class: 'Vehicle', attributes: {} }))
    const oids = await fd.createObjects(creations)
    const before = attempts()
    let writes = 0
    let isDone = false
    const write = async (): Promise<void> => {
      while (!isDone && writes < writesMax) {
        const nth = ++writes
        await nextTurn()
        await fd.updateObject(oids[nthWritten(nth)] as string, { n: nth })
      }
    }
    const writing = Promise.all(Array.from({ length: writers }, write))
    await run(fd, 'UPDATE Vehicle SET m TO m + 1')
    isDone = true
    await writing
    expect(writes).toBeLessThan(writesMax)
    expect(attempts() - before).toBeLessThanOrEqual(8)
    expect(await read(fd, oids[0] as string)).toMatchObject({ m: 1 })
    expect((await fd.verify()).problems).toEqual([])
    await fd.close()
  })
}

it('two statements over the same objects, beside others who write: both end', async () => {
  const { store, attempts } = await openCounting()
  const fd = await FederatedDatabase.open({ alias: 'fd', store })
  await fd.defineClasses([classOf('Vehicle', { m: 'integer', n: 'integer' })], 'create')
  const oids = await fd.createObjects(Array.from({ length: objects }, () => ({ class: 'Vehicle', attributes: {} })))
  const before = attempts()
  let isDone = false
  let writes = 0
  const write = async (): Promise<void> => {
    while (!isDone && writes < writesMax) {
      await nextTurn()
      await fd.updateObject(oids[++writes % objects] as string, { n: writes })
    }
  }
  const writing = Promise.all(Array.from({ length: writers }, write))
  await Promise.all([run(fd, 'UPDATE Vehicle SET m TO m + 1'), run(fd, 'UPDATE Vehicle SET m TO m + 10')])
  isDone = true
  await writing
  expect(writes).toBeLessThan(writesMax)
  expect(attempts() - before).toBeLessThanOrEqual(16)
  expect(await read(fd, oids[1] as string)).toMatchObject({ m: 11 })
  await fd.close()
})
