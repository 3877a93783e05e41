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

/** Maintains the rows of a live query from its events, in the order of the query if it has one. */
export class LiveRows<Row = Record<string, unknown>> {
  private readonly all: { readonly oid: Oid; readonly row: Row }[] = []

  /** The current rows, each with the OID of its object. */
  get rows(): readonly { readonly oid: Oid; readonly row: Row }[] {
    return this.all
  }

  /** Applies the next event of `followQuery`. */
  apply(event: LiveEvent<Row>): void {
    switch (event.event) {
      case 'begin':
        if (!event.isResumed) this.all.length = 0
        return
      case 'position':
        return
      default:
        this.applyRow(event)
    }
  }

  private applyRow({ event, oid, row, after }: LiveRowEvent<Row>): void {
    const at = this.all.findIndex((one) => one.oid === oid)
    const current = this.all[at]
    const now = { oid, row: row === undefined ? (current?.row as Row) : row }
    if (event === 'change' && after === undefined) {
      if (current !== undefined) this.all[at] = now
      return
    }
    if (current !== undefined) this.all.splice(at, 1)
    if (event === 'leave') return
    const place = after === undefined ? this.all.length : after === null ? 0 : this.placeAfter(after)
    this.all.splice(place, 0, now)
  }

  private placeAfter(oid: Oid): number {
    return this.all.findIndex((one) => one.oid === oid) + 1
  }
}
