/** The query of a thread, as data. */
import type { QueryRequest, RowChunk } from '../query/query-request.ts'
import type { Once } from '../receipts/receipt.ts'

export interface QueryData
  extends Pick<QueryRequest, 'text' | 'parameters' | 'parametersText' | 'dialect' | 'isolation' | 'user' | 'explain'> {
  readonly once: Pick<Once<readonly RowChunk[]>, 'request' | 'form'> | undefined
}

/** `Once.replyOf` of a query, from its `form`. */
export type ReplyOfForm = (form: object) => Once<readonly RowChunk[]>['replyOf']

export function queryOf({ once, ...request }: QueryData, replyOf: ReplyOfForm | undefined): QueryRequest {
  if (once?.form === undefined || replyOf === undefined) return request
  return { ...request, once: { request: once.request, replyOf: replyOf(once.form) } }
}
