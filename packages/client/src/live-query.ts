/** Events of a live query, and the rows that result from them. */
import type { LiveBegin, LivePosition, LiveRow } from './change-types.ts'
import type { FetchBody } from './options.ts'
import { readLines } from './rows.ts'
import type { Oid, Problem } from './wire.ts'

export interface LiveRowEvent<Row> extends LiveRow {
  /** `row`: a row of the first result. `enter`, `change`, `leave`: later changes of the result. */
  readonly event: 'row' | 'enter' | 'change' | 'leave'
  readonly row?: Row
}

/**
 * `begin`: the first event after each connection; unless `isResumed`, discard all rows. `position`: all changes of one or more commits have been sent, and the
 * rows are the result of the query at that position.
 */
export type LiveEvent<Row = Record<string, unknown>> =
  | ({ readonly event: 'begin' } & LiveBegin)
  | LiveRowEvent<Row>
  | ({ readonly event: 'position' } & LivePosition)

export type ServerEvent<Row> = LiveEvent<Row> | { readonly event: 'error'; readonly problem: Problem }

/** Leaving the loop ends the reply. */
export async function* readEvents<Row>(
  body: FetchBody,
  parseJson: (text: string) => unknown,
): AsyncGenerator<ServerEvent<Row>, void, undefined> {
  let event = ''
  // The server writes the data of an event on one line, after its name.
  for await (const line of readLines(body)) {
    if (line.startsWith('event: ')) event = line.slice('event: '.length)
    if (!line.startsWith('data: ')) continue
    const data = parseJson(line.slice('data: '.length))
    yield event === 'error' ? { event, problem: data as Problem } : ({ event, ...(data as object) } as LiveEvent<Row>)
  }
}

interface LiveRowPlace<Row> {
  current: { readonly oid: Oid; readonly row: Row }
  before: LiveRowPlace<Row> | undefined
  next: LiveRowPlace<Row> | undefined
}

/** Maintains the rows of a live query from its events, in the order of the query if it has one. Each event costs the same, however many rows there are. */
export class LiveRows<Row = Record<string, unknown>> {
  private readonly places = new Map<Oid, LiveRowPlace<Row>>()
  private first: LiveRowPlace<Row> | undefined
  private last: LiveRowPlace<Row> | undefined
  private listed: readonly { readonly oid: Oid; readonly row: Row }[] | undefined = []

  /** The current rows, each with the OID of its object. It is the same array until an event has changed something. */
  get rows(): readonly { readonly oid: Oid; readonly row: Row }[] {
    if (this.listed !== undefined) return this.listed
    const listed: { readonly oid: Oid; readonly row: Row }[] = []
    for (let place = this.first; place !== undefined; place = place.next) listed.push(place.current)
    this.listed = listed
    return listed
  }

  /** Returns the row of an object, undefined if it has none. */
  rowOf(oid: Oid): Row | undefined {
    return this.places.get(oid)?.current.row
  }

  /** Applies the next event of `followQuery`. */
  apply(event: LiveEvent<Row>): void {
    switch (event.event) {
      case 'begin':
        if (!event.isResumed) this.clear()
        return
      case 'position':
        return
      default:
        this.listed = undefined
        this.applyRow(event)
    }
  }

  private clear(): void {
    this.places.clear()
    this.first = undefined
    this.last = undefined
    this.listed = []
  }

  private applyRow({ event, oid, row, after }: LiveRowEvent<Row>): void {
    const known = this.places.get(oid)
    const current = { oid, row: row === undefined ? (known?.current.row as Row) : row }
    if (event === 'change' && after === undefined) {
      if (known !== undefined) known.current = current
      return
    }
    if (known !== undefined) this.remove(known)
    if (event === 'leave') return
    this.insert(current, after === undefined ? this.last : after === null ? undefined : this.places.get(after))
  }

  private insert(current: LiveRowPlace<Row>['current'], before: LiveRowPlace<Row> | undefined): void {
    const next = before === undefined ? this.first : before.next
    const place = { current, before, next }
    this.places.set(current.oid, place)
    if (before === undefined) this.first = place
    else before.next = place
    if (next === undefined) this.last = place
    else next.before = place
  }

  private remove({ current, before, next }: LiveRowPlace<Row>): void {
    this.places.delete(current.oid)
    if (before === undefined) this.first = next
    else before.next = next
    if (next === undefined) this.last = before
    else next.before = before
  }
}
