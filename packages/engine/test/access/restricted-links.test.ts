/** What stays of values and links of which a restricted caller sees a part (contract 9.4). */
import { describe, expect, it } from 'vitest'
import type { AccessPolicy, Grant } from '../../src/access/access-policy.ts'
import type { CallerDatabase } from '../../src/caller-operations.ts'
import type { Database } from '../../src/database-operations.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { entityTagOf } from '../../src/objects/condition.ts'
import { index } from '../engine/open-fd.ts'
import { rowTexts } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

const setUp = `UPDATE SCHEMA {
  CREATE CLASS D.Spot EMBEDDABLE {town: String, code: String, at: Reference{Referenced: D.Team}}
  CREATE CLASS D.Person {name: String, team: Reference{Referenced: D.Team, Inverse: people},
    partner: Reference{Referenced: D.Person, Inverse: partner}, boss: Reference{Referenced: D.Person},
    spot: Object{Class: D.Spot}, spots: List{Element: Object{Class: D.Spot}}, friends: List{Element: Reference{Referenced: D.Person}},
    byName: Map{Element: Reference{Referenced: D.Person}}}
  CREATE CLASS D.Team {title: String, isOpen: Boolean, people: List{Element: Reference{Referenced: D.Person, Inverse: team}}}
}`

const user = { name: 'bob', roles: [], claims: {} }
const all = ['read', 'create', 'update', 'delete'] as const
const on = (className: string, more: Partial<Grant> = {}): Grant => ({
  on: { kind: 'class', className },
  actions: all,
  ...more,
})
const visible = { rules: { read: "NOT name = 'hidden' AND NOT name = 'other'" } }
const bob: AccessPolicy = {
  user,
  grants: [
    on('D.Person', visible),
    on('D.Team', { rules: { read: 'isOpen OR title = null', update: "NOT title = 'fixed'" } }),
    on('D.Spot', { hidden: ['code'] }),
  ],
}

type Row = Record<string, unknown>
interface World {
  readonly fd: FederatedDatabase
  readonly database: CallerDatabase
  person(name: string, more?: Row): Promise<string>
  team(title: string, isOpen: boolean, more?: Row): Promise<string>
  read(oid: string, from?: Database): Promise<Row>
}

const noOid = '0-0-0-0'

async function withWorld(use: (world: World) => Promise<void>, policy = bob): Promise<void> {
  const fd = await FederatedDatabase.open({ alias: 'links', store: await openStoreOfRun() })
  await rowTexts(await fd.query({ text: setUp }))
  await use({
    fd,
    database: fd.as(policy),
    person: (name, more = {}) => fd.createObject('D.Person', { name, ...more }),
    team: (title, isOpen, more = {}) => fd.createObject('D.Team', { title, isOpen, ...more }),
    read: async (oid, from = fd) => JSON.parse((await from.readObject(oid)).toString()) as Row,
  })
  await fd.close()
}

async function failure(act: () => unknown): Promise<AshlarError> {
  try {
    await act()
  } catch (error) {
    if (error instanceof AshlarError) return error
    throw error
  }
  throw new Error('it did not fail')
}

const valueRefused = (attribute: string, cls = 'D.Person') =>
  `The caller may not update attribute ${attribute} of class ${cls} to that value.`

describe('what a restricted caller replaces', () => {
  it('keeps a reference to what is hidden where it is set to nothing, and cannot set it to something else', () =>
    withWorld(async ({ database, person, team, read }) => {
      const [hidden, other, closed, open] = [
        await person('hidden'),
        await person('a'),
        await team('t', false),
        await team('o', true),
      ]
      const oid = await person('p', { boss: hidden, team: closed, spot: { at: closed } })
      expect(await read(oid, database)).toMatchObject({ boss: noOid, team: noOid, spot: { at: noOid } })
      await database.updateObject(oid, { boss: null, team: noOid, spot: { at: null, town: 'x' } })
      expect(await read(oid)).toMatchObject({ boss: hidden, team: closed, spot: { at: closed, town: 'x' } })
      const refused: [string, Row][] = [
        [valueRefused('boss'), { boss: other }],
        [valueRefused('team'), { team: open }],
        [valueRefused('at', 'D.Spot'), { spot: { at: open } }],
      ]
      for (const [message, change] of refused) {
        const error = await failure(() => database.updateObject(oid, change))
        expect([error.type, error.message]).toEqual(['Forbidden', message])
      }
      expect(await read(oid)).toMatchObject({ boss: hidden, team: closed, spot: { at: closed, town: 'x' } })
    }))

  it('keeps hidden elements of lists at their places, whether they are in the record or links', () =>
    withWorld(async ({ database, person, team, read }) => {
      const [a, b, c] = [await person('a'), await person('b'), await person('c')]
      const [hidden, other] = [await person('hidden'), await person('other')]
      const list = [a, hidden, b, other]
      const oid = await person('p', { friends: list })
      const open = await team('t', true, { people: list })
      const lists = async () => [(await read(oid)).friends, (await read(open)).people]
      const change = async (value: unknown) => {
        await database.updateObject(oid, { friends: value })
        await database.updateObject(open, { people: value })
      }
      await change([a, b])
      expect(await lists()).toEqual([list, list])
      await change([b, a, c])
      expect(await lists()).toEqual([
        [b, hidden, a, other, c],
        [b, hidden, a, other, c],
      ])
      await change([c])
      expect(await lists()).toEqual([
        [c, hidden, other],
        [c, hidden, other],
      ])
      await change({ action: 'remove', elements: [hidden, c] })
      expect(await lists()).toEqual([
        [hidden, other],
        [hidden, other],
      ])
      await change(null)
      expect(await lists()).toEqual([
        [hidden, other],
        [hidden, other],
      ])
      expect((await read(hidden)).team).toBe(open)
    }))

  it('keeps hidden pairs of maps, and cannot put a key that one of them has', () =>
    withWorld(async ({ database, person, read }) => {
      const [a, hidden] = [await person('a'), await person('hidden')]
      const oid = await person('p', { byName: { one: hidden, two: a } })
      await database.updateObject(oid, { byName: { three: a } })
      expect((await read(oid)).byName).toEqual({ one: hidden, three: a })
      await database.updateObject(oid, { byName: { action: 'remove', pairs: ['one', 'three'] } })
      expect((await read(oid)).byName).toEqual({ one: hidden })
      for (const byName of [{ one: a }, { action: 'add', pairs: [{ key: 'one', value: a }] }]) {
        const error = await failure(() => database.updateObject(oid, { byName }))
        expect([error.type, error.message]).toEqual(['Forbidden', valueRefused('byName')])
      }
    }))

  it('keeps what embedded objects hide, also where some of a list are taken away or put between', () =>
    withWorld(async ({ database, person, team, read }) => {
      const closed = await team('t', false)
      const spots = ['a', 'b', 'c', 'd'].map((town) => ({ town, code: `code ${town}`, at: closed }))
      const shown = (towns: readonly string[]) => towns.map((town) => ({ town, at: noOid }))
      const oid = await person('p', { spots, spot: spots[0] as Row })
      const after = async (value: unknown): Promise<unknown[]> => {
        await database.updateObject(oid, { spots: value })
        return ((await read(oid)).spots as Row[]).map(({ town, code, at }) => [town, code, at])
      }
      const kept = (town: string, code = `code ${town}`) => [town, code, closed]
      expect(await after(shown(['b', 'd']))).toEqual([kept('b'), kept('d')])
      expect(await after(shown(['new', 'b', 'x', 'd']))).toEqual([
        ['new', '', noOid],
        kept('b'),
        ['x', '', noOid],
        kept('d'),
      ])
      expect(await after(shown(['y', 'b', 'x', 'd']))).toEqual([
        ['y', '', noOid],
        kept('b'),
        ['x', '', noOid],
        kept('d'),
      ])
      expect(await after({ action: 'remove', elements: shown(['b']) })).toEqual([
        ['y', '', noOid],
        ['x', '', noOid],
        kept('d'),
      ])
      await database.updateObject(oid, { spot: null })
      expect((await read(oid)).spot).toEqual({ town: '', code: 'code a', at: closed })
      const error = await failure(() => database.updateObject(oid, { spot: { code: 'x' } }))
      const unknown = await failure(() => database.updateObject(oid, { spot: { kode: 'x' } }))
      expect(error.message).toBe(unknown.message.replaceAll('kode', 'code'))
    }))

  it('leaves what embedded objects hide with them in another order, and is refused where it is not clear which they are', () =>
    withWorld(async ({ database, person, team, read }) => {
      const closed = await team('t', false)
      const given = (towns: string) => [...towns].map((town) => ({ town, at: noOid }))
      const replaced = async (towns: string, value: unknown): Promise<unknown> => {
        const oid = await person('p', {
          spots: [...towns].map((town, i) => ({ town, code: `${town}${i}`, at: closed })),
        })
        const before = (await read(oid)).spots
        try {
          await database.updateObject(oid, { spots: value })
        } catch (error) {
          expect((await read(oid)).spots).toEqual(before)
          const { type, message } = error as AshlarError
          return `${type}: ${message.split(':')[0]}`
        }
        return ((await read(oid)).spots as Row[]).map(({ code, at }) => `${code}${at === closed ? '' : ' new'}`).join()
      }
      const refused = 'Forbidden: Attribute spots of class D.Person'
      for (const [before, after, codes] of [
        ['ab', 'ba', 'b1,a0'],
        ['abc', 'cab', 'c2,a0,b1'],
        // One has changed at its place, also beside others that changed theirs; but not more than one.
        ['ab', 'ax', 'a0,b1'],
        ['abc', 'cxa', 'c2,b1,a0'],
        ['ab', 'xy', refused],
        ['abc', 'xba', refused],
        ['ab', 'xay', refused],
        ['ab', 'axy', refused],
        // Those that look the same stay, or go, together; but for the end of the list.
        ['aab', 'baa', 'b2,a0,a1'],
        ['aab', 'b', 'b2'],
        ['aab', 'ab', refused],
        ['ab', 'aab', refused],
        ['aa', 'xa', 'a0,a1'],
        ['aa', 'a', 'a0'],
        ['aa', 'aaa', 'a0,a1, new'],
        ['ab', 'xaby', ' new,a0,b1, new'],
        ['abc', '', ''],
      ]) {
        expect([before, after, await replaced(before as string, given(after as string))]).toEqual([
          before,
          after,
          codes,
        ])
      }
      expect(await replaced('aab', { action: 'add', elements: given('ax') })).toBe('a0,a1,b2, new, new')
      expect(await replaced('abab', { action: 'remove', elements: given('a') })).toBe('b1,b3')
    }))

  it('names read-only attributes of embedded objects by their class', () =>
    withWorld(
      async ({ database, person }) => {
        const oid = await person('p', { spot: { town: 'a' }, spots: [{ town: 'a' }] })
        await database.updateObject(oid, { spot: { town: 'a', code: 'new' }, spots: [{ town: 'a', code: 'new' }] })
        for (const change of [
          { spot: { town: 'b' } },
          { spots: [{ town: 'b' }] },
          { spots: [{ town: 'a' }, { town: 'b' }] },
        ]) {
          expect((await failure(() => database.updateObject(oid, change))).message).toMatch(
            /^Attribute town of class D\.Spot is read-only for the caller: /,
          )
        }
      },
      { user, grants: [on('D.Person'), on('D.Team'), on('D.Spot', { readOnly: ['town'] })] },
    ))
})

describe('a restricted caller that links', () => {
  it('is told of hidden targets as of missing ones, also of those that are linked already and of other classes', () =>
    withWorld(async ({ database, person, team, fd }) => {
      const [hidden, closed] = [await person('hidden'), await team('t', false)]
      const open = await team('o', true, { people: [hidden] })
      const oid = await person('p', { boss: hidden, friends: [hidden], byName: { one: hidden } })
      await rowTexts(await fd.query({ text: 'UPDATE SCHEMA {CREATE CLASS H.Secret {s: String}}' }))
      const secret = await fd.createObject('H.Secret', {})
      const changes = (target: string): [string, Row][] => [
        [oid, { boss: target }],
        [oid, { friends: [target] }],
        [oid, { friends: { action: 'add', elements: [target] } }],
        [oid, { byName: { one: target } }],
        [oid, { byName: { action: 'add', pairs: [{ key: 'one', value: target }] } }],
        [oid, { team: target }],
        [oid, { spot: { at: target } }],
        [open, { people: [target] }],
        [open, { people: { action: 'add', elements: [target] } }],
      ]
      const replies = async (target: string): Promise<string[]> => {
        const told: string[] = []
        for (const [changed, change] of changes(target)) {
          const { type, message, errors } = await failure(() => database.updateObject(changed, change))
          told.push(JSON.stringify([type, message, errors]).replaceAll(target, 'OID'))
        }
        return told
      }
      const missing = await replies('3-30000-1-1')
      for (const text of missing) expect(text).toMatch(/InvalidReference.* refers to OID, but there is no such object/)
      for (const target of [hidden, closed, secret, hidden.replace(/\d+$/, '60000')])
        expect(await replies(target)).toEqual(missing)
    }))

  it('does not name a class that it does not know where a target is of another one', () =>
    withWorld(
      async ({ database, person, fd }) => {
        await rowTexts(
          await fd.query({ text: 'UPDATE SCHEMA {CREATE CLASS D.Boss SUPERCLASS D.Team {rank: Integer}}' }),
        )
        const oid = await person('p')
        const error = await failure(() => database.updateObject(oid, { boss: oid, spot: { at: oid } }))
        expect(error.type).toBe('InvalidReference')
        expect(error.message).toContain('does not refer to such objects')
        expect(error.message).not.toContain('D.Team')
      },
      { user, grants: [on('D.Person'), on('D.Spot'), on('D.Boss')] },
    ))

  it('takes nothing from an object that it may not update, and is not told which it is', () =>
    withWorld(async ({ database, person, team, read }) => {
      const [a, b, hidden] = [await person('a'), await person('b'), await person('hidden')]
      const [open, closed, fixed] = [await team('o', true), await team('c', false), await team('fixed', true)]
      await database.updateObject(a, { partner: b })
      expect(await read(b)).toMatchObject({ partner: a })
      const free = await person('free')
      await database.updateObject(free, { partner: b })
      expect([await read(a), await read(b)]).toMatchObject([{ partner: noOid }, { partner: free }])
      const ofHidden = await person('x', { partner: hidden })
      const inClosed = await person('y', { team: closed })
      const inFixed = await person('z', { team: fixed })
      const refused: [string, string, Row][] = [
        [valueRefused('partner'), a, { partner: ofHidden }],
        [valueRefused('partner'), ofHidden, { partner: a }],
        [valueRefused('people', 'D.Team'), open, { people: [inClosed] }],
        [valueRefused('people', 'D.Team'), open, { people: { action: 'add', elements: [inFixed] } }],
      ]
      for (const [message, oid, change] of refused) {
        const error = await failure(() => database.updateObject(oid, change))
        expect([error.type, error.message]).toEqual(['Forbidden', message])
      }
      await database.updateObject(inFixed, { team: open })
      expect((await read(fixed)).people).toEqual([])
    }))

  it('ends links of hidden objects where it deletes, and says nothing of them', () =>
    withWorld(async ({ database, person, team, read }) => {
      const [hidden, closed] = [await person('hidden'), await team('c', false)]
      const oid = await person('p', { partner: hidden, team: closed })
      await database.deleteObject(oid)
      expect([await read(hidden), await read(closed)]).toMatchObject([{ partner: noOid }, { people: [] }])
    }))

  it('needs the rule of an object from which it takes to hold afterwards as well', () =>
    withWorld(
      async ({ fd, database, person }) => {
        const [a, b, c] = [await person('a'), await person('b'), await person('c')]
        await fd.updateObject(a, { partner: b })
        const error = await failure(() => database.updateObject(c, { partner: b }))
        expect([error.type, error.message]).toEqual(['Forbidden', valueRefused('partner')])
      },
      { user, grants: [on('D.Person', { rules: { update: "NOT name = 'a' OR NOT IS_NULL(partner)" } }), on('D.Spot')] },
    ))
})

describe('what a unique index tells a restricted caller', () => {
  it('is who holds the key where it sees the holder and the key, and else nothing', () =>
    withWorld(async ({ fd, database, person }) => {
      await fd.createIndex(index('names', 'D.Person', true, 'name'))
      await fd.createIndex(index('codes', 'D.Person', true, 'spot.code'))
      const seen = await person('seen', { spot: { code: 'c1' } })
      await person('hidden', { spot: { code: 'c2' } })
      const told = await failure(() => database.createObject('D.Person', { name: 'seen', spot: {} }))
      expect(told.message).toContain(seen)
      const untold = 'The change would give two objects the same values, which a unique index forbids.'
      const free = await database.createObject('D.Person', { name: 'free' })
      const errors = [
        await failure(() => database.createObject('D.Person', { name: 'hidden' })),
        await failure(() => database.updateObject(seen, { name: 'hidden' })),
      ]
      for (const { type, message } of errors) expect([type, message]).toEqual(['UniqueViolation', untold])
      // A text that is hidden has its default in what the caller creates.
      const byDefault = await failure(() => database.createObject('D.Person', { name: 'another' }))
      expect([byDefault.type, byDefault.message]).toEqual(['UniqueViolation', untold])
      await fd.deleteObject(free)
      const both = await failure(() =>
        database.createObjects([
          { class: 'D.Person', attributes: { name: 'x' } },
          { class: 'D.Person', attributes: { name: 'hidden' } },
        ]),
      )
      expect(both.errors[0]?.place[0]).toBe(1)
    }))
})

describe('a unique index on an attribute that a caller sees of a subclass alone', () => {
  it('refuses what is held already, and tells neither of the holder nor of the attribute', () =>
    withWorld(
      async ({ fd, database }) => {
        await rowTexts(
          await fd.query({ text: 'UPDATE SCHEMA {CREATE CLASS D.Guest SUPERCLASS D.Person {room: String}}' }),
        )
        await fd.createIndex(index('names', 'D.Person', true, 'name'))
        await fd.createObject('D.Person', { name: 'one' })
        const guest = await database.createObject('D.Guest', { name: 'guest' })
        for (const act of [
          () => database.createObject('D.Guest', { name: 'one' }),
          () => database.updateObject(guest, { name: 'one' }),
          // Nor where it sees the holder and the value: the index is on what is hidden of others.
          () => database.createObject('D.Guest', { name: 'guest' }),
        ]) {
          const { type, message, errors } = await failure(act)
          expect([type, message]).toEqual([
            'UniqueViolation',
            'The change would give two objects the same values, which a unique index forbids.',
          ])
          expect(JSON.stringify(errors)).not.toMatch(/name|one|guest|\d+-\d+/)
        }
        expect(await database.listIndexes()).toEqual([])
      },
      { user, grants: [on('D.Person', { hidden: ['name'] }), on('D.Guest')] },
    ))
})

describe('a restricted caller that may not write an object', () => {
  it('is not told whether its key is taken', () =>
    withWorld(
      async ({ fd, database, person }) => {
        await fd.createIndex(index('names', 'D.Person', true, 'name'))
        await person('hidden')
        const mine = await person('mine')
        const told: string[] = []
        for (const name of ['hidden', 'free']) {
          // A transaction that is rehearsed reads what others only require.
          const rehearsed = (act: (step: Database) => Promise<unknown>): Promise<unknown> =>
            database.transaction((step) => act(step(1)), true)
          for (const act of [
            () => database.createObject('D.Person', { name }),
            () => database.updateObject(mine, { name }),
            () => rehearsed((step) => step.createObject('D.Person', { name })),
            () => rehearsed((step) => step.updateObject(mine, { name })),
          ]) {
            const { type, message } = await failure(act)
            told.push(`${type} ${message}`)
          }
        }
        const refused = ['create', 'update'].map(
          (act) => `Forbidden The caller may not ${act} such an object of class D.Person.`,
        )
        expect(told).toEqual([...refused, ...refused, ...refused, ...refused])
      },
      {
        user,
        grants: [
          on('D.Person', { rules: { read: "name = 'mine'", create: "name = 'mine'", update: "name = 'mine'" } }),
        ],
      },
    ))
})

describe('a condition of a restricted caller', () => {
  it('is about what it sees: hidden attributes and links do not count', () =>
    withWorld(async ({ fd, database, person, read }) => {
      const hidden = await person('hidden')
      const oid = await person('p', { friends: [hidden], spot: { code: 'one' } })
      const shown = await entityTagOf(await database.readObject(oid))
      const is = (expected: string) => (tag: string) => tag === expected
      await fd.updateObject(oid, { spot: { code: 'two' }, friends: [hidden, hidden] })
      await database.updateObject(oid, { name: 'new' }, undefined, is(shown))
      expect((await read(oid)).name).toBe('new')
      const stale = await failure(() => database.updateObject(oid, { name: 'newer' }, undefined, is(shown)))
      expect(stale.type).toBe('PreconditionFailed')
      expect(stale.message).toContain(await entityTagOf(await database.readObject(oid)))
      const missing = hidden.replace(/\d+$/, '60000')
      const [asHidden, asMissing] = [
        await failure(() => database.deleteObject(hidden, is('x'))),
        await failure(() => database.deleteObject(missing, is('x'))),
      ]
      expect(asHidden.message.replaceAll(hidden, missing)).toBe(asMissing.message)
      await database.deleteObject(oid, is(await entityTagOf(await database.readObject(oid))))
    }))
})
