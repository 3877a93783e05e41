/** Opens a store, and makes the typed interface of it. Loads the engine. */
import { type Database, databaseOf, type TransactionOptions } from '@ashlar/client'
import { FederatedDatabase, isolations, openStore, withoutCredentials } from '@ashlar/engine'
import { EngineClient } from './engine-client.ts'
import { JsonReader } from './json-reader.ts'
import type { OpenOptions } from './open-options.ts'
import { Running } from './running.ts'
import { runInteractive, type TransactionBody } from './transaction.ts'

export interface OpenedDatabase {
  readonly database: Database<unknown, EngineClient>
  transaction<T>(body: TransactionBody<T>, options?: TransactionOptions): Promise<T>
  close(): Promise<void>
}

/** `address`: of a store. Throws an Error with one sentence if it cannot be opened. */
export async function openDatabase(address: string, options: OpenOptions): Promise<OpenedDatabase> {
  const { timeoutMs, changeLog = 'auto', isolation, dates, integers } = options
  checkWord('changeLog', changeLog, ['on', 'off', 'auto'])
  checkWord('isolation', isolation, isolations)
  refuseOnDeno(address)
  const running = new Running(withoutCredentials(address), timeoutMs)
  const store = await openStore(address)
  const fd = await FederatedDatabase.open({ alias: 'main', store, changeLog, isolation }).catch(
    async (error: unknown) => {
      await store.close()
      throw error
    },
  )
  const reader = new JsonReader({ ...(dates !== undefined && { dates }), ...(integers !== undefined && { integers }) })
  const client = new EngineClient(fd, reader, running)
  const transaction = <T>(body: TransactionBody<T>, given?: TransactionOptions): Promise<T> => {
    return runInteractive(fd, reader, running, body, given)
  }
  const close = (): Promise<void> => {
    running.close()
    return fd.close()
  }
  return { database: databaseOf(client), transaction, close }
}

function checkWord(option: string, value: string | undefined, words: readonly string[]): void {
  if (value === undefined || words.includes(value)) return
  throw new TypeError(`${option} is '${value}': it is ${words.slice(0, -1).join(', ')} or ${words.at(-1)}.`)
}

/** Deno ends the process when the file locks are loaded, since their native code needs what Deno lacks. */
function refuseOnDeno(address: string): void {
  if (!address.startsWith('lmdb:') || !('Deno' in globalThis)) return
  throw new Error(`Deno cannot open the LMDB directory of ${address}: use Node or Bun, or connect to a server.`)
}
