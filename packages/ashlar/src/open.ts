/** Opens a database in this process. The engine is loaded by the first call, so that a program that only connects does not load it. */
import type { ConnectOptions, Database, Operations, TransactionOptions } from '@ashlar/client'
import type { OpenOptions } from './in-process/open-options.ts'
import type { InProcessClient } from './in-process-client.ts'

/** The options that the types of the schema are written for have to be given. */
type RequiredOptions<S> = Omit<OpenOptions, Reads> & Pick<ConnectOptions<S>, Extract<keyof ConnectOptions<S>, Reads>>
type Reads = 'dates' | 'integers'

/** The calls of one transaction. They see its own changes, and are executed one after the other. */
export interface Transaction<S> extends Operations<S, 'now'>, Pick<Database<S>, 'query' | 'pages'> {}

/** A database that this process has open; to be closed. */
export interface OpenDatabase<S> extends Database<S, InProcessClient>, AsyncDisposable {
  /**
   * Runs `body` as one transaction: its changes are committed when it returns, and none are if it throws, or if one of its calls fails. `body` is run again,
   * on newer data, if other changes conflict with what it has read; nobody waits for it meanwhile. Effects outside the database have to allow for that.
   * `timeoutMs`, by default 60,000, is for all runs together. Throws TransactionContention after many conflicts.
   */
  transaction<T>(body: (tx: Transaction<S>) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** Ends background work, waits for changes in progress, and closes the store. Later calls throw AshlarConnectionError. */
  close(): Promise<void>
}

/**
 * Opens a database in this process, and creates it if there is none. `address`: a directory for LMDB, `memory:`, or an address as `ashlar serve` has them
 * (`lmdb:…`, `postgres://…`). Several processes may open one directory. Throws an Error with one sentence if it cannot be opened.
 */
export async function open<S>(
  address: string,
  ...[options]: Record<never, never> extends RequiredOptions<S>
    ? [options?: RequiredOptions<S>]
    : [options: RequiredOptions<S>]
): Promise<OpenDatabase<S>> {
  const { openDatabase } = await import('./in-process/open-database.ts')
  const { database, transaction, close } = await openDatabase(storeAddress(address), options ?? {})
  let closing: Promise<void> | undefined
  const closeOnce = (): Promise<void> => {
    closing ??= close()
    return closing
  }
  const opened = { ...database, transaction, close: closeOnce, [Symbol.asyncDispose]: closeOnce }
  return opened as unknown as OpenDatabase<S>
}

/** A letter before a colon is a drive of Windows. */
const scheme = /^[a-z][a-z0-9+.-]+:/i

function storeAddress(address: string): string {
  return scheme.test(address) ? address : `lmdb:${address}`
}
