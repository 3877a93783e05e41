/** Rules that the record of an object decides are asked where it lies: nobody waits for a promise, and nothing of hidden objects is copied. */
import { expect, it, vi } from 'vitest'
import type { Grant } from '../../src/access/access-policy.ts'
import { ObjectRules } from '../../src/access/object-rules.ts'
import { Visibility } from '../../src/access/visibility.ts'
import { MemoryPool } from '../../src/budget/memory-pool.ts'
import type { Database } from '../../src/database-operations.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, index, toOne, withFd } from '../engine/open-fd.ts'
import { rowTexts } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

const user = { name: 'u7', roles: [], claims: {} }
const allows = (className: string, read: string): Grant => ({
  on: { kind: 'class', className },
  actions: ['read', 'query'],
  rules: { read },
})
const classes = [
  classOf('Team', { open: 'boolean' }),
  classOf('Doc', { n: 'integer', team: 'integer' }),
  classOf('Paper', { n: 'integer', team: toOne('Team') }),
]
const count = 1_000

it('a scan by a caller with a rule asks of no object what has to be waited for', () =>
  withFd(classes, async (fd, store) => {
    await fd.createObjects(Array.from({ length: count }, (_, n) => ({ class: 'Doc', attributes: { n, team: n % 2 } })))
    const half = fd.as({ user, grants: [allows('Doc', 'team = 1')] })
    const asked = vi.spyOn(Visibility.prototype, 'refusedAmong')
    const rows = await rowTexts(await half.query({ text: 'FROM Doc RETURN COUNT() AS c, MIN(n) AS least' }))
    const open = asked.mock.calls.reduce((sum, [candidates]) => sum + candidates.size, 0)
    asked.mockRestore()
    expect(rows.map((row) => JSON.parse(row))).toEqual([{ c: count / 2, least: 1 }])
    if (store.capabilities.hasSynchronousReads) expect(open).toBe(0)
  }))

it('objects that are found by an index are asked for at once, and what others decide as before', () =>
  withFd(classes, async (fd, store) => {
    await fd.createIndex(index('byN', 'Doc', false, 'n'))
    const teams = await fd.createObjects([
      { class: 'Team', attributes: { open: true } },
      { class: 'Team', attributes: { open: false } },
    ])
    const made = (className: string, team: (n: number) => unknown): object[] => {
      return Array.from({ length: count }, (_, n) => ({ class: className, attributes: { n, team: team(n) } }))
    }
    await fd.createObjects(made('Doc', (n) => n % 2) as never)
    await fd.createObjects(made('Paper', (n) => teams[n % 2]) as never)
    const half = fd.as({
      user,
      grants: [allows('Doc', 'team = 1'), allows('Paper', 'team.open'), allows('Team', 'true')],
    })
    const asked = vi.spyOn(Visibility.prototype, 'refusedAmong')
    // No slice is used up meanwhile.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    const rows = await rowTexts(await half.query({ text: 'FROM Doc WHERE n >= 10 AND n < 20 RETURN n' }))
    clock.mockRestore()
    const answers = asked.mock.results.map(({ value }) => value)
    asked.mockRestore()
    expect(rows.map((row) => JSON.parse(row).n).sort()).toEqual([11, 13, 15, 17, 19])
    if (store.capabilities.hasSynchronousReads) {
      expect(answers.length).toBeGreaterThan(0)
      expect(answers.every((answer) => answer instanceof Set)).toBe(true)
    }
    const papers = await rowTexts(await half.query({ text: 'FROM Paper WHERE n < 10 RETURN n' }))
    expect(papers.map((row) => JSON.parse(row).n).sort()).toEqual([0, 2, 4, 6, 8])
    const [limited] = await rowTexts(await half.query({ text: 'FROM Paper SKIP 3 TAKE 1 RETURN n' }))
    expect(JSON.parse(limited ?? '')).toEqual({ n: 6 })
  }))

it('a read by OID is decided where the record lies, with what was made for the caller before', () =>
  withFd([classOf('Doc', { owner: 'string', n: 'integer' })], async (fd, store) => {
    const made = ['u1', 'u2'].map((owner, n) => ({ class: 'Doc', attributes: { owner, n } }))
    const [first = '', second = ''] = await fd.createObjects(made)
    const grants = [allows('Doc', 'owner = $$USER.name AND n < 10')]
    const [one, other] = [
      fd.as({ user: { ...user, name: 'u1' }, grants }),
      fd.as({ user: { ...user, name: 'u2' }, grants }),
    ]
    const isSeen = async (database: Database, oid: string): Promise<boolean> => {
      try {
        await database.readObject(oid)
        return true
      } catch (error) {
        expect(error).toMatchObject({ type: 'ObjectNotFound' })
        return false
      }
    }
    const seen = async (): Promise<boolean[]> => {
      const all: boolean[] = []
      for (const oid of [first, second]) for (const database of [one, other]) all.push(await isSeen(database, oid))
      return all
    }
    expect(await seen()).toEqual([true, false, false, true])
    const asked = vi.spyOn(Visibility.prototype, 'refusedAmong')
    const bound = vi.spyOn(ObjectRules.prototype, 'compile')
    expect(await seen()).toEqual([true, false, false, true])
    expect(await isSeen(one, `${first.slice(0, first.lastIndexOf('-'))}-999`)).toBe(false)
    const calls = asked.mock.calls.length + bound.mock.calls.length
    asked.mockRestore()
    bound.mockRestore()
    expect(calls).toBe(0)
    if (store.capabilities.hasSynchronousReads) expect(Buffer.isBuffer(one.readObject(first))).toBe(true)
    // What was made before says nothing of what has changed since.
    await fd.updateObject(first, { owner: 'u2' })
    expect(await seen()).toEqual([false, true, false, true])
    await fd.alterClass('Doc', { attributesToRename: [{ originalName: 'owner', newName: 'author' }] })
    expect(await seen()).toEqual([false, false, false, false])
  }))

it('a rule that depends on the time is asked anew for each read', () =>
  withFd([classOf('Doc', { until: 'datetime' })], async (fd) => {
    const [oid = ''] = await fd.createObjects([{ class: 'Doc', attributes: { until: '2100-01-01T00:00:00Z' } }])
    const reader = fd.as({ user, grants: [allows('Doc', 'until > NOW()')] })
    expect(String(await reader.readObject(oid))).toContain('2100')
    await fd.updateObject(oid, { until: '2000-01-01T00:00:00Z' })
    await expect((async () => reader.readObject(oid))()).rejects.toMatchObject({ type: 'ObjectNotFound' })
  }))

it('a scan asks rules of records that lie in one batch for no more than a slice of work at once', () =>
  withFd([classOf('Doc', { body: 'string' })], async (fd, store) => {
    const body = 'abcdefgh'.repeat(500)
    await fd.createObjects(Array.from({ length: 200 }, () => ({ class: 'Doc', attributes: { body } })))
    // Some 16,000 steps for each object, of the 500,000 after which others have their turn.
    const reader = fd.as({ user, grants: [allows('Doc', "body =~ 'abc.*h'")] })
    const asked = vi.spyOn(Visibility.prototype, 'refusedAmong')
    const rows = await rowTexts(await reader.query({ text: 'FROM Doc RETURN COUNT() AS c' }))
    const later = asked.mock.calls.reduce((sum, [candidates]) => sum + candidates.size, 0)
    asked.mockRestore()
    expect(rows.map((row) => JSON.parse(row))).toEqual([{ c: 200 }])
    if (store.capabilities.hasSynchronousReads) expect(later).toBeGreaterThan(100)
  }))

it('what a rule takes of the memory for all requests is given back, whoever asks', async () => {
  const memory = new MemoryPool()
  const fd = await FederatedDatabase.open({ alias: 'test', store: await openStoreOfRun(), memory })
  await fd.defineClasses([classOf('Doc', { body: 'string' })], 'create')
  const made = ['x', 'y'].map((letter) => ({ class: 'Doc', attributes: { body: letter.repeat(2_000_000) } }))
  const [seen = '', hidden = ''] = await fd.createObjects(made)
  for (const name of ['u1', 'u2', 'u3']) {
    const reader = fd.as({ user: { ...user, name }, grants: [allows('Doc', "SUBSTR(UPPER(body), 0, 1) = 'X'")] })
    expect((await reader.readObject(seen)).length).toBeGreaterThan(2_000_000)
    await expect((async () => reader.readObject(hidden))()).rejects.toMatchObject({ type: 'ObjectNotFound' })
    expect(await rowTexts(await reader.query({ text: 'FROM Doc RETURN COUNT() AS c' }))).toEqual(['{"c":1}'])
  }
  expect(memory.bytes).toBe(0)
  await fd.close()
})
