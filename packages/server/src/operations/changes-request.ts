/** The parameters of the change feed (contract 2.4). */
import { AshlarError, type ChangesRequest } from '@ashlar/engine'
import { changesPageMax } from '@ashlar/engine/limits'
import type { FdRequest } from '../dispatch/operation.ts'
import { changeWaitMsMax } from '../limits.ts'

export const defaultLimit = 100
/** Default for NDJSON replies. */
export const defaultWaitMs = 20_000

export type ChangesOptions = Omit<ChangesRequest, 'signal'>

/** What is read of a request. */
export interface ChangesParameters extends Pick<FdRequest, 'query' | 'headers' | 'replyType'> {
  readonly caller: Pick<FdRequest['caller'], 'userOn'>
  readonly fd: Pick<FdRequest['fd'], 'alias'>
}

/** Throws MalformedValue. */
export function readChangesRequest({ query, headers, replyType, caller, fd }: ChangesParameters): ChangesOptions {
  const last = replyType === 'events' ? headers['last-event-id'] : undefined
  const since = last === undefined ? (textParam(query, 'since') ?? 'first') : String(last)
  const include = textParam(query, 'include') ?? 'values'
  if (include !== 'values' && include !== 'keys') {
    throw new AshlarError('MalformedValue', 'The parameter include must be specified once, as values or keys.')
  }
  const limit = query.limit === undefined ? defaultLimit : Number(query.limit)
  if (!Number.isInteger(limit) || limit < 1 || limit > changesPageMax) {
    throw new AshlarError('MalformedValue', `The parameter limit must be an integer from 1 to ${changesPageMax}.`)
  }
  const user = caller.userOn(fd.alias)
  const attributes = textParam(query, 'attributes')?.split(',')
  return {
    since,
    className: textParam(query, 'class'),
    attributes,
    where: textParam(query, 'where'),
    include,
    limit,
    user,
  }
}

function textParam(query: ChangesParameters['query'], name: string): string | undefined {
  const value = query[name]
  if (value === undefined || (typeof value === 'string' && value !== '')) return value
  throw new AshlarError('MalformedValue', `The parameter ${name} must be specified once, and not be empty.`)
}

/** Returns milliseconds. Throws MalformedValue. */
export function readWait({ query, replyType }: Pick<ChangesParameters, 'query' | 'replyType'>): number {
  if (query.wait === undefined) return replyType === 'ndjson' ? defaultWaitMs : 0
  const seconds = typeof query.wait === 'string' && query.wait !== '' ? Number(query.wait) : Number.NaN
  if (seconds >= 0 && seconds * 1_000 <= changeWaitMsMax) return seconds * 1_000
  throw new AshlarError(
    'MalformedValue',
    `The parameter wait is a number of seconds from 0 to ${changeWaitMsMax / 1_000}.`,
  )
}
