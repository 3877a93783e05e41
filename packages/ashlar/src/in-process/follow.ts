/** Live queries and the change feed in process (contract 2.4). */
import type { ChangeRecord, ChangesOptions, ChangesPage, LiveEvent, QueryBody } from '@ashlar/client'
import { delay, type FederatedDatabase } from '@ashlar/engine'
import { liveRestPerWork, readChangesRequest, readWait } from '@ashlar/server/in-process'
import { dialectOf } from './calls.ts'
import type { JsonReader } from './json-reader.ts'

/** How long it waits for a commit at a time. */
const waitMs = 20_000

/** Yields the rows of a query and their changes, until the signal is aborted. */
export async function* liveEvents<Row>(
  fd: FederatedDatabase,
  { query: text, parameters, dialect }: QueryBody,
  reader: JsonReader,
  signal: AbortSignal,
): AsyncGenerator<LiveEvent<Row>, void> {
  const { waiters } = fd
  const live = fd.liveQuery({ text, parameters, dialect: dialectOf(dialect), signal })
  try {
    let seen = waiters.count
    let step = await live.begin()
    yield { event: 'begin', isOrdered: live.isOrdered, isResumed: false }
    for (let isFirst = true; ; isFirst = false) {
      const { events, position, isAhead, isAtEnd, workedMs } = step
      for (const { name, json } of events) {
        yield { event: name, ...reader.read<{ readonly oid: string; readonly row: Row }>(json) }
        signal.throwIfAborted()
      }
      if (isFirst || events.length > 0) yield { event: 'position', position, ...(isAhead && { isAhead }) }
      if (isAtEnd) await waiters.wait(seen, waitMs, signal)
      if (workedMs > 0) await delay(Math.min(workedMs * liveRestPerWork, waitMs), signal)
      signal.throwIfAborted()
      seen = waiters.count
      step = await live.next()
    }
  } finally {
    live.end()
  }
}

/** Returns a page of the feed, which waits for a change as long as the options say. */
export async function changesPage(
  fd: FederatedDatabase,
  { since, className, attributes, where, include, limit, wait }: ChangesOptions,
  reader: JsonReader,
  signal: AbortSignal | undefined,
): Promise<ChangesPage> {
  const given = { since, class: className, attributes: attributes?.join(), where, include, limit, wait }
  const query = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
  )
  const request = { query, headers: {}, replyType: 'json', caller: { userOn: () => null }, fd } as const
  const options = { ...readChangesRequest(request), signal }
  const endMs = performance.now() + readWait(request)
  for (let { since: position } = options; ; ) {
    const seen = fd.waiters.count
    const page = await fd.changes.page({ ...options, since: position })
    const leftMs = endMs - performance.now()
    if (page.changes.length > 0 || leftMs <= 0) {
      const changes = page.changes.map(({ json }) => changeOf(json, reader))
      return { changes, position: page.position, isAtEnd: page.isAtEnd }
    }
    position = page.position
    if (page.isAtEnd) await fd.waiters.wait(seen, leftMs, signal ?? noSignal)
    signal?.throwIfAborted()
  }
}

const noSignal = new AbortController().signal

/** The time of the commit is a text, also with dates. */
function changeOf(json: Buffer, reader: JsonReader): ChangeRecord {
  const change = reader.parse(json) as ChangeRecord
  reader.revive([change.before, change.after])
  return change
}

/** Yields every change after a position, until the signal is aborted. */
export async function* followedChanges(
  fd: FederatedDatabase,
  options: ChangesOptions,
  reader: JsonReader,
  signal: AbortSignal,
  onPosition: ((position: string) => void) | undefined,
): AsyncGenerator<ChangeRecord, void> {
  for (let { since } = options; ; ) {
    const page = await changesPage(
      fd,
      { wait: waitMs / 1_000, ...options, ...(since !== undefined && { since }) },
      reader,
      signal,
    )
    yield* page.changes
    since = page.position
    onPosition?.(since)
  }
}
