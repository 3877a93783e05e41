/** The events of a live query, and the rows that they lead to. */
import type { LiveBegin, LivePosition, LiveRow } from './change-types.ts'
import type { FetchBody } from './options.ts'
import { readLines } from './rows.ts'
import type { Oid, Problem } from './wire.ts'

export interface LiveRowEvent<Row> extends LiveRow {
  /** `row`: of the result that is told first. `enter`, `change`, `leave`: what has become of it. */
  readonly event: 'row' | 'enter' | 'change' | 'leave'
  readonly row?: Row
}

/**
 * `begin`: the rows that were told before are let go of, unless it is resumed. `position`: all that one commit or several have changed is told: the
 * rows are those of the query at that position.
 */
export type LiveEvent<Row = Record<string, unknown>> =
  | ({ readonly event: 'begin' } & LiveBegin)
  | LiveRowEvent<Row>
  | ({ readonly event: 'position' } & LivePosition)

export type ServerEvent<Row> = LiveEvent<Row> | { readonly event: 'error'; readonly problem: Problem }

/** Ends the reply where the loop is left. */
export async function* readEvents<Row>(
  body: FetchBody,
  parseJson: (text: string) => unknown,
): AsyncGenerator<ServerEvent<Row>, void, undefined> {
  let event = ''
  // Each event of the server has its data on one line, after its name.
  for await (const line of readLines(body)) {
    if (line.startsWith('event: ')) event = line.slice('event: '.length)
    if (!line.startsWith('data: ')) continue
    const data = parseJson(line.slice('data: '.length))
    yield event === 'error' ? { event, problem: data as Problem } : ({ event, ...(data as object) } as LiveEvent<Row>)
  }
}

/** The result of a live query, as its events tell it: in the order of the query where it has one. */
export class LiveRows<Row = Record<string, unknown>> {
  private readonly all: { readonly oid: Oid; readonly row: Row }[] = []

  get rows(): readonly { readonly oid: Oid; readonly row: Row }[] {
    return this.all
  }

  apply(told: LiveEvent<Row>): void {
    switch (told.event) {
      case 'begin':
        if (!told.isResumed) this.all.length = 0
        return
      case 'position':
        return
      default:
        this.applyRow(told)
    }
  }

  private applyRow({ event, oid, row, after }: LiveRowEvent<Row>): void {
    const at = this.all.findIndex((one) => one.oid === oid)
    const held = this.all[at]
    const now = { oid, row: row === undefined ? (held?.row as Row) : row }
    if (event === 'change' && after === undefined) {
      if (held !== undefined) this.all[at] = now
      return
    }
    if (held !== undefined) this.all.splice(at, 1)
    if (event === 'leave') return
    const place = after === undefined ? this.all.length : after === null ? 0 : this.placeBehind(after)
    this.all.splice(place, 0, now)
  }

  private placeBehind(oid: Oid): number {
    return this.all.findIndex((one) => one.oid === oid) + 1
  }
}
