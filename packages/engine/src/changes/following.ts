/** What a caller has of the changes of a federated database: all of them, or what it may see. */
import type { QueryRequest } from '../query/query-request.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { ChangeWaiters } from './change-waiters.ts'
import type { LiveQuery } from './live-query.ts'

export interface Following {
  readonly changes: Pick<ChangeFeed, 'page'>
  readonly waiters: ChangeWaiters
  /** To be begun and, at last, ended. */
  liveQuery(request: QueryRequest): LiveQuery
}
