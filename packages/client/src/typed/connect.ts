/** The typed interface to a server. */
import { DataClient } from '../data-client.ts'
import type { ConnectOptions, Database } from './database.ts'
import { databaseOf } from './database-of.ts'

/** Returns the typed interface to a server; nothing is sent. Throws TypeError if `baseUrl` is not the address of a server. */
export function connect<S>(
  baseUrl: string,
  ...[options]: Record<never, never> extends ConnectOptions<S>
    ? [options?: ConnectOptions<S>]
    : [options: ConnectOptions<S>]
): Database<S> {
  return databaseOf<S, DataClient>(new DataClient({ ...options, baseUrl }))
}
