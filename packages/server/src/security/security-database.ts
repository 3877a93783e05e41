/** The security database: a federated database without an alias, with users, tokens, sessions and roles (contract 9.2). */

import { chmodSync, statSync } from 'node:fs'
import {
  AshlarError,
  type Attributes,
  type Database,
  FederatedDatabase,
  type Oid,
  openStore,
  type Store,
} from '@ashlar/engine'
import { storeDirectory } from '@ashlar/engine/store-address'
import {
  className,
  createSecuritySchema,
  namespace,
  schemaVersion,
  stateKey,
  upgradeSecuritySchema,
} from './security-schema.ts'

export interface SecurityDatabaseOptions {
  warn?(message: string): void
  onUnusable?(error: Error): void
  onFault?(error: unknown): void
}

type Parameters = Readonly<Record<string, unknown>>

interface State {
  readonly __identifier__: Oid
  readonly schemaVersion: number
  readonly revision: number
}

export class SecurityDatabase {
  /** True if this process has created it. */
  readonly isNew: boolean
  private readonly fd: FederatedDatabase
  private readonly state: Oid

  private constructor(fd: FederatedDatabase, state: Oid, isNew: boolean) {
    this.fd = fd
    this.state = state
    this.isNew = isNew
  }

  /** Opens the database, or creates it if it does not exist. Throws an Error with a one-sentence message for the operator. */
  static async open(address: string, options: SecurityDatabaseOptions = {}): Promise<SecurityDatabase> {
    const { onFault, ...storeOptions } = options
    const store = await openStore(address, storeOptions)
    const fd = await openOn(store, onFault)
    try {
      const { state, isNew } = await prepare(fd)
      // A database restored from a backup has default permissions.
      restrictPermissions(address)
      return new SecurityDatabase(fd, state, isNew)
    } catch (error) {
      await fd.close()
      throw error
    }
  }

  /** Returns the revision, which each change that affects caches increases. Throws StoreUnavailable, also for a deleted or replaced file. */
  async revision(): Promise<number> {
    const problem = this.fd.store.problem?.()
    if (problem instanceof AshlarError && problem.isFatal) throw problem
    const json = await this.fd.readObject(this.state)
    return (JSON.parse(json.toString()) as State).revision
  }

  rows<T>(text: string, parameters: Parameters = {}): Promise<T[]> {
    return rowsOf<T>(this.fd, text, parameters)
  }

  /** Executes `body` in one commit that increments the revision; retries after a conflict. If `body` throws, nothing is changed. */
  change<T>(body: (change: SecurityChange) => Promise<T>): Promise<T> {
    return this.commit(async (change) => {
      const result = await body(change)
      const { revision } = JSON.parse((await change.step().readObject(this.state)).toString()) as State
      await change.update(this.state, { revision: revision + 1 })
      return result
    })
  }

  /** Commits a change that revokes nothing and needs no cache refresh: a new user, token or session, or a time of use. */
  note<T>(body: (change: SecurityChange) => Promise<T>): Promise<T> {
    return this.commit(body)
  }

  async problems(): Promise<readonly unknown[]> {
    return (await this.fd.verify()).problems
  }

  close(): Promise<void> {
    return this.fd.close()
  }

  private commit<T>(body: (change: SecurityChange) => Promise<T>): Promise<T> {
    return this.fd.transaction((step) => body(new SecurityChange(step)), false)
  }
}

/** One attempt of a transaction. */
export class SecurityChange {
  private readonly numbered: (number: number) => Database
  private number = 0

  constructor(numbered: (number: number) => Database) {
    this.numbered = numbered
  }

  rows<T>(text: string, parameters: Parameters = {}): Promise<T[]> {
    return rowsOf<T>(this.step(), text, parameters)
  }

  create(name: string, attributes: Attributes): Promise<string> {
    return this.step().createObject(name, attributes)
  }

  update(oid: string, attributes: Attributes): Promise<void> {
    return this.step().updateObject(oid, attributes)
  }

  delete(oid: string): Promise<void> {
    return this.step().deleteObject(oid)
  }

  /** Returns the database for the next operation. */
  readonly step = (): Database => {
    this.number += 1
    return this.numbered(this.number)
  }
}

async function openOn(store: Store, onFault: SecurityDatabaseOptions['onFault']): Promise<FederatedDatabase> {
  try {
    return await FederatedDatabase.open({ alias: namespace, store, ...(onFault === undefined ? {} : { onFault }) })
  } catch (error) {
    await Promise.allSettled([store.close()])
    throw error
  }
}

/** Creates or upgrades the schema. If several processes start together, only one creates it. */
function prepare(fd: FederatedDatabase): Promise<{ readonly state: Oid; readonly isNew: boolean }> {
  return fd.transaction(async (numbered) => {
    const { step } = new SecurityChange(numbered)
    const isNew = !(await hasSecurityClasses(step()))
    if (isNew) await createSecuritySchema(step)
    const text = `FROM ${className.state} WHERE key = $key RETURN *`
    const [state] = await rowsOf<State>(step(), text, { key: stateKey })
    if (state === undefined) throw new Error('The security database lacks its state: restore a backup of it.')
    if (state.schemaVersion > schemaVersion) {
      throw new Error(
        `The security database is of version ${state.schemaVersion}, and this program knows ${schemaVersion}: start a newer one.`,
      )
    }
    if (state.schemaVersion < schemaVersion) {
      await upgradeSecuritySchema(step, state.__identifier__, state.schemaVersion)
    }
    return { state: state.__identifier__, isNew }
  }, false)
}

export async function hasSecurityClasses(database: Pick<Database, 'readClass'>): Promise<boolean> {
  try {
    await database.readClass(className.state)
    return true
  } catch (error) {
    if (error instanceof AshlarError && error.kind === 'notFound') return false
    throw error
  }
}

async function rowsOf<T>(database: Pick<Database, 'query'>, text: string, parameters: Parameters): Promise<T[]> {
  const { chunks } = await database.query({ text, parameters })
  const rows: T[] = []
  for await (const { bytes, starts } of chunks) {
    for (const [position, start] of starts.entries()) {
      rows.push(JSON.parse(bytes.subarray(start, starts[position + 1] ?? bytes.length).toString()) as T)
    }
  }
  return rows
}

const groupAndOthers = 0o077

/** Restricts the directory of an LMDB store, which contains password hashes, to its owner, unless another user owns it. */
function restrictPermissions(address: string): void {
  const directory = process.platform === 'win32' ? undefined : storeDirectory(address)
  if (directory === undefined) return
  const { mode, uid } = statSync(directory)
  const own = process.getuid?.()
  if ((mode & groupAndOthers) !== 0 && (own === 0 || own === uid)) chmodSync(directory, mode & 0o7700)
}
