/** Statements of DO against a federated database, on a store that answers at once and on one that sometimes answers later. */

import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase, type OpenOptions } from '../../src/federated-database.ts'
import type { EngineLimits } from '../../src/limits.ts'
import type { Dialect } from '../../src/query/language/dialect.ts'
import type { TemporarySpace } from '../../src/spill/temporary-space.ts'
import type { Snapshot, Store } from '../../src/store/store.ts'
import { rowValues } from '../row-texts.ts'
import { isOnPostgres, openStoreOfRun } from '../store/store-of-run.ts'
import { sometimesLater } from '../store/wrappers/sometimes-later.ts'

export type Row = Record<string, unknown>

/** As the server has it. */
const indexUri = (name: string): string => `/v1/index/${name}`

/** A plan as EXPLAIN ANALYZE replies it. */
export interface ShownPlan {
  readonly operator: string
  readonly examined: number
  readonly returned: number
  readonly inputs?: readonly ShownPlan[]
  readonly [detail: string]: unknown
}

export interface QueryDatabase {
  readonly fd: FederatedDatabase
  /** The reply's rows: objects, except those of SHOW. */
  rows(text: string, parameters?: Row): Promise<Row[]>
  /** SHOW of an expression. */
  value(expression: string, parameters?: Row): Promise<unknown>
  /** The error that the text fails with. */
  failure(text: string, parameters?: Row): Promise<AshlarError>
  /** The plan of a statement, carried out. */
  analyze(statement: string, parameters?: Row): Promise<ShownPlan>
}

interface Options {
  readonly limits?: Partial<EngineLimits>
  readonly importDir?: string
  readonly temporary?: TemporarySpace
  readonly dialect?: Dialect
  /** Instead of a fresh one. */
  readonly store?: Store
}

const kinds: readonly { readonly wrap: (store: Store) => Store; readonly name: string }[] = [
  { wrap: (store) => store, name: '' },
  { wrap: (store) => sometimesLater(store, 7), name: ' (from a store that answers later)' },
]
// PostgreSQL always answers later.
const kindsOfRun = isOnPostgres ? kinds.slice(0, 1) : kinds

/** One that answers at once, and one that sometimes answers later. */
export const storeKinds = kindsOfRun.map(({ wrap }) => wrap)
export const kindNames = kindsOfRun.map(({ name }) => name)

/** A test on each kind of store. `setUp`: texts that are run first. */
export function queryTest(
  name: string,
  setUp: readonly string[],
  test: (db: QueryDatabase) => Promise<void>,
  options: Options = {},
): void {
  for (const [kind, wrap] of storeKinds.entries()) {
    it(`${name}${kindNames[kind]}`, async () => {
      const { db, close } = await openQueryDatabase(setUp, options, wrap)
      await test(db)
      await close()
    })
  }
}

export interface OpenQueryDatabase {
  readonly db: QueryDatabase
  /** The data has to be consistent, and no snapshot held. */
  close(): Promise<void>
}

export async function openQueryDatabase(
  setUp: readonly string[],
  { store: given, ...options }: Options = {},
  wrap: (store: Store) => Store = (store) => store,
): Promise<OpenQueryDatabase> {
  const { store, held } = countSnapshots(wrap(given ?? (await openStoreOfRun())))
  const fd = await FederatedDatabase.open({ alias: 'test', store, ...options } satisfies OpenOptions)
  const db = queryDatabase(fd)
  for (const text of setUp) await db.rows(text)
  return {
    db,
    async close() {
      expect((await fd.verify()).problems).toEqual([])
      expect(held()).toBe(0)
      await fd.close()
    },
  }
}

function queryDatabase(fd: FederatedDatabase): QueryDatabase {
  const rows = async (text: string, parameters: Row = {}): Promise<Row[]> => {
    return (await rowValues(await fd.query({ text, parameters, indexUri }))) as Row[]
  }
  return {
    fd,
    rows,
    async value(expression, parameters) {
      const values: unknown[] = await rows(`SHOW ${expression}`, parameters)
      expect(values).toHaveLength(1)
      return values[0]
    },
    async failure(text, parameters) {
      try {
        const got = await rows(text, parameters)
        throw new Error(`No error, but ${JSON.stringify(got)}: ${text}`)
      } catch (error) {
        if (error instanceof AshlarError) return error
        throw error
      }
    },
    async analyze(statement, parameters) {
      const [plan] = await rows(`EXPLAIN ANALYZE ${statement}`, parameters)
      return plan as ShownPlan
    },
  }
}

function countSnapshots(store: Store): { readonly store: Store; held(): number } {
  const held = new Set<Snapshot>()
  const counted = (snapshot: Snapshot): Snapshot => {
    const own: Snapshot = {
      view: (key, use) => snapshot.view(key, use),
      read: (keys, ranges) => snapshot.read(keys, ranges),
      scan: (range, use, options) => snapshot.scan(range, use, options),
      ...(snapshot.visit && { visit: snapshot.visit.bind(snapshot) }),
      ...(snapshot.count && { count: snapshot.count.bind(snapshot) }),
      ...(snapshot.estimate && { estimate: snapshot.estimate.bind(snapshot) }),
      ...(snapshot.readNaming && { readNaming: snapshot.readNaming.bind(snapshot) }),
      ...(snapshot.expect && { expect: snapshot.expect.bind(snapshot) }),
      ...(snapshot.confirm && { confirm: snapshot.confirm.bind(snapshot) }),
      release() {
        held.delete(own)
        snapshot.release()
      },
    }
    held.add(own)
    return own
  }
  return {
    held: () => held.size,
    store: {
      ...store,
      snapshot(options) {
        const snapshot = store.snapshot(options)
        return snapshot instanceof Promise ? snapshot.then(counted) : counted(snapshot)
      },
    },
  }
}
