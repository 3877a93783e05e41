/** The view that a caller has of changes of a federated database: all of them, or those it may see. */
import type { QueryRequest } from '../query/query-request.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { ChangeWaiters } from './change-waiters.ts'
import type { LiveQuery } from './live-query.ts'

export interface ChangeFollowing {
  readonly changes: Pick<ChangeFeed, 'page'>
  readonly waiters: ChangeWaiters
  /** The caller must begin it, and finally end it. */
  liveQuery(request: QueryRequest): LiveQuery
}
