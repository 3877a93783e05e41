/** Live queries (contract 2.4.8): the rows of a query and their later changes, as events. */
import { type ChangeFollowing, delay, type LiveQuery, type LiveStep, type QueryRequest } from '@ashlar/engine'
import type { FdRequest, OperationReply, ReplyEvent } from '../dispatch/operation.ts'
import { liveRestPerWork } from '../limits.ts'
import type { Follower } from '../statements/change-followers.ts'

/** Starts a live query. Before the reply begins, throws Forbidden, TooManyFollowers, and the errors of `LiveQuery.begin`. */
export async function followQuery(
  query: Pick<QueryRequest, 'text' | 'parameters' | 'dialect' | 'user'>,
  request: FdRequest,
): Promise<OperationReply> {
  const { service, client, caller, fd, headers, memoryHolder } = request
  const following = request.following()
  const last = headers['last-event-id']
  const follower = service.followers.begin({ sharer: client.sharer, alias: fd.alias, caller, signal: request.signal })
  const live = following.liveQuery({ ...query, signal: follower.signal, memoryHolder })
  try {
    const seen = following.waiters.count
    const first = await live.begin()
    const isResumed = typeof last === 'string' && last !== '' && (await live.isUnchangedSince(last))
    const beginEvent = eventOf('begin', { isOrdered: live.isOrdered, isResumed })
    const step = isResumed ? { ...first, events: [] } : first
    const all = liveEvents(following, live, { beginEvent, step, seen }, service.limits.changeHeartbeatMs, follower)
    return { events: { all, until: follower.signal }, type: 'events' }
  } catch (error) {
    live.end()
    follower.end()
    throw error
  }
}

interface Beginning {
  readonly beginEvent: ReplyEvent
  readonly step: LiveStep
  readonly seen: number
}

async function* liveEvents(
  following: ChangeFollowing,
  live: LiveQuery,
  { beginEvent, step: first, seen }: Beginning,
  heartbeatMs: number,
  follower: Follower,
): AsyncGenerator<ReplyEvent> {
  const { signal } = follower
  let [step, count] = [first, seen]
  /** The position that the client has reached. */
  let sentPosition: string | undefined
  let lastEventMs = performance.now()
  try {
    yield beginEvent
    for (;;) {
      const { events, position, isAhead, workedMs } = step
      for (const { name, json } of events) {
        yield { name, data: json }
        signal.throwIfAborted()
      }
      const isDue = performance.now() - lastEventMs >= heartbeatMs
      if (sentPosition === undefined || events.length > 0 || (isDue && sentPosition !== position)) {
        yield positionEvent(position, isAhead)
        sentPosition = position
        lastEventMs = performance.now()
      } else if (isDue) {
        yield {}
        lastEventMs = performance.now()
      }
      if (step.isAtEnd) {
        follower.waits()
        await following.waiters.wait(count, Math.max(1, lastEventMs + heartbeatMs - performance.now()), signal)
        follower.proceeds()
      }
      if (workedMs > 0) await delay(Math.min(workedMs * liveRestPerWork, heartbeatMs), signal)
      signal.throwIfAborted()
      count = following.waiters.count
      step = await live.next()
    }
  } finally {
    live.end()
    follower.end()
  }
}

/** Returns an event that marks the rows sent so far as the result of the query at this position. */
function positionEvent(position: string, isAhead: boolean): ReplyEvent {
  return { ...eventOf('position', { position, ...(isAhead ? { isAhead } : {}) }), id: position }
}

function eventOf(name: string, data: object): ReplyEvent {
  return { name, data: Buffer.from(JSON.stringify(data)) }
}
