/** Checks that count links: changes at the same time, checks that classes with objects get, and what verify finds (contract 10.6.21). */
import { describe, expect, it } from 'vitest'
import type { Database } from '../../src/database-operations.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { objectLinksRange, targetOfKey } from '../../src/records/link-keys.ts'
import type { Snapshot, Store } from '../../src/store/store.ts'
import { withSnapshot } from '../../src/store/with-snapshot.ts'
import { rowValues } from '../row-texts.ts'
import { leftOpen } from '../store/left-open.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { interrupted } from '../store/wrappers/interrupted.ts'
import { classOf, outcome, read, toMany, toOne, withFd } from './open-fd.ts'

const check = (name: string, expression: string): object => ({ name, expression })
const crewed = check('crewed', "status != 'departed' OR COUNT(crew) >= 2")
const ships = (...checks: object[]): object[] => [
  classOf('Ship', { status: 'string', crew: toMany('Sailor', 'ship') }, { checks }),
  classOf('Sailor', { ship: toOne('Ship', 'crew') }),
]

async function run(fd: FederatedDatabase, text: string): Promise<unknown> {
  return rowValues(await fd.query({ text }))
}

async function shipWith(fd: FederatedDatabase, sailors: number, status = 'departed'): Promise<[string, string[]]> {
  const crew = await fd.createObjects(Array.from({ length: sailors }, () => ({ class: 'Sailor', attributes: {} })))
  return [await fd.createObject('Ship', { status, crew }), crew]
}

/** `act` is done before the first commit of what is done with the other view of the store. */
async function interruptedBy(
  store: Store,
  act: () => Promise<unknown>,
  use: (late: FederatedDatabase) => Promise<void>,
): Promise<void> {
  const beforeCommit = async (nth: number): Promise<void> => {
    if (nth === 1) await act()
  }
  const late = await FederatedDatabase.open({
    alias: 'interrupted',
    store: interrupted(leftOpen(store), { beforeCommit }),
  })
  await use(late)
  await late.close()
}

describe('changes at the same time', () => {
  it('all but two of the links of a ship under way go, however many are removed at once', () =>
    withFd(ships(crewed), async (fd) => {
      for (let round = 0; round < 5; round++) {
        const [ship, crew] = await shipWith(fd, 6)
        const outcomes = await Promise.all(
          crew.map((sailor, i) =>
            outcome(i % 2 === 0 ? fd.deleteObject(sailor) : fd.updateObject(sailor, { ship: null })),
          ),
        )
        expect(outcomes.filter((one) => one === 'ok')).toHaveLength(4)
        expect(outcomes.filter((one) => one === 'ConstraintViolation')).toHaveLength(2)
        expect((await read(fd, ship)).crew).toHaveLength(2)
      }
    }))

  const removals: Record<string, (fd: FederatedDatabase, ship: string, sailor: string) => Promise<unknown>> = {
    'the far side': (fd, _ship, sailor) => fd.updateObject(sailor, { ship: null }),
    'a deletion': (fd, _ship, sailor) => fd.deleteObject(sailor),
    'the owner': (fd, ship, sailor) => run(fd, `UPDATE Ship WHERE $$ID = ${ship} REMOVE ${sailor} FROM crew`),
  }
  it.each(Object.keys(removals))('a link is removed by %s while the last but two goes', (by) =>
    withFd(ships(crewed), async (fd, store) => {
      const [ship, [one = '', other = '']] = await shipWith(fd, 3)
      const act = (): Promise<unknown> => fd.deleteObject(one)
      await interruptedBy(store, act, async (late) => {
        expect(await outcome((removals[by] as (typeof removals)[string])(late, ship, other))).toBe(
          'ConstraintViolation',
        )
      })
      expect((await read(fd, ship)).crew).toHaveLength(2)
    }),
  )

  it.each(['far', 'owner'])('a ship departs while its crew leaves, whichever is first: %s', (first) =>
    withFd(ships(crewed), async (fd, store) => {
      const [ship, [one = '']] = await shipWith(fd, 2, 'docked')
      const leave = (on: FederatedDatabase): Promise<void> => on.updateObject(one, { ship: null })
      const depart = (on: FederatedDatabase): Promise<void> => on.updateObject(ship, { status: 'departed' })
      const [before, after] = first === 'far' ? [leave, depart] : [depart, leave]
      await interruptedBy(
        store,
        () => before(fd),
        async (late) => {
          expect(await outcome(after(late))).toBe('ConstraintViolation')
        },
      )
    }),
  )

  it('a link is removed by somebody who does not know of the check yet', () =>
    withFd(ships(), async (fd, store) => {
      const [, [one = '']] = await shipWith(fd, 2)
      const add = (): Promise<unknown> => fd.alterClass('Ship', { classFields: { checks: [crewed] } })
      await interruptedBy(store, add, async (late) => {
        expect(await outcome(late.deleteObject(one))).toBe('ConstraintViolation')
      })
    }))

  it('a link is removed while a transaction adds the check', () =>
    withFd(ships(), async (fd, store) => {
      const [, [one = '']] = await shipWith(fd, 2)
      await interruptedBy(
        store,
        () => fd.deleteObject(one),
        async (late) => {
          const text = "UPDATE SCHEMA { ALTER CLASS Ship {ADD CHECK crewed: status != 'departed' OR COUNT(crew) >= 2} }"
          expect(await outcome(run(late, text))).toBe('ObjectsViolateConstraint')
        },
      )
    }))
})

it('while stored objects are held against a check, it is kept by those who change links from the other side', async () => {
  const store = await openStoreOfRun()
  const other = await FederatedDatabase.open({ alias: 'other', store: leftOpen(store) })
  await other.defineClasses(ships(), 'create')
  const [ship, [one = '', two = '']] = await shipWith(other, 3)
  const outcomes: string[] = []
  const beforeCommit = async (nth: number): Promise<void> => {
    if (nth !== 2) return
    outcomes.push(await outcome(other.deleteObject(one)), await outcome(other.updateObject(two, { ship: null })))
  }
  const fd = await FederatedDatabase.open({ alias: 'test', store: interrupted(store, { beforeCommit }) })
  await fd.alterClass('Ship', { classFields: { checks: [crewed] } })
  expect(outcomes).toEqual(['ok', 'ConstraintViolation'])
  expect((await read(other, ship)).crew).toHaveLength(2)
  expect((await fd.verify()).problems).toEqual([])
  await other.close()
  await fd.close()
})

it('what a transaction breaks and mends is not held against a check that was broken before', () =>
  withFd(ships(crewed), async (fd) => {
    const [ship, [sailor = '']] = await shipWith(fd, 2)
    const checks = [crewed, check('many', 'COUNT(crew) > 5')]
    await fd.alterClass('Ship', { attributesToAdd: [{ attributeName: 'home', ...toOne('Ship') }] })
    await fd.updateObject(ship, { home: ship })
    const attributesToConstrain = [{ attributeName: 'home', isRequired: true }]
    await fd.alterClass('Ship', { attributesToConstrain, classFields: { checks } }, { isValidating: false })
    const throughNull = async (change: (fd: Database) => Promise<unknown>): Promise<string> => {
      const act = fd.transaction(async (step) => {
        await step(1).updateObject(ship, { home: null })
        await change(step(2))
        await step(3).updateObject(ship, { home: ship })
      }, true)
      return act.then(
        () => 'ok',
        (error: { cause: Error }) => error.cause.message,
      )
    }
    expect(await throughNull(async () => undefined)).toBe('ok')
    const message = `Class Ship, object ${ship}: check many: COUNT(crew) > 5 has to hold (crew has 3 elements).`
    expect(await throughNull((step) => step.createObject('Sailor', { ship }))).toBe(message)
    expect(await throughNull((step) => step.updateObject(sailor, { ship: null }))).toContain('check crewed')
  }))

it('the statements of a text count all elements of a collection once, at its end', async () => {
  const scanned = scannedEntries(await openStoreOfRun())
  const fd = await FederatedDatabase.open({ alias: 'test', store: scanned.store })
  await fd.defineClasses(ships(check('seats', 'COUNT(crew) <= seats')).map(withSeats), 'create')
  const crew = await fd.createObjects(Array.from({ length: 300 }, () => ({ class: 'Sailor', attributes: {} })))
  const ship = await fd.createObject('Ship', { crew, seats: 320 })
  const board = (sailors: number): string =>
    `LET ship = ${ship}; ${'CREATE Sailor {ship: $ship};'.repeat(sailors)} SHOW 1`
  scanned.reset()
  await run(fd, board(20))
  expect(scanned.entries()).toBeGreaterThanOrEqual(300)
  expect(scanned.entries()).toBeLessThan(1_000)
  expect(await outcome(run(fd, board(1)))).toBe('ConstraintViolation')
  expect((await read(fd, ship)).crew).toHaveLength(320)
  await fd.close()
})

function withSeats(cls: object): object {
  const { className, attributes } = cls as { className: string; attributes: object[] }
  return className === 'Ship'
    ? { ...cls, attributes: [...attributes, { attributeName: 'seats', logicalType: 'integer' }] }
    : cls
}

/** A store that counts the entries which scans of its snapshots yield. */
function scannedEntries(below: Store): { readonly store: Store; entries(): number; reset(): void } {
  let entries = 0
  const counted = (snapshot: Snapshot): Snapshot => ({
    view: (key, use) => snapshot.view(key, use),
    read: (keys, ranges) => snapshot.read(keys, ranges),
    async *scan(range, use, options) {
      for await (const batch of snapshot.scan(range, use, options)) {
        entries += batch.length
        yield batch
      }
    },
    release: () => snapshot.release(),
  })
  const store: Store = {
    ...below,
    snapshot(options) {
      const snapshot = below.snapshot(options)
      return snapshot instanceof Promise ? snapshot.then(counted) : counted(snapshot)
    },
  }
  return {
    store,
    entries: () => entries,
    reset: () => {
      entries = 0
    },
  }
}

it('verify reports objects with fewer links than their checks and attributes ask for', async () => {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  const pennants = {
    logicalType: 'set',
    collectionTypeName: 'TreeSetOfReferences',
    elementSpecification: toOne('Ship'),
  }
  const attributes = { pennants, flags: { ...pennants, minItems: 1 } }
  const harbour = classOf('Harbour', attributes, { checks: [check('two', 'COUNT(pennants) >= 2')] })
  await fd.defineClasses([classOf('Ship', {}), harbour, classOf('Port', {}, { superClass: 'Harbour' })], 'create')
  const [one, two, three] = await fd.createObjects(Array.from({ length: 3 }, () => ({ class: 'Ship', attributes: {} })))
  const full = { pennants: [one, two, three], flags: [one] }
  const oid = await fd.createObject('Port', { pennants: [one, two], flags: [three] })
  for (let n = 0; n < 12; n++) await fd.createObject('Harbour', full)
  expect((await fd.verify()).problems).toEqual([])
  const lost = await withSnapshot(store, async (snapshot) => {
    const keys: Buffer[] = []
    const range = objectLinksRange(oid)
    for await (const batch of snapshot.scan(range, (key) => Buffer.from(key))) keys.push(...batch)
    return keys.filter((key) => [two, three].includes(targetOfKey(key)))
  })
  await store.commit({ changes: lost.map((key) => ({ kind: 'delete', key })), preconditions: [] })
  expect((await fd.verify()).problems).toEqual([
    `object ${oid} violates check two of class Harbour`,
    `object ${oid} violates minItems of attribute flags of class Harbour`,
  ])
  await fd.close()
})
