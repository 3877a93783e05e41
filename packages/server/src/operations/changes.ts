/** The change feed (contract 2.4), as pages, as NDJSON lines that wait for changes, or as events. */
import type { ChangeFollowing, ChangesPage } from '@ashlar/engine'
import { changesPageMax } from '@ashlar/engine/limits'
import type { FdOperation, FdRequest, OperationReply, ReplyEvent } from '../dispatch/operation.ts'
import { changeWaitMsMax } from '../limits.ts'
import type { Follower } from '../statements/change-followers.ts'
import { ChangesPage as Reply } from '../wire/change-schemas.ts'
import { Type } from '../wire/json-schema.ts'
import { type ChangesOptions, defaultLimit, defaultWaitMs, readChangesRequest, readWait } from './changes-request.ts'

export const changeOperations: readonly FdOperation[] = [
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/changes',
    needs: 'read',
    summary: 'Change data capture: the changes after a position',
    description:
      'Every change of every commit exactly once, in commit order: as a page of JSON; as lines (NDJSON), which can wait for a change and end with the position; or as an endless stream of events (`Accept: text/event-stream`), whose ids are positions and which resumes after `Last-Event-ID`. Requires the change log, which the operator turns on and off. Callers with grants get only what they may see.',
    tag: 'Changes',
    queryParameters: {
      since: {
        description:
          'Start after this position, taken from an earlier reply; `first` (the default): at the oldest change kept; `now`: at future changes.',
        schema: Type.String(),
      },
      class: {
        description: 'Only changes of objects of this class (name or number) and its subclasses, and of the schema.',
        schema: Type.String(),
      },
      where: {
        description:
          'With `class`: only objects that match this DO predicate before or after the change (`matched` says when). It may use only values that the object itself holds. Changes of links and of the schema are then not reported.',
        schema: Type.String(),
      },
      attributes: {
        description:
          'With `class`: only changes of these attributes, separated by commas. Callers with grants can use it to select attributes whose changes they may see.',
        schema: Type.String(),
      },
      include: {
        description: 'values: with the values before and after. keys: only the object and the names of the attributes.',
        schema: Type.Union([Type.Literal('values'), Type.Literal('keys')], { default: 'values' }),
      },
      limit: {
        description: `Changes of a page, ${changesPageMax} at most; fewer where they are large.`,
        schema: Type.Integer({ default: defaultLimit }),
      },
      wait: {
        description: `How many seconds to wait for a change where there is none, ${changeWaitMsMax / 1_000} at most; 0 for JSON and ${defaultWaitMs / 1_000} for NDJSON without it.`,
        schema: Type.Number(),
      },
    },
    status: 200,
    reply: Reply,
    writes: ['json', 'ndjson', 'events'],
    isTransactional: false,
    errors: [
      'MalformedValue',
      'MalformedRequest',
      'ChangeLogOff',
      'ChangesGone',
      'TooManyFollowers',
      'UnknownClass',
      'QuerySyntaxError',
      'QueryError',
      'UnknownAttribute',
      'AmbiguousAttribute',
      'LimitExceeded',
    ],
    run(_database, request) {
      const options = readChangesRequest(request)
      const waitMs = readWait(request)
      return request.replyType === 'events' ? follow(options, request) : answer(options, waitMs, request)
    },
  },
]

function followerOf({ service, client, caller, fd, signal }: FdRequest): Follower {
  return service.followers.begin({ sharer: client.sharer, alias: fd.alias, caller, signal })
}

async function answer(options: ChangesOptions, waitMs: number, request: FdRequest): Promise<OperationReply> {
  const { replyType } = request
  const page = await (waitMs === 0 ? pageNow(options, request) : pageWithin(options, waitMs, request))
  return { body: replyType === 'ndjson' ? linesOf(page) : jsonOf(page), type: replyType }
}

/** A request without a wait does not count as a follower. */
function pageNow(options: ChangesOptions, request: FdRequest): Promise<ChangesPage> {
  return request.following().changes.page({ ...options, signal: request.signal })
}

/** Returns the first page with a change, or the last page within `waitMs`: pages are empty if all their changes are hidden. */
async function pageWithin(options: ChangesOptions, waitMs: number, request: FdRequest): Promise<ChangesPage> {
  const following = request.following()
  const follower = followerOf(request)
  const { signal } = follower
  const endMs = performance.now() + waitMs
  try {
    for (let { since } = options; ; ) {
      const seen = following.waiters.count
      const page = await following.changes.page({ ...options, since, signal })
      const leftMs = endMs - performance.now()
      if (page.changes.length > 0 || leftMs <= 0) return page
      since = page.position
      if (page.isAtEnd) {
        follower.waits()
        await following.waiters.wait(seen, leftMs, signal)
        follower.proceeds()
      }
      signal.throwIfAborted()
    }
  } finally {
    follower.end()
  }
}

const comma = Buffer.from(',')
const newline = Buffer.from('\n')

function jsonOf({ changes, position, isAtEnd }: ChangesPage): Buffer {
  const parts = changes.flatMap(({ json }, i) => (i === 0 ? [json] : [comma, json]))
  return Buffer.concat([Buffer.from('{"changes":['), ...parts, Buffer.from(`],${endOf(position, isAtEnd)}}`)])
}

function linesOf({ changes, position, isAtEnd }: ChangesPage): Buffer {
  const lines = changes.flatMap(({ json }) => [json, newline])
  return Buffer.concat([...lines, Buffer.from(`{${endOf(position, isAtEnd)}}\n`)])
}

function endOf(position: string, isAtEnd: boolean): string {
  return `"position":${JSON.stringify(position)},"isAtEnd":${isAtEnd}`
}

/** Starts a stream of events. Throws errors of the request before the reply begins. */
async function follow(options: ChangesOptions, request: FdRequest): Promise<OperationReply> {
  const { service } = request
  const following = request.following()
  const follower = followerOf(request)
  try {
    const seen = following.waiters.count
    const first = await following.changes.page({ ...options, signal: follower.signal })
    const all = changeEvents(following, options, { first, seen }, service.limits.changeHeartbeatMs, follower)
    return { events: { all, until: follower.signal }, type: 'events' }
  } catch (error) {
    follower.end()
    throw error
  }
}

async function* changeEvents(
  following: ChangeFollowing,
  options: ChangesOptions,
  { first, seen }: { readonly first: ChangesPage; readonly seen: number },
  heartbeatMs: number,
  follower: Follower,
): AsyncGenerator<ReplyEvent> {
  const { signal } = follower
  let [page, count] = [first, seen]
  // The position that the client has reached with the events received.
  let sentPosition = ''
  let lastEventMs = performance.now()
  try {
    for (;;) {
      for (const { position, json } of page.changes) {
        sentPosition = position
        yield { name: 'change', id: position, data: json }
      }
      if (page.changes.length > 0) lastEventMs = performance.now()
      signal.throwIfAborted()
      if (page.isAtEnd) {
        const isDue = performance.now() - lastEventMs >= heartbeatMs
        if (sentPosition === '' || (isDue && sentPosition !== page.position)) {
          sentPosition = page.position
          yield positionEvent(page.position)
          lastEventMs = performance.now()
        } else if (isDue) {
          yield {}
          lastEventMs = performance.now()
        }
        follower.waits()
        await following.waiters.wait(count, Math.max(1, lastEventMs + heartbeatMs - performance.now()), signal)
        follower.proceeds()
        signal.throwIfAborted()
      }
      count = following.waiters.count
      page = await following.changes.page({ ...options, since: page.position, signal })
    }
  } finally {
    follower.end()
  }
}

function positionEvent(position: string): ReplyEvent {
  return { name: 'position', id: position, data: Buffer.from(JSON.stringify({ position })) }
}
