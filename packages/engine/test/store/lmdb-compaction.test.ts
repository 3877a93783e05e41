/** LMDB: a store is compacted while processes read and write it, and nothing is lost, doubled, hidden or refused. */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { appendSpace } from '../../src/store/append.ts'
import { scanAppended } from '../../src/store/append-blocks.ts'
import { changedKeys } from '../../src/store/lmdb/changed-keys.ts'
import { metaPages, newerMeta } from '../../src/store/lmdb/check-data-file.ts'
import { compactLmdbStore } from '../../src/store/lmdb/compact.ts'
import { DataFile, type TreeHeader } from '../../src/store/lmdb/data-file.ts'
import { openGate } from '../../src/store/lmdb/gate.ts'
import { processDirectory } from '../../src/store/lmdb/live-processes.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { readMainTree } from '../../src/store/lmdb/main-tree.ts'
import { openEnvironment } from '../../src/store/lmdb/open-environment.ts'
import { ReplacementWatch } from '../../src/store/lmdb/replacement-watch.ts'
import { verifyLmdbFile } from '../../src/store/lmdb/verify-lmdb-file.ts'
import { PageOwners } from '../../src/store/lmdb/walk-tree.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { commitChanges, entriesIn, entriesOf, pinnedSnapshot, put, remove, text, withSnapshot } from './bytes.ts'
import { type Child, startChild } from './children/child.ts'
import { temporaryDirectory } from './temporary-stores.ts'
import { seededRandom } from './wrappers/seeded-random.ts'

const runs = Math.max(1, Number(process.env.ASHLAR_RUNS ?? 1))
const compacting = new URL('./children/compact.ts', import.meta.url)
const acknowledge = new URL('./children/acknowledge.ts', import.meta.url)
const countOnRequest = new URL('./children/count-on-request.ts', import.meta.url)
const random = seededRandom(Number(process.env.ASHLAR_SEED ?? 24))
const options = { signal: new AbortController().signal }

const prefix = Buffer.of(appendSpace, 0, 0, 0, 0, 1)

/** Changes a store at random, and knows what it holds, and what was appended. */
class Model {
  readonly values = new Map<string, string>()
  private readonly appended: string[] = []
  private readonly store: Store

  constructor(store: Store) {
    this.store = store
  }

  async change(count: number): Promise<void> {
    const changes: Change[] = []
    const keys = new Set<string>()
    while (keys.size < count) keys.add(`key ${Math.floor(random() * 5_000)}`)
    for (const key of keys) {
      const isRemoved = random() < 0.4
      const value = String.fromCharCode(97 + random() * 26).repeat(random() < 0.02 ? 9_000 : random() * 120)
      changes.push(isRemoved ? remove(key) : put(key, value))
      if (isRemoved) this.values.delete(key)
      else this.values.set(key, value)
    }
    const value = `${this.appended.length} ${'x'.repeat(random() * 200)}`
    this.appended.push(value)
    await this.store.commit({ changes, preconditions: [], append: { prefix, values: [Buffer.from(value)] } })
  }

  async expectAppended(store: Store): Promise<void> {
    const found: string[] = []
    await withSnapshot(store, async (snapshot) => {
      for await (const batch of scanAppended(snapshot, prefix, 1, Number.MAX_SAFE_INTEGER))
        found.push(...batch.map(({ value }) => text(value)))
    })
    expect(found).toEqual(this.appended)
  }

  entries(): string[] {
    return [...this.values].map(([key, value]) => `${key}=${value}`).toSorted(byKey)
  }
}

function byKey(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one.split('=')[0] as string), Buffer.from(other.split('=')[0] as string))
}

async function usedStore(): Promise<{ directory: string; store: Store; model: Model }> {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  onTestFinished(() => store.close())
  const model = new Model(store)
  for (let round = 0; round < 30; round++) await model.change(300)
  return { directory, store, model }
}

async function reportOf(child: Child): Promise<{ error?: string; bytesBefore: number; bytesAfter: number }> {
  const { value, done } = await child.lines.next()
  if (done === true) throw new Error(`The child ended: ${JSON.stringify(await child.ended)}`)
  return JSON.parse(value)
}

function leftIn(directory: string): string[] {
  const ofProcesses = readdirSync(join(directory, 'processes')).filter(
    (name) => !/^(\d|gate|turnstile|store|writer)/.test(name),
  )
  return [...readdirSync(directory).filter((name) => !/^(data\.mdb|lock\.mdb|processes)$/.test(name)), ...ofProcesses]
}

/** How often this process has the file open that has the path now. */
function openingsOf(path: string): () => number {
  const { ino, dev } = statSync(path)
  return () => {
    return readdirSync('/proc/self/fd').filter((descriptor) => {
      const found = statSync(`/proc/self/fd/${descriptor}`, { throwIfNoEntry: false })
      return found?.ino === ino && found.dev === dev
    }).length
  }
}

/** Of what the models have written. */
function expectSame(found: readonly string[], wanted: readonly string[]): void {
  const ofModel = (entries: readonly string[]) => new Set(entries.filter((entry) => entry.startsWith('key ')))
  const [one, other] = [ofModel(found), ofModel(wanted)]
  expect([...one].filter((entry) => !other.has(entry)).slice(0, 3)).toEqual([])
  expect([...other].filter((entry) => !one.has(entry)).slice(0, 3)).toEqual([])
}

async function expectSound(directory: string): Promise<void> {
  expect(await verifyLmdbFile(directory, String)).toMatchObject({ problems: [], isReadable: true })
}

function stateOf(directory: string): { tree: TreeHeader; file: DataFile; pageBytes: number } {
  const file = new DataFile(join(directory, 'data.mdb'))
  const meta = newerMeta(metaPages(file))
  if (meta === undefined) throw new Error('no meta page')
  const problem = (text: string): never => {
    throw new Error(text)
  }
  const tree = readMainTree({ file, ...meta, owners: new PageOwners(0), problem }, meta)?.tree as TreeHeader
  return { tree, file, pageBytes: meta.pageBytes }
}

describe('what was changed between two states', () => {
  it('is found by the pages: every key that differs, and no other', async () => {
    const { directory, store, model } = await usedStore()
    for (let round = 0; round < 20 * runs; round++) {
      const pin = await pinnedSnapshot(store)
      const [before, values] = [stateOf(directory), new Map(model.values)]
      const commits = Math.floor(random() * 5)
      for (let commit = 0; commit < commits; commit++) await model.change(1 + random() * (round % 4 === 0 ? 2_000 : 20))
      if (round === 10) {
        await commitChanges(store, ...[...model.values.keys()].map(remove))
        model.values.clear()
      }
      const after = stateOf(directory)
      const found = [...changedKeys(after, before.tree, after.tree)].map(String).filter((key) => key.startsWith('key '))
      const all = new Set([...values.keys(), ...model.values.keys()])
      const differing = [...all].filter((key) => values.get(key) !== model.values.get(key)).toSorted(byKey)
      // A value that was written anew is another to the pages where it is long, though it is the same.
      const rewritten = found.filter((key) => (values.get(key)?.length ?? 0) > 2_000)
      expect(found.filter((key) => !rewritten.includes(key))).toEqual(
        differing.filter((key) => !rewritten.includes(key)),
      )
      expect(differing.filter((key) => !found.includes(key))).toEqual([])
      pin.release()
      before.file.close()
      after.file.close()
    }
  })
})

describe('a compaction', () => {
  it('leaves every process with the same entries in a smaller file, which snapshots of before outlive', async () => {
    const { directory, store, model } = await usedStore()
    const writer = startChild(acknowledge, [directory, '0', '4'])
    await writer.lines.next()
    const former = await pinnedSnapshot(store)
    const formerEntries = await entriesOf(former)
    const writing = { isOver: false }
    const changing = (async () => {
      while (!writing.isOver) await model.change(5)
    })()
    const { error, bytesBefore, bytesAfter } = await reportOf(startChild(compacting, [directory]))
    expect(error).toBeUndefined()
    expect(bytesAfter).toBeLessThan(bytesBefore)
    const acknowledged = await numbersUntil(writer, 50)
    writing.isOver = true
    await changing
    writer.process.kill('SIGKILL')
    expect((await writer.ended).errors).toBe('')
    expectSame(await entriesOf(former), formerEntries)
    former.release()
    await expect.poll(() => openedAndDeleted(directory)).toEqual([])
    const entries = await entriesIn(store)
    expectSame(entries, model.entries())
    await model.expectAppended(store)
    const kept = new Set(entries.map((entry) => entry.split('=')[0]))
    for (const number of acknowledged) expect(kept.has(`third/${String(number).padStart(9, '0')}`)).toBe(true)
    expect(leftIn(directory)).toEqual([])
    await store.close()
    await expectSound(directory)
  })

  it('hides no acknowledged change from another process', async () => {
    const { directory, store } = await usedStore()
    const child = startChild(countOnRequest, [directory])
    const compaction = startChild(compacting, [directory])
    const ended = { isSo: false }
    const report = reportOf(compaction).finally(() => {
      ended.isSo = true
    })
    const stale: string[] = []
    for (let round = 0; round < 100 || !ended.isSo; round++) {
      child.process.stdin.write('next\n')
      const { value: acknowledged } = await child.lines.next()
      const own = await store.snapshot()
      const seen = await own.view(Buffer.from('count'), (value) => Buffer.from(value).toString())
      if (seen !== acknowledged) stale.push(`${acknowledged} was acknowledged, ${seen} was seen`)
      own.release()
    }
    expect((await report).error).toBeUndefined()
    child.process.stdin.end()
    expect(await child.ended).toMatchObject({ code: 0 })
    expect(stale).toEqual([])
  })

  const steps = ['copied', 'caught up', 'linked', 'replaced', 'lock table replaced']
  it('that is killed after any step leaves the old file or the new one, and all at work', async () => {
    const { directory, store, model } = await usedStore()
    const other = startChild(acknowledge, [directory, '0', '1'])
    const acknowledged = [...(await numbersUntil(other, 1))]
    for (const step of steps) {
      const compaction = startChild(compacting, [directory, step])
      let isOver = false
      const ended = compaction.ended.finally(() => {
        isOver = true
      })
      while (!isOver) await model.change(3)
      expect(await ended, step).toMatchObject({ signal: 'SIGKILL' })
      await model.change(10)
      acknowledged.push(...(await numbersUntil(other, 20)))
      const newcomer = await openLmdbStore(directory)
      await commitChanges(newcomer, put('newcomer', step))
      expectSame(await entriesIn(newcomer), model.entries())
      await model.expectAppended(newcomer)
      await newcomer.close()
    }
    other.process.kill('SIGKILL')
    expect((await other.ended).errors).toBe('')
    expect((await reportOf(startChild(compacting, [directory]))).error).toBeUndefined()
    expect(leftIn(directory)).toEqual([])
    const entries = await entriesIn(store)
    expectSame(entries, model.entries())
    await model.expectAppended(store)
    const kept = new Set(entries.map((entry) => entry.split('=')[0]))
    expect(acknowledged.filter((number) => !kept.has(`first/${String(number).padStart(9, '0')}`))).toEqual([])
    await store.close()
    await expectSound(directory)
  })

  it('that exits while nobody else may commit, since its parent was killed, keeps nobody waiting', async () => {
    const { directory, store, model } = await usedStore()
    for (const step of ['caught up', 'replaced']) {
      const compaction = startChild(compacting, [directory, step, 'exits'])
      expect(await compaction.ended, step).toMatchObject({ code: 0, signal: null })
      await model.change(10)
      expectSame(await entriesIn(store), model.entries())
    }
    await store.close()
    await expectSound(directory)
  })

  it('of a store that nobody has open is opened by the next, whichever step it was killed after', async () => {
    const { directory, store, model } = await usedStore()
    await store.close()
    for (const step of steps.slice(1)) {
      await startChild(compacting, [directory, step]).ended
      const next = await openLmdbStore(directory)
      expectSame(await entriesIn(next), model.entries())
      await model.expectAppended(next)
      await next.close()
      await expectSound(directory)
    }
  })

  // Whoever is the last to close a deleted file gives back its pages: with gigabytes that takes seconds.
  it.skipIf(process.platform !== 'linux')(
    'has LMDB close the former file while that is still open: it is given back aside',
    async () => {
      const directory = await temporaryDirectory()
      const filled = await openLmdbStore(directory)
      await commitChanges(filled, put('key', 'value'))
      await filled.close()
      const opened = await openEnvironment(directory, false)
      onTestFinished(() => opened.close())
      let isKept = true
      const watch = new ReplacementWatch(
        directory,
        opened,
        () => isKept,
        () => undefined,
      )
      onTestFinished(() => watch.close())
      const former = opened.environment
      const openings = openingsOf(join(directory, 'data.mdb'))
      const report = await reportOf(startChild(compacting, [directory]))
      expect(report.error).toBe(undefined)
      expect(opened.environment).not.toBe(former)
      const close = former.close.bind(former)
      const afterwards = new Promise<number>((resolve) => {
        former.close = async () => {
          await close()
          resolve(openings())
        }
      })
      expect(openings()).toBeGreaterThan(1)
      isKept = false
      expect(await afterwards).toBe(1)
      await expect.poll(openings).toBe(0)
    },
  )
})

describe('a compaction is refused, and the store stays as it was', () => {
  it('where a process does not notice it', async () => {
    const { directory, store, model } = await usedStore()
    const other = startChild(countOnRequest, [directory])
    other.process.stdin.write('next\n')
    await other.lines.next()
    // What it has committed is acknowledged before it has left the gate, in which it is not to be stopped.
    const gate = openGate(processDirectory(directory))
    expect(await gate.enterAlone(60_000)).toBe(true)
    gate.close()
    other.process.kill('SIGSTOP')
    const told = compactLmdbStore(directory, { ...options, noticeMsMax: 50 })
    await expect(told).rejects.toThrow(`process ${other.process.pid} has it open and does not notice`)
    other.process.kill('SIGKILL')
    await other.ended
    expect(leftIn(directory)).toEqual([])
    expectSame(await entriesIn(store), model.entries())
  })

  it('where the disk is full', async () => {
    const { directory, store, model } = await usedStore()
    // Files may not grow beyond 512 KiB, and the signal that would end the process is ignored.
    const child = startChild(compacting, [directory], `trap '' XFSZ; ulimit -f 512`)
    const { error } = await reportOf(child)
    expect(error).toMatch(/^Error: The LMDB store in .* is not compacted: .*(disk is full|disk full|large)/)
    expect(leftIn(directory)).toEqual([])
    await model.change(10)
    expectSame(await entriesIn(store), model.entries())
  })

  it('where an entry is damaged', async () => {
    const { directory, store, model } = await usedStore()
    await commitChanges(store, put('zzz', 'to be damaged'))
    await store.close()
    const data = join(directory, 'data.mdb')
    const file = readFileSync(data)
    for (let at = file.indexOf('to be damaged'); at >= 0; at = file.indexOf('to be damaged', at + 1)) file[at] = 84
    writeFileSync(data, file)
    const { ino } = statSync(data)
    await expect(compactLmdbStore(directory, options)).rejects.toThrow(/is not compacted: .*its checksum does not fit/)
    expect(statSync(data).ino).toBe(ino)
    expect(leftIn(directory)).toEqual([])
    expect(model.values.size).toBeGreaterThan(0)
  })

  it('where there is none, and while there is another', async () => {
    const { directory } = await usedStore()
    await expect(compactLmdbStore(join(directory, 'none'), options)).rejects.toThrow('there is no such directory')
    const first = compactLmdbStore(directory, options)
    // Without a wait, in which the first might end.
    await expect(compactLmdbStore(directory, { ...options, noticeMsMax: 0 })).rejects.toThrow(
      'another process is compacting it',
    )
    await first
  })
})

/** What the child has acknowledged up to now, and so many more. */
async function numbersUntil(child: Child, count: number): Promise<number[]> {
  const numbers: number[] = []
  while (numbers.length < count) {
    const { value, done } = await child.lines.next()
    if (done === true) throw new Error(`The child ended: ${JSON.stringify(await child.ended)}`)
    numbers.push(Number(value))
  }
  return numbers
}

/** Linux tells which files of the directory this process has open, or mapped, that are there no more. */
function openedAndDeleted(directory: string): string[] {
  if (!existsSync('/proc/self/fd')) return []
  const opened = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`)
    } catch {
      // The descriptor of the listing itself.
      return ''
    }
  })
  const mapped = readFileSync('/proc/self/maps', 'utf8').split('\n')
  return [...opened, ...mapped].filter((path) => path.includes(directory) && path.endsWith('(deleted)'))
}
