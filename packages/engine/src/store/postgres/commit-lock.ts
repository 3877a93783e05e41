/** A lock on commits: a transaction of PostgreSQL that blocks the commit functions of all other connections. */
import { commitLockMsMax } from '../../limits.ts'
import type { CommitLock } from '../store.ts'
import type { CommitConnection, Connections } from './connections.ts'
import { toStoreError } from './failures.ts'

export class PostgresLock implements CommitLock {
  private connection: CommitConnection | undefined
  private readonly timer: NodeJS.Timeout

  private constructor(connection: CommitConnection) {
    this.connection = connection
    this.timer = setTimeout(() => this.release(), commitLockMsMax)
  }

  /** Throws StoreUnavailable. */
  static async acquire(connections: Connections): Promise<PostgresLock> {
    const { schema, location } = connections.address
    const connection = await connections.writer()
    try {
      await connection.client.query('BEGIN')
      await connection.client.query(`LOCK TABLE ${schema}.catalog_lock IN SHARE ROW EXCLUSIVE MODE`)
    } catch (error) {
      connection.client.release(true)
      throw toStoreError(location, error)
    }
    return new PostgresLock(connection)
  }

  /** The connection, in its transaction, for the holder's final commit; undefined if the lock has ended. The caller must end both. */
  take(): CommitConnection | undefined {
    const { connection } = this
    this.connection = undefined
    clearTimeout(this.timer)
    return connection
  }

  release(): void {
    const client = this.take()?.client
    client?.query('ROLLBACK').then(
      () => client.release(),
      () => client.release(true),
    )
  }
}
