/** The store on LMDB keeps the promises of a store. */
import { describe, expect, it } from 'vitest'
import { EntryChecks } from '../../src/store/lmdb/entry-checks.ts'
import { alwaysOpenGate, type Gate } from '../../src/store/lmdb/gate.ts'
import { openGroupCommit } from '../../src/store/lmdb/group-commit.ts'
import type { Environment } from '../../src/store/lmdb/lmdb-js.ts'
import { openEnvironment } from '../../src/store/lmdb/open-environment.ts'
import type { Bytes, Precondition } from '../../src/store/store.ts'
import { absent, bytes, commitOf, entriesIn, present, put, remove, unchanged, withSnapshot } from './bytes.ts'
import { storeConformance } from './conformance.ts'
import { temporaryDirectory, temporaryLmdb } from './temporary-stores.ts'

storeConformance('lmdb', temporaryLmdb)

it('lmdb: a range that is to be unchanged is read again only if something was committed since, to the same file', async () => {
  const store = await temporaryLmdb.open()
  const name = (): Promise<string | undefined> => withSnapshot(store, async ({ lastCommit }) => lastCommit)
  await store.commit(commitOf([put('a', '1')]))
  // Not what it contains: a range that is read again is found to be another.
  const other = unchanged('a', 'b', [])
  const commit = (key: string, lastCommit: string | undefined) => ({
    ...commitOf([put(key, '1')], [other]),
    lastCommit,
  })
  const first = await name()
  expect(await store.commit(commit('x', first))).toEqual({ isCommitted: true })
  expect(await store.commit(commit('y', first))).toEqual({ isCommitted: false, failed: other })
  const second = await name()
  expect(await store.commit(commit('y', second?.replace(/^\S+/, '1:1')))).toEqual({ isCommitted: false, failed: other })
  expect(await store.commit(commit('y', undefined))).toEqual({ isCommitted: false, failed: other })
  const group = await Promise.all(['y', 'z'].map((key) => store.commit(commit(key, second))))
  expect(group).toEqual([{ isCommitted: true }, { isCommitted: false, failed: other }])
  await store.close()
})

describe('lmdb: a group of commits', () => {
  it('leaves nothing of a commit that breaks in the middle, and the others go through', async () => {
    const store = await temporaryLmdb.open()
    // Looks like bytes to whoever only asks for its length, and throws when it is to be written.
    const broken = {
      length: 3,
      get 0() {
        throw new Error('broken bytes')
      },
    } as unknown as Bytes
    const settled = await Promise.allSettled([
      store.commit(commitOf([put('a', '1')])),
      store.commit(commitOf([put('b', '1'), { kind: 'put', key: bytes('c'), value: broken }])),
      store.commit(commitOf([put('d', '1')])),
    ])
    expect(settled.map((one) => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await entriesIn(store)).toEqual(['a=1', 'd=1'])
    expect(await store.commit(commitOf([put('a', '2')], [present('a'), absent('b')]))).toEqual({ isCommitted: true })
    expect(await entriesIn(store)).toEqual(['a=2', 'd=1'])
    await store.close()
  })

  it('checks what all of its commits require as those before have left it: as it was, written anew, or deleted', async () => {
    const store = await temporaryLmdb.open()
    await store.commit(commitOf([put('version', 'old')]))
    // One object, as the key of the version of the schema is.
    const key = bytes('version')
    const required = (prefix: string): Precondition => ({ kind: 'revision', key, prefix: bytes(prefix) })
    const outcomes = await Promise.all([
      store.commit(commitOf([put('a', '1')], [required('old')])),
      store.commit(commitOf([put('version', 'new')], [required('old')])),
      store.commit(commitOf([put('b', '1')], [required('old')])),
      store.commit(commitOf([put('c', '1')], [required('new')])),
      store.commit(commitOf([put('d', '1')], [required('new')])),
      store.commit(commitOf([remove('version')], [required('new')])),
      store.commit(commitOf([put('e', '1')], [required('new')])),
      store.commit(commitOf([put('f', '1')], [{ kind: 'absent', key }])),
    ])
    expect(outcomes.map(({ isCommitted }) => isCommitted)).toEqual([true, true, false, true, true, true, false, true])
    expect(await entriesIn(store)).toEqual(['a=1', 'c=1', 'd=1', 'f=1'])
    await store.close()
  })

  it('is bounded: many and large commits at once all go through, in their order', async () => {
    const store = await temporaryLmdb.open()
    const many = Array.from({ length: 3_000 }, (_, number) =>
      store.commit(commitOf([put('last', String(number)), put(`k${number}`, 'x'.repeat(4_000))])),
    )
    expect((await Promise.all(many)).every((outcome) => outcome.isCommitted)).toBe(true)
    const entries = await entriesIn(store)
    expect(entries).toHaveLength(3_001)
    expect(entries.at(-1)).toBe('last=2999')
    await store.close()
  })

  // A disk that fails at the meta page alone cannot be had: the environment is one that answers as LMDB does then.
  it('whose very last step failed may have become durable; what waited behind it, and what comes later, has not', async () => {
    const writers: number[] = []
    const unusable: Error[] = []
    const group = openGroupCommit({
      environment: failingAtMetaPage(),
      gate: alwaysOpenGate,
      note: { notePid: (pid) => writers.push(pid) },
      onUnusable: (error) => unusable.push(error),
      files: { check() {}, checkWritten() {} },
      location: 'there',
      checks: new EntryChecks('checked'),
    })
    // Together they are more than a group takes.
    const first = group.commit(commitOf([put('a', 'x'.repeat(4_000_000))]))
    const behind = group.commit(commitOf([put('b', 'x'.repeat(4_000_000))]))
    await expect(first).rejects.toMatchObject({ type: 'OutcomeUnknown' })
    await expect(behind).rejects.toMatchObject({ type: 'StoreUnavailable' })
    const refused = {
      type: 'StoreUnavailable',
      isFatal: false,
      message: expect.stringContaining(
        'i/o error (EIO; is the disk full, or does it fail?). It can be used again once it is closed and opened anew',
      ),
    }
    await expect(group.commit(commitOf([put('c', '1')]))).rejects.toMatchObject(refused)
    expect([unusable, group.problem()]).toMatchObject([[refused], refused])
    // Whether its commit counts is no longer its own to decide.
    expect(writers).toEqual([process.pid, 0])
    await group.close()
  })
})

describe('lmdb: when the way out of the gate fails', () => {
  it('what waits is answered with the error, and what comes later is committed', async () => {
    const opened = await openEnvironment(await temporaryDirectory(), false)
    let failures = 1
    const gate: Gate = {
      ...alwaysOpenGate,
      leave() {
        if (failures-- > 0) throw new Error('Bad file descriptor')
      },
    }
    const group = openGroupCommit({ ...opened, gate, location: 'there', checks: new EntryChecks('checked') })
    // Together they are more than a group takes; the first is committed before the way out.
    const first = group.commit(commitOf([put('a', 'x'.repeat(4_000_000))]))
    const behind = group.commit(commitOf([put('b', 'x'.repeat(4_000_000))]))
    expect(await first).toEqual({ isCommitted: true })
    await expect(behind).rejects.toThrow('The storage of there failed: Error: Bad file descriptor')
    expect(await group.commit(commitOf([put('c', '1')]))).toEqual({ isCommitted: true })
    await group.close()
    await opened.close()
  })
})

/** Takes one commit of the group into its transaction, fails to commit it, and refuses every transaction from then on. */
function failingAtMetaPage(): Environment {
  const commitError = Promise.reject(
    Object.assign(new Error('Input/output error: buffer sizes 4096 -1181256893'), { code: 5 }),
  )
  commitError.catch(() => undefined)
  return {
    async childTransaction(action: () => unknown) {
      action()
      throw Object.assign(new Error('Commit failed'), { commitError })
    },
    getWriteTxnId: () => 1,
    env: { info: () => ({ lastTxnId: 0 }) },
    put: () => true,
    resetReadTxn: () => undefined,
    _commitReadTxn: () => undefined,
    useReadTransaction() {
      throw new Error('MDB_PANIC')
    },
  } as unknown as Environment
}
