/** Statements of requests that arrive together share what their rows refer to, as far as they see the same. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import type { AccessPolicy } from '../../../src/access/access-policy.ts'
import type { Database } from '../../../src/database-operations.ts'
import { FederatedDatabase } from '../../../src/federated-database.ts'
import { shareReads } from '../../../src/store/reads-of-turn.ts'
import type { Snapshot, Store } from '../../../src/store/store.ts'
import { rowTexts, rowValues } from '../../row-texts.ts'
import { temporaryLmdb } from '../../store/temporary-stores.ts'

const setUp = `UPDATE SCHEMA {
  CREATE CLASS Maker {name: String, owner: String}
  CREATE CLASS Model {name: String, maker: Reference{Referenced: Maker}}
  CREATE CLASS Car {n: Integer, model: Reference{Referenced: Model}}
};
${[0, 1, 2, 3]
  .map((n) => {
    const owner = n === 1 ? 'eve' : 'bob'
    return `LET maker = CREATE Maker {name: '${n}', owner: '${owner}'}; LET model = CREATE Model {name: '${n}', maker: $maker};
    CREATE Car {n: ${n}, model: $model}`
  })
  .join(';\n')}`
const paths = 'FROM Car ORDER BY n RETURN n, model.name, model.maker.name AS maker'

afterEach(() => nextTurn())

/** How often objects are read by their keys. */
function counting(store: Store): { readonly store: Store; reads(): number } {
  let reads = 0
  const counted = (snapshot: Snapshot): Snapshot => {
    const view = snapshot.view.bind(snapshot)
    snapshot.view = (key, use) => {
      reads++
      return view(key, use)
    }
    return snapshot
  }
  const snapshot = store.snapshot.bind(store)
  const wrapped = {
    ...store,
    snapshot: (options?: Parameters<Store['snapshot']>[0]) => counted(snapshot(options) as Snapshot),
  }
  return { store: wrapped, reads: () => reads }
}

async function withCars(use: (fd: FederatedDatabase, reads: () => number) => Promise<void>): Promise<void> {
  const { store, reads } = counting(await temporaryLmdb.open())
  const fd = await FederatedDatabase.open({ alias: 'cars', store, limits: { statementThreadsMax: 0 } })
  await rowTexts(await fd.query({ text: setUp }))
  await use(fd, reads)
  await fd.close()
}

/** As the server calls it for a request: all of one turn. */
function begun(database: Database, text = paths): Promise<unknown[]> {
  shareReads({}, 1)
  const reply = database.query({ text })
  return Promise.resolve(reply).then(rowValues)
}

const cars = (isVisible: (n: number) => boolean) => {
  return [0, 1, 2, 3].map((n) => {
    return isVisible(n) ? { n, 'model.name': `${n}`, maker: `${n}` } : { n, 'model.name': `${n}`, maker: null }
  })
}

it('spares those that come later in the turn what the first has read, and shows all of them the same', () =>
  withCars(async (fd, reads) => {
    await begun(fd)
    await nextTurn()
    const before = reads()
    const alone = await begun(fd)
    const ofOne = reads() - before
    await nextTurn()
    const together = await Promise.all([begun(fd), begun(fd), begun(fd)])
    expect(together).toEqual([alone, alone, alone])
    expect(alone).toEqual(cars(() => true))
    expect(reads() - before - ofOne).toBeLessThan(2 * ofOne)
  }))

it('shows each caller what its rules let it see, whoever has read it before', () =>
  withCars(async (fd) => {
    const of = (name: string): AccessPolicy => ({
      user: { name, roles: [], claims: {} },
      grants: [
        ...['Car', 'Model'].map((className) => ({
          on: { kind: 'class' as const, className },
          actions: ['read' as const, 'query' as const],
        })),
        {
          on: { kind: 'class', className: 'Maker' },
          actions: ['read', 'query'],
          rules: { read: 'owner = $$USER.name' },
        },
      ],
    })
    const [eve, bob] = [fd.as(of('eve')), fd.as(of('bob'))]
    const all = await Promise.all([begun(fd), begun(eve), begun(bob), begun(fd), begun(eve)])
    const ofEve = cars((n) => n === 1)
    expect(all).toEqual([cars(() => true), ofEve, cars((n) => n !== 1), cars(() => true), ofEve])
  }))

it('shows what was committed before a later turn, and what a transaction has written itself', () =>
  withCars(async (fd) => {
    await Promise.all([begun(fd), begun(fd)])
    const changed = begun(
      fd,
      "UPDATE Maker WHERE name = '3' SET name TO 'new'; FROM Car WHERE n = 3 RETURN model.maker.name AS maker",
    )
    const [, own] = await Promise.all([begun(fd), changed])
    expect(own.at(-1)).toEqual({ maker: 'new' })
    expect((await begun(fd)).at(-1)).toEqual({ n: 3, 'model.name': '3', maker: 'new' })
  }))

it('counts for EXPLAIN ANALYZE what the statement would read alone', () =>
  withCars(async (fd) => {
    const text = "EXPLAIN ANALYZE FROM Car WHERE model.maker.name != 'x' RETURN n"
    const [alone] = await begun(fd, text)
    await nextTurn()
    const [, [beside]] = await Promise.all([begun(fd), begun(fd, text)])
    const counts = (plan: unknown): string[] => JSON.stringify(plan).match(/"objectsRead":\d+/g) ?? []
    expect(counts(beside)).toEqual(counts(alone))
    expect(counts(alone)).toContain('"objectsRead":8')
  }))
