/** Hooks for React over the stores of `liveOf`. */
import { createContext, createElement, type ReactNode, useContext, useMemo, useSyncExternalStore } from 'react'
import type { LiveDatabase, LiveOptions, RowsStore, StoreOptions } from './live/live-database.ts'
import { noRows, type RowsSnapshot } from './live/shared-rows.ts'
import type { ClassName } from './typed/database.ts'
import type { AllAttributes, Found } from './typed/schema-types.ts'

export interface RowsResult<Row> extends RowsSnapshot<Row> {
  /** Reads the rows again, also after a failure. */
  readonly refresh: () => void
}

export interface Hooks<S> {
  /** Gives the components in it their database: `<LiveProvider live={liveOf(db)}>`. */
  readonly LiveProvider: (properties: { readonly live: LiveDatabase<S>; readonly children?: ReactNode }) => ReactNode

  /** Returns the database of the provider. */
  useLive(): LiveDatabase<S>

  /** Returns the rows of a query, which are read once, and again by `refresh`. */
  useFind<C extends ClassName<S>, const Sel = AllAttributes<S[C]>>(
    className: C,
    options?: StoreOptions<S[C], Sel>,
  ): RowsResult<Found<S[C], Sel>>

  /** Returns the rows of a live query. Options are compared by their values, and may be written in the call. */
  useWatch<C extends ClassName<S>, const Sel = AllAttributes<S[C]>>(
    className: C,
    options?: LiveOptions<S[C], Sel>,
  ): RowsResult<Found<S[C], Sel>>
}

/** Returns the hooks with the types of a schema. */
export function hooksOf<S>(): Hooks<S> {
  return hooks as unknown as Hooks<S>
}

/** At run time, nothing of the schema is known. */
interface UntypedLive {
  readonly find: (className: string, options: object) => RowsStore<unknown>
  readonly watch: (className: string, options: object) => RowsStore<unknown>
}

const LiveContext = createContext<UntypedLive | undefined>(undefined)

function LiveProvider({ live, children }: { readonly live: UntypedLive; readonly children?: ReactNode }): ReactNode {
  return createElement(LiveContext.Provider, { value: live }, children)
}

function useLive(): UntypedLive {
  const live = useContext(LiveContext)
  if (live === undefined) throw new Error('There is no database: put a <LiveProvider live={liveOf(db)}> around this.')
  return live
}

function useFind(className: string, options: object): RowsResult<unknown> {
  const live = useLive()
  return useStore(live, live.find(className, options))
}

function useWatch(className: string, options: object): RowsResult<unknown> {
  const live = useLive()
  return useStore(live, live.watch(className, options))
}

const hooks = { LiveProvider, useLive, useFind, useWatch }

function useStore(live: UntypedLive, store: RowsStore<unknown>): RowsResult<unknown> {
  // biome-ignore lint/correctness/useExhaustiveDependencies: stores of one database with equal keys are the same rows.
  const { subscribe, get, refresh } = useMemo(() => store, [live, store.key])
  // What a server renders has no rows, and neither has the first rendering of a page that it has sent.
  const snapshot = useSyncExternalStore(subscribe, get, () => noRows)
  return useMemo(() => ({ ...snapshot, refresh }), [snapshot, refresh])
}
