/** Stores of rows for user interfaces: shared, kept up to date, and with the user's own changes shown at once. */
import { newIdempotencyKey } from '../idempotency-key.ts'
import type { CallOptions, MatchOptions } from '../options.ts'
import type { Connection } from '../typed/connection.ts'
import type { ClassName, Concrete, Database, FindOptions } from '../typed/database.ts'
import type { AllAttributes, ChangedValues, Found, Id, Link, NewValues } from '../typed/schema-types.ts'
import type { Finding, Values } from '../typed/statement.ts'
import { FollowedRows } from './followed-rows.ts'
import { noRows, type RowsSnapshot, SharedRows } from './shared-rows.ts'
import type { ShownChange } from './shown-change.ts'

/** Rows, and how to learn when they change. It is a store as Svelte defines it. */
export interface RowsStore<Row> {
  /** Equal for stores of equal queries, which share their rows. */
  readonly key: string
  /** Returns the same snapshot until there is another one. */
  readonly get: () => RowsSnapshot<Row>
  /** Calls the listener at once, and with each further snapshot. The rows are read as long as somebody subscribes. Returns what ends the subscription. */
  readonly subscribe: (listener: (snapshot: RowsSnapshot<Row>) => void) => () => void
  /** Reads the rows again, also after a failure. */
  readonly refresh: () => void
}

export type StoreOptions<T, Sel> = Omit<FindOptions<T, Sel>, keyof CallOptions>
export type LiveOptions<T, Sel> = Omit<FindOptions<T, Sel>, 'after' | keyof CallOptions>

/** How a change is shown until the server has made it. */
export interface Shown<T> {
  /** Cells that differ from the values that are sent: `{ owner: { name: 'Ann' } }` where rows have `select: { owner: { name: true } }`. */
  readonly shown?: { readonly [K in keyof T & string]?: unknown }
}

/** A change of an object that exists, as `change` shows it. */
export type RowChange = { readonly update: Id; readonly values: Values } | { readonly delete: Id }

export interface LiveDatabase<S> {
  /** Returns the rows of a live query. Nothing is sent until somebody subscribes. */
  watch<C extends ClassName<S>, const Sel = AllAttributes<S[C]>>(
    className: C,
    options?: LiveOptions<S[C], Sel>,
  ): RowsStore<Found<S[C], Sel>>

  /** Returns the rows of a query, which are read once, and again by `refresh`. */
  find<C extends ClassName<S>, const Sel = AllAttributes<S[C]>>(
    className: C,
    options?: StoreOptions<S[C], Sel>,
  ): RowsStore<Found<S[C], Sel>>

  /**
   * Creates an object. It is shown at once in the live queries of its class that select no more than is given, and whose `where` has only equal values: as
   * the last row, or with `isFirst` as the first.
   */
  create<C extends ClassName<S>>(
    className: Concrete<S, C>,
    values: NewValues<S[C]>,
    options?: CallOptions & Shown<S[C]> & { readonly isFirst?: boolean },
  ): Promise<Id<C>>

  /** Changes an object, and at once its rows in all live queries. If the server refuses that, they are again as before, and the error is thrown. */
  update<C extends ClassName<S>>(
    className: C,
    id: Id & Link<S[C]>,
    values: ChangedValues<S[C]>,
    options?: MatchOptions & Shown<S[C]>,
  ): Promise<void>

  /** Deletes an object, and at once its rows in all live queries; see `update`. */
  delete<C extends ClassName<S>>(className: C, id: Id & Link<S[C]>, options?: MatchOptions): Promise<void>

  /** Shows the changes that any other request makes, such as a batch. */
  change<R>(changes: readonly RowChange[], request: () => Promise<R>): Promise<R>
}

/** What is called at run time: the types of the caller are those of `LiveDatabase`. */
interface UntypedDatabase {
  find(className: string, options: Finding & CallOptions): Promise<Values[]>
  create(className: string, values: Values, options: CallOptions): Promise<string>
  update(className: string, id: string, values: Values, options: MatchOptions): Promise<void>
  delete(className: string, id: string, options: MatchOptions): Promise<void>
}

/** Returns the stores of a database. Make one for each page: stores of equal queries share their rows within it. */
export function liveOf<S, C extends Connection>(database: Database<S, C>): LiveDatabase<S> {
  const db = database as unknown as UntypedDatabase
  const sources = new Map<string, SharedRows>()
  const followed = new Set<FollowedRows>()
  /** Changes of which the server has yet to say whether they are made. */
  const unconfirmed = new Set<ShownChange>()

  const watchSource = (className: string, options: Finding, onEnd: () => void): SharedRows => {
    const rows = new FollowedRows(database.client, className, options)
    for (const change of unconfirmed) rows.add(change)
    followed.add(rows)
    return new SharedRows(
      (publish, signal) => rows.read(publish, signal),
      () => {
        followed.delete(rows)
        rows.end()
        onEnd()
      },
    )
  }
  const findSource = (className: string, options: Finding, onEnd: () => void): SharedRows => {
    return new SharedRows(async (publish, signal) => {
      publish({ status: 'ready', rows: await db.find(className, { ...options, signal }) })
    }, onEnd)
  }
  const storesOf =
    (kind: string, open: typeof watchSource) =>
    (className: string, options: Finding = {}) => {
      const key = `${kind} ${className} ${JSON.stringify(options, keyValue)}`
      return storeOf(sources, key, () => open(className, options, () => sources.delete(key)))
    }
  const show = <R>(changes: readonly ShownChange[], request: () => Promise<R>): Promise<R> =>
    showWhile(changes, request, followed, unconfirmed)
  const live = {
    watch: storesOf('watch', watchSource),
    find: storesOf('find', findSource),
    create: (className: string, values: Values, { shown, isFirst, ...options }: ShownOptions = {}) => {
      const id = `new-${newIdempotencyKey()}`
      const change = { ...changeOf('create', id), className, values, shown: shown ?? {}, isFirst: isFirst === true }
      return show([change], () => db.create(className, values, options))
    },
    update: (className: string, id: string, values: Values, { shown, ...options }: ShownOptions = {}) => {
      const change = { ...changeOf('update', id), values, shown: shown ?? {} }
      return show([change], () => db.update(className, id, values, options))
    },
    delete: (className: string, id: string, options: MatchOptions = {}) =>
      show([changeOf('delete', id)], () => db.delete(className, id, options)),
    change: <R>(changes: readonly RowChange[], request: () => Promise<R>) => {
      const shown = changes.map((change) => {
        if ('delete' in change) return changeOf('delete', change.delete)
        return { ...changeOf('update', change.update), shown: change.values }
      })
      return show(shown, request)
    },
  }
  return live as unknown as LiveDatabase<S>
}

/** Shows the changes until the request has made or refused them. A request for a new object returns its OID. */
async function showWhile<R>(
  changes: readonly ShownChange[],
  request: () => Promise<R>,
  followed: ReadonlySet<FollowedRows>,
  unconfirmed: Set<ShownChange>,
): Promise<R> {
  const all = (act: (rows: FollowedRows, change: ShownChange) => void): void => {
    for (const change of changes) for (const rows of followed) act(rows, change)
  }
  for (const change of changes) unconfirmed.add(change)
  all((rows, change) => rows.add(change))
  try {
    const result = await request()
    for (const change of changes) {
      change.isDone = true
      if (change.kind === 'create') change.id = String(result)
    }
    all((rows, change) => rows.confirm(change))
    return result
  } catch (error) {
    all((rows, change) => rows.remove(change))
    throw error
  } finally {
    for (const change of changes) unconfirmed.delete(change)
  }
}

type ShownOptions = MatchOptions & { readonly shown?: Values; readonly isFirst?: boolean }

function changeOf(kind: ShownChange['kind'], id: string): ShownChange {
  return { kind, className: '', id, values: {}, shown: {}, isFirst: false, isDone: false }
}

function storeOf(sources: Map<string, SharedRows>, key: string, open: () => SharedRows): RowsStore<Values> {
  return {
    key,
    get: () => sources.get(key)?.snapshot ?? noRows,
    refresh: () => sources.get(key)?.refresh(),
    subscribe: (listener) => {
      const source = sources.get(key) ?? open()
      sources.set(key, source)
      return source.subscribe(listener)
    },
  }
}

/** JSON has no bigints. */
function keyValue(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? { $bigint: String(value) } : value
}
