/** Openings of an LMDB store beside its use by other processes: nothing is lost, hidden or broken by them. */
import { spawnSync } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { alwaysOpenGate, enterAllBlocking, type Gate, openGate, openGateToRead } from '../../src/store/lmdb/gate.ts'
import { processDirectory } from '../../src/store/lmdb/live-processes.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import type { Store } from '../../src/store/store.ts'
import { commitChanges, entriesIn, entriesOf, put, valueIn, withSnapshot } from './bytes.ts'
import { type Child, startChild } from './children/child.ts'
import { temporaryDirectory } from './temporary-stores.ts'
import { seededRandom } from './wrappers/seeded-random.ts'

const runs = Math.max(1, Number(process.env.ASHLAR_RUNS ?? 1))

const openAs = new URL('./children/open-as.ts', import.meta.url)
const hold = new URL('./children/hold-place.ts', import.meta.url)
const openSlowly = new URL('./children/open-slowly.ts', import.meta.url)
const rewind = new URL('./children/rewind.ts', import.meta.url)
const useBriefly = new URL('./children/use-briefly.ts', import.meta.url)
const acknowledge = new URL('./children/acknowledge.ts', import.meta.url)

async function nextLine(child: Child): Promise<string> {
  const { value, done } = await child.lines.next()
  if (done === true) throw new Error(`The child ended: ${JSON.stringify(await child.ended)}`)
  return value
}

async function endsWell(child: Child): Promise<void> {
  const end = await child.ended
  expect(end, end.errors).toMatchObject({ code: 0 })
}

async function usedStore(): Promise<{ store: Store; directory: string }> {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  onTestFinished(() => store.close())
  await commitChanges(store, put('first', '1'))
  await commitChanges(store, put('second', '1'))
  return { store, directory }
}

/** A gate of one's own to the store in a directory. */
function gateTo(directory: string): Gate {
  const gate = openGate(processDirectory(directory))
  onTestFinished(() => gate.close())
  return gate
}

async function isPending(promise: Promise<unknown>, ms = 100): Promise<boolean> {
  const later = new Promise((resolve) => setTimeout(resolve, ms, 'later'))
  return (await Promise.race([promise, later])) === 'later'
}

describe('a transaction number that was set back', () => {
  it('by one commit or more: nothing is written any more, and nothing is lost', async () => {
    const child = startChild(rewind, [])
    for (const commits of [1, 2, 3]) {
      const { store, directory } = await usedStore()
      await commitChanges(store, put('third', '1'))
      child.process.stdin.write(`${directory} ${commits}\n`)
      expect(await nextLine(child)).toBe('set back')
      const told = 'The storage of the database failed to commit: its transaction number was set back'
      await expect(commitChanges(store, put('fourth', '1'))).rejects.toThrow(told)
      await expect(commitChanges(store, put('fifth', '1'))).rejects.toThrow(told)
      expect(store.problem?.()?.message).toContain(told)
      await store.close()
      const again = await openLmdbStore(directory)
      expect(await entriesIn(again)).toEqual(['first=1', 'second=1', 'third=1'])
      await commitChanges(again, put('fourth', '2'))
      expect(await entriesIn(again)).toEqual(['first=1', 'fourth=2', 'second=1', 'third=1'])
      await again.close()
    }
  })

  it('is set right by whoever opens the store next', async () => {
    const { store, directory } = await usedStore()
    const [rewinding, child] = [startChild(rewind, []), startChild(useBriefly, [])]
    rewinding.process.stdin.end(`${directory} 1\n`)
    expect(await nextLine(rewinding)).toBe('set back')
    child.process.stdin.end(`${directory} third\n`)
    expect(await nextLine(child)).toBe('done')
    await commitChanges(store, put('fourth', '1'))
    expect(await entriesIn(store)).toEqual(['first=1', 'fourth=1', 'second=1', 'third=1'])
  })
})

describe('while another process is opening the store', () => {
  it('commits wait, in their order, reads go on, and nothing is lost when it writes the number that it has read', async () => {
    const { store, directory } = await usedStore()
    const child = startChild(openSlowly, [directory])
    expect(await nextLine(child)).toBe('number read')
    const commits = Array.from({ length: 20 }, (_, number) => commitChanges(store, put('last', String(number))))
    expect(await isPending(Promise.race(commits))).toBe(true)
    expect(await valueIn(store, 'second')).toBe('1')
    child.process.stdin.write('go on\n')
    await Promise.all(commits)
    await commitChanges(store, put('more', '1'))
    await endsWell(child)
    expect(await entriesIn(store)).toEqual(['first=1', 'last=19', 'more=1', 'second=1'])
  })

  it('its death ends the waiting', async () => {
    const { store, directory } = await usedStore()
    const child = startChild(openSlowly, [directory])
    expect(await nextLine(child)).toBe('number read')
    const commit = commitChanges(store, put('third', '1'))
    expect(await isPending(commit)).toBe(true)
    child.process.kill('SIGKILL')
    await commit
    expect(await entriesIn(store)).toEqual(['first=1', 'second=1', 'third=1'])
  })

  it('others that open wait, and so do those that close or exit', async () => {
    const { store, directory } = await usedStore()
    const exits = startChild(useBriefly, [])
    exits.process.stdin.write(`${directory} exits keep\n`)
    expect(await nextLine(exits)).toBe('done')
    const gate = gateTo(directory)
    expect(await gate.enterAlone(60_000)).toBe(true)
    const opening = openLmdbStore(directory)
    const closing = store.close()
    exits.process.stdin.end()
    expect(await nextLine(exits)).toBe('exits')
    expect(await isPending(Promise.race([opening, closing, exits.ended]))).toBe(true)
    gate.leave()
    await closing
    await endsWell(exits)
    const opened = await opening
    expect(await entriesIn(opened)).toEqual(['exits=1', 'first=1', 'second=1'])
    await opened.close()
  })

  it('it waits itself for commits and closings under way', async () => {
    const { directory } = await usedStore()
    const gate = gateTo(directory)
    expect(gate.tryEnter()).toBe(true)
    const opening = openLmdbStore(directory)
    expect(await isPending(opening)).toBe(true)
    gate.leave()
    await (await opening).close()
  })
})

describe('the gate', () => {
  it('lets nobody else in while an opener waits for those inside, so that they cannot keep it out by turns', async () => {
    const directory = await temporaryDirectory()
    const [one, other, opener] = [gateTo(directory), gateTo(directory), gateTo(directory)]
    expect(one.tryEnter()).toBe(true)
    const isIn = opener.enterAlone(60_000)
    expect(other.tryEnter()).toBe(false)
    one.leave()
    expect(await isIn).toBe(true)
    opener.leave()
    expect(other.tryEnter()).toBe(true)
  })

  it('is abandoned after a while, and then open to others', async () => {
    const directory = await temporaryDirectory()
    const [one, other] = [gateTo(directory), gateTo(directory)]
    expect(one.tryEnter()).toBe(true)
    expect(await other.enterAlone(30)).toBe(false)
    expect(one.tryEnter()).toBe(true)
    one.leave()
    expect(await one.enterAlone(30)).toBe(true)
    expect(other.tryEnter()).toBe(false)
    expect(await other.enter(30)).toBe(false)
    expect(other.enterBlocking(30)).toBe(false)
    one.leave()
    expect(other.enterBlocking(0)).toBe(true)
  })
})

describe.skipIf(process.platform === 'win32')('files of the gate that are deleted under a store that is open', () => {
  it('commits are refused, readiness says so, and a new process is not let in beside the old one', async () => {
    const { store, directory } = await usedStore()
    expect(store.problem?.()).toBeUndefined()
    await rm(processDirectory(directory), { recursive: true })
    expect(store.problem?.()?.message).toContain("The store's file processes/gate is not the one that was opened")
    const refusal = {
      type: 'StoreUnavailable',
      message: expect.stringContaining('Stop every process that uses the store'),
    }
    await expect(commitChanges(store, put('third', '1'))).rejects.toMatchObject(refusal)
    const child = startChild(useBriefly, [])
    child.process.stdin.write(`${directory} fourth\n`)
    // Only Linux tells who holds LMDB's locks.
    if (process.platform === 'linux')
      expect(await nextLine(child)).toContain(
        `process ${process.pid} has it open, but has no file in ${directory}/processes`,
      )
    await store.close()
    child.process.stdin.end(`${directory} fifth\n`)
    expect(await nextLine(child)).toBe('done')
  })

  it('an opener that has opened them before is alone only behind those that are there', async () => {
    const directory = await temporaryDirectory()
    const early = gateTo(directory)
    await rm(processDirectory(directory), { recursive: true })
    const late = gateTo(directory)
    expect([early.isInPlace(), late.isInPlace()]).toEqual([false, true])
    expect(await late.enterAlone(1_000)).toBe(true)
    expect(await early.enterAlone(30)).toBe(false)
    late.leave()
    expect(await early.enterAlone(1_000)).toBe(true)
    expect(early.isInPlace()).toBe(true)
    expect(late.tryEnter()).toBe(false)
  })
})

describe('a store on a file system that is read-only for one process', () => {
  it('keeps openers out while that process reads', async () => {
    const directory = await temporaryDirectory()
    const gate = gateTo(directory)
    const reading = [openGateToRead(processDirectory(directory)), openGateToRead(processDirectory(directory))]
    for (const one of reading) expect(await one.enterAlone(30)).toBe(true)
    for (const one of reading) {
      one.leave()
      expect(await gate.enterAlone(30)).toBe(false)
      one.close()
    }
    expect(await gate.enterAlone(30)).toBe(true)
    const late = openGateToRead(processDirectory(directory))
    expect(await late.enterAlone(30)).toBe(false)
    late.close()
  })

  it('that never had a gate is open to everybody', async () => {
    expect(openGateToRead(processDirectory(await temporaryDirectory()))).toBe(alwaysOpenGate)
  })

  const inMount = (directory: string) =>
    `exec unshare --mount bash -c 'mount --bind ${directory} ${directory} && mount -o remount,bind,ro ${directory} && exec "$@"' bash "$@"`
  const canMount = spawnSync('bash', ['-c', `set -- true; ${inMount(import.meta.dirname)}`]).status === 0

  it.skipIf(!canMount)('is read only while nobody has it open (skipped where nothing can be mounted)', async () => {
    const { store, directory } = await usedStore()
    const early = startChild(openAs, [directory, '', 'read'], inMount(directory))
    expect(await nextLine(early)).toContain(
      `process ${process.pid} has it open, and LMDB cannot tell it what is being read`,
    )
    await store.close()
    const late = startChild(openAs, [directory, '', 'read'], inMount(directory))
    expect(await nextLine(late)).toBe('2')
    const gate = gateTo(directory)
    expect(await gate.enterAlone(30)).toBe(false)
    late.process.stdin.end()
    await endsWell(late)
    expect(await gate.enterAlone(1_000)).toBe(true)
  })
})

describe('a process that exits', () => {
  it('waits for all its stores together as long as for one', () => {
    const given: number[] = []
    const blocked = {
      enterBlocking(ms: number) {
        given.push(ms)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms + 1)
        return false
      },
    }
    enterAllBlocking([blocked, blocked, blocked], 20)
    expect(given).toEqual([expect.any(Number), 0, 0])
  })
})

describe('processes that cannot be told from each other', () => {
  it.each([
    ['the same number', String(process.pid), `another process with the number ${process.pid} uses it`],
    ['another namespace of processes', '1.1', 'process 1 uses it from another process namespace'],
  ])('are refused by a sentence, while the one that is there goes on: %s', async (_how, name, reason) => {
    const directory = await temporaryDirectory()
    const child = startChild(hold, [directory, name])
    expect(await nextLine(child)).toBe('joined')
    const refusal = `The LMDB store in ${directory} cannot be opened: ${reason}, probably`
    const own = expect.stringMatching(new RegExp(`^${process.pid}(\\.\\d+)?$`))
    await expect(openLmdbStore(directory)).rejects.toThrow(refusal)
    expect(await readdir(directory)).toEqual(['processes'])
    child.process.kill('SIGKILL')
    await child.ended
    const store = await openLmdbStore(directory)
    await commitChanges(store, put('first', '1'))
    expect((await readdir(join(directory, 'processes'))).sort()).toEqual([own, 'gate', 'store', 'turnstile', 'writer'])
    await store.close()
    expect((await readdir(join(directory, 'processes'))).sort()).toEqual(['gate', 'store', 'turnstile', 'writer'])
  })

  it('are two handles in one process not: they work beside each other, and close by themselves', async () => {
    const { store, directory } = await usedStore()
    const other = await openLmdbStore(join(directory, '.'))
    await Promise.all([commitChanges(store, put('third', '1')), commitChanges(other, put('fourth', '1'))])
    expect(await entriesIn(store)).toEqual(await entriesIn(other))
    await other.close()
    await commitChanges(store, put('fifth', '1'))
    expect(await entriesIn(store)).toHaveLength(5)
    expect(await readdir(join(directory, 'processes'))).toHaveLength(5)
  })

  it('a second handle is refused where the data was deleted under the first', async () => {
    const { directory } = await usedStore()
    await rm(join(directory, 'data.mdb'))
    await expect(openLmdbStore(directory)).rejects.toThrow('its data.mdb was deleted while it was open')
    expect(await readdir(directory)).not.toContain('data.mdb')
  })

  const unshare = 'unshare --pid --fork --mount-proc --kill-child'
  const canUnshare = spawnSync('bash', ['-c', `${unshare} true`]).status === 0

  it.skipIf(!canUnshare)('are containers on one volume (skipped where namespaces cannot be made)', async () => {
    const directory = await temporaryDirectory()
    const inContainer = () => startChild(useBriefly, [], `exec ${unshare} "$@"`)
    const [first, second] = [inContainer(), inContainer()]
    first.process.stdin.write(`${directory} first keep\n`)
    expect(await nextLine(first)).toBe('done')
    second.process.stdin.end(`${directory} second\n`)
    expect(await nextLine(second)).toMatch(/another process with the number 1 uses it, probably in another container/)
    await expect(openLmdbStore(directory)).rejects.toThrow('process 1 uses it from another process namespace')
    first.process.stdin.end()
    await endsWell(first)
    const store = await openLmdbStore(directory)
    expect(await entriesIn(store)).toEqual(['first=1'])
    await store.close()
  })
})

describe('many processes', () => {
  it('open one empty directory at once, and close it at once, and open it again, without an error', async () => {
    const children = Array.from({ length: 4 }, () => startChild(useBriefly, []))
    for (let round = 0; round < 3 * runs; round += 1) {
      const directory = await temporaryDirectory()
      for (const key of ['first', 'second']) {
        for (const [number, child] of children.entries()) child.process.stdin.write(`${directory} ${key}-${number}\n`)
        expect(await Promise.all(children.map(nextLine))).toEqual(['done', 'done', 'done', 'done'])
      }
      const store = await openLmdbStore(directory)
      expect(await entriesIn(store)).toHaveLength(8)
      await store.close()
    }
    for (const child of children) child.process.stdin.end()
    await Promise.all(children.map(endsWell))
  })

  it('commit while others open, close and are killed: what was acknowledged is there, once', async () => {
    const directory = await temporaryDirectory()
    const random = seededRandom(Number(process.env.ASHLAR_SEED ?? 5))
    const store = await openLmdbStore(directory)
    const acknowledged: string[] = []
    const writers = [1, 2, 3].map((part) => startChild(acknowledge, [directory, String(part * 1_000_000), '4']))
    const readings = writers.map(async ({ lines }) => {
      for await (const line of lines) acknowledged.push(line.padStart(9, '0'))
    })
    const openers = [startChild(useBriefly, []), startChild(useBriefly, [])]
    for (let opening = 0; opening < 30 * runs; opening += 1) {
      for (const [number, opener] of openers.entries())
        opener.process.stdin.write(`${directory} ${number}-${opening}\n`)
      if (opening % 15 === 7) {
        const [victim] = openers.splice(0, 1, startChild(useBriefly, []))
        await new Promise((resolve) => setTimeout(resolve, random() * 5))
        victim?.process.kill('SIGKILL')
        openers[0]?.process.stdin.write(`${directory} new-${opening}\n`)
      }
      for (const told of await Promise.all(openers.map(nextLine))) expect(told).toBe('done')
    }
    for (const opener of openers) opener.process.stdin.end()
    await Promise.all(openers.map(endsWell))
    for (const writer of writers) writer.process.kill('SIGKILL')
    for (const writer of writers) expect((await writer.ended).signal).toBe('SIGKILL')
    await Promise.all(readings)
    const names = await withSnapshot(store, (snapshot) => entriesOf(snapshot, {}, { keysOnly: true }))
    const kept = new Set(names)
    expect(acknowledged.filter((name) => !kept.has(`first/${name}`))).toEqual([])
    for (let opening = 0; opening < 30 * runs; opening += 1) expect(kept).toContain(`1-${opening}`)
    await store.close()
  })
})
