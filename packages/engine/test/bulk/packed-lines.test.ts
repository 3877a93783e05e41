/** Lines that only create plain objects are packed into rows, as arrays are: what comes of them is what comes of the same one by one. */
import { expect, it } from 'vitest'
import type { BulkCreate } from '../../src/bulk/bulk-command.ts'
import type { BulkSettings, LineOutcome } from '../../src/bulk/bulk-load.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { PackedChanges } from '../../src/store/packed-rows.ts'
import type { Store } from '../../src/store/store.ts'
import { read, withFd } from '../engine/open-fd.ts'
import { type Creation, classes, creations, faults, makersOf, openWatched } from '../engine/things.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

interface LineDone {
  readonly line: number
  readonly oid?: string
  readonly error?: string
}

const linesOf = (given: readonly Creation[], more: Partial<BulkCreate> = {}): BulkCreate[] =>
  given.map(({ class: name, attributes = {} }, i) => {
    return { kind: 'create', line: i + 1, at: [], class: name, attributes, id: undefined, refersTo: undefined, ...more }
  })

async function loaded(
  fd: FederatedDatabase,
  lines: readonly BulkCreate[],
  settings: BulkSettings = { onError: 'skip' },
): Promise<LineDone[]> {
  const load = fd.beginLoad(settings)
  for (const line of lines) await load.add(line, 100)
  const outcomes = await load.flush()
  await load.end()
  return [...outcomes].map((one) =>
    'error' in one ? { line: one.line, error: (one.error as AshlarError).type } : { line: one.line, oid: one.oid },
  )
}

async function shown(fd: FederatedDatabase, oids: readonly (string | undefined)[]): Promise<unknown[]> {
  const all: unknown[] = []
  for (const oid of oids) {
    if (oid === undefined) continue
    const { __identifier__: _, ...others } = await read(fd, oid)
    all.push(others)
  }
  return all
}

it('objects of lines are those of creations one by one, in the order of the lines', async () => {
  await withFd(classes, async (fd) => {
    const given = creations(300, await makersOf(fd))
    const lines = await loaded(fd, linesOf(given))
    expect(lines.map(({ line }) => line)).toEqual(given.map((_, i) => i + 1))
    const together = await shown(
      fd,
      lines.map(({ oid }) => oid),
    )
    for (const { oid } of lines) await fd.deleteObject(oid as string)
    const inTurn: string[] = []
    for (const one of given) inTurn.push(await fd.createObject(one.class, one.attributes ?? {}))
    expect(together).toEqual(await shown(fd, inTurn))
  })
})

it.each(faults)('%s: its line fails, and the others are taken', async (_what, type, fault) => {
  await withFd(classes, async (fd) => {
    const makers = await makersOf(fd)
    const gone = await fd.createObject('Maker', {})
    await fd.deleteObject(gone)
    const thing = await fd.createObject('Thing', { name: 'taken' })
    const lines = linesOf(fault(creations(120, makers), { gone, thing }))
    const outcomes = await loaded(fd, lines)
    expect(outcomes.filter(({ error }) => error !== undefined)).toEqual([{ line: 78, error: type }])
    expect(new Set(outcomes.map(({ oid }) => oid)).size).toBe(120)
    const atomic = loaded(fd, lines, { onError: 'stop', isAtomic: true })
    await expect(atomic).rejects.toBeInstanceOf(AshlarError)
  })
})

it('lines are packed unless they refer to others, are updates where a key is there, or are of classes with links', async () => {
  const { fd, arePacked } = await openWatched()
  await makersOf(fd)
  const named = (name: string): Creation[] =>
    Array.from({ length: 100 }, (_, i) => ({ class: 'Thing', attributes: { name: `${name} ${i}` } }))
  arePacked.length = 0
  await loaded(fd, linesOf(named('plain')))
  await loaded(
    fd,
    linesOf(named('with id')).map((line, i) => ({ ...line, id: `x${i}` })),
  )
  await loaded(fd, linesOf(named('escaped'), { refersTo: [] }))
  await loaded(fd, linesOf(named('keyed')), { onError: 'skip', upsertOn: 'byName' })
  await loaded(fd, linesOf(Array.from({ length: 100 }, () => ({ class: 'Part', attributes: {} }))))
  expect(arePacked).toEqual([true, true, false, false, false])
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
})

it('a load of very many lines that is one commit is packed, and refused as a whole where one of them fails', async () => {
  const store = await openStoreOfRun()
  let packed = 0
  const watched: Store = {
    ...store,
    commit(commit) {
      if (commit.changes instanceof PackedChanges) packed = commit.changes.length
      return store.commit(commit)
    },
  }
  const fd = await FederatedDatabase.open({ alias: 'test', store: watched, changeLog: 'on' })
  await fd.defineClasses(classes, 'create')
  await makersOf(fd)
  const many = (name: string, count: number): Creation[] =>
    Array.from({ length: count }, (_, i) => ({ class: 'Thing', attributes: { name: `${name} ${(i * 7) % count}` } }))
  const atomic = (given: Creation[]): Promise<LineDone[]> =>
    loaded(fd, linesOf(given), { onError: 'stop', isAtomic: true })
  const outcomes = await atomic(many('one', 10_501))
  expect(packed).toBe(3 * 10_501)
  expect(outcomes.map(({ line }) => line)).toEqual(outcomes.map((_, i) => i + 1))
  expect((await read(fd, outcomes[10_001]?.oid as string)).name).toBe('one 7001')
  const taken = many('two', 300).with(250, { class: 'Thing', attributes: { name: 'one 5' } })
  await expect(atomic(taken)).rejects.toMatchObject({ type: 'UniqueViolation', extensions: { line: 251 } })
  const { objects, problems } = await fd.verify()
  expect({ objects, problems }).toEqual({ objects: 10_504, problems: [] })
  await fd.close()
})

it('later lines refer to packed ones by their ids', async () => {
  await withFd(classes, async (fd) => {
    const load = fd.beginLoad({ onError: 'stop' })
    const makers = Array.from({ length: 60 }, (_, i) => ({ class: 'Maker', attributes: { name: `${i}` } }))
    for (const line of linesOf(makers)) load.add({ ...line, id: `m${line.line}` }, 100)
    const made = [...(await load.flush())]
    const refersTo = ['m7']
    const [thing] = linesOf([{ class: 'Thing', attributes: { maker: `\${${refersTo[0]}}` } }], { refersTo })
    load.add({ ...(thing as BulkCreate), line: 61 }, 100)
    const [done] = await load.flush()
    const oidOf = (outcome: LineOutcome | undefined): string => (outcome as { readonly oid: string }).oid
    expect((await read(fd, oidOf(done))).maker).toBe(oidOf(made[6]))
  })
})
