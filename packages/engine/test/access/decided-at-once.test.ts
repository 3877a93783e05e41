/** Rules that the record of an object decides are asked where it lies: nobody waits for a promise, and nothing of hidden objects is copied. */
import { expect, it, vi } from 'vitest'
import type { Grant } from '../../src/access/access-policy.ts'
import { Visibility } from '../../src/access/visibility.ts'
import { classOf, index, toOne, withFd } from '../engine/open-fd.ts'
import { rowTexts } from '../row-texts.ts'

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
