/** The rows of a live query, with the changes that are shown before the server has confirmed them. */
import { type LiveEvent, LiveRows } from '../live-query.ts'
import type { Connection } from '../typed/connection.ts'
import { followRows } from '../typed/follow-rows.ts'
import type { Finding, Values } from '../typed/statement.ts'
import { isEqual } from './is-equal.ts'
import type { Publish } from './shared-rows.ts'
import { createdRow, type ShownChange, updatedRow } from './shown-change.ts'

/**
 * How long a change that the server has made is shown without an event of the live query about its object, which there is none for if the change concerns no
 * row. It is longer than a server waits between two runs of a query.
 */
export const settledMsMax = 20_000

/** A change in these rows. */
interface Entry {
  readonly change: ShownChange
  /** Objects whose rows have entered since the change: one of them may be the new object, of which the OID is not known yet. */
  readonly entered: Set<string>
  isOverdue: boolean
  timer: ReturnType<typeof setTimeout> | undefined
}

export class FollowedRows {
  private readonly connection: Connection
  private readonly className: string
  private readonly finding: Finding
  private readonly live = new LiveRows<Values>()
  private entries: Entry[] = []
  private publish: Publish = () => undefined
  /** As of the last position: until the next one, `live` may have a part of a commit. */
  private rows: LiveRows<Values>['rows'] = []
  private former: ReadonlyMap<string, Values> = new Map()
  /** Objects of the events since the last position. */
  private touched = new Set<string>()
  /** Whether the events since the last position are those of all rows. */
  private isResent = false
  private isConnected = false
  private isLoaded = false

  constructor(connection: Connection, className: string, finding: Finding) {
    this.connection = connection
    this.className = className
    this.finding = finding
  }

  async read(publish: Publish, signal: AbortSignal): Promise<void> {
    this.publish = publish
    const onLost = (error: unknown): void => {
      this.isConnected = false
      publish({ status: this.isLoaded ? 'reconnecting' : 'loading', error })
    }
    try {
      for await (const event of followRows(this.connection, this.className, this.finding, { signal, onLost }))
        this.apply(event)
    } finally {
      this.isConnected = false
    }
  }

  add(change: ShownChange): void {
    this.entries.push({ change, entered: new Set(), isOverdue: false, timer: undefined })
    this.show()
  }

  /** Takes a change back that was refused. */
  remove(change: ShownChange): void {
    this.drop(this.entries.filter((entry) => entry.change === change))
    this.show()
  }

  /** Called when the server has made the change. */
  confirm(change: ShownChange): void {
    const entry = this.entries.find((one) => one.change === change)
    if (entry === undefined) return
    if (this.isSettled(entry)) this.drop([entry])
    else {
      entry.timer = setTimeout(() => {
        entry.isOverdue = true
        if (!this.isConnected) return
        this.drop([entry])
        this.show()
      }, settledMsMax)
    }
    this.show()
  }

  /** Ends what runs, when nobody subscribes any more. */
  end(): void {
    this.drop(this.entries)
  }

  private apply(event: LiveEvent<Values>): void {
    if (event.event === 'begin') {
      this.former = new Map(event.isResumed ? [] : this.rows.map(({ oid, row }) => [oid, row]))
      this.live.apply(event)
      this.isResent = !event.isResumed
      if (this.isResent) for (const { oid } of this.rows) this.touched.add(oid)
    } else if (event.event === 'position') {
      this.rows = this.live.rows
      this.isConnected = true
      this.isLoaded = true
      this.former = new Map()
      this.settle()
      this.isResent = false
      this.show({ status: 'ready', error: undefined })
    } else {
      // Whoever shows a row again only if it is another object is spared rows that are sent again after a lost connection.
      const former = this.former.get(event.oid)
      this.live.apply(former !== undefined && isEqual(former, event.row) ? { ...event, row: former } : event)
      this.touched.add(event.oid)
    }
  }

  /** Ends to show changes that have arrived. */
  private settle(): void {
    const { touched } = this
    this.touched = new Set()
    if (this.entries.length === 0) return
    for (const id of new Set(this.entries.map(({ change }) => change.id).filter((id) => touched.has(id)))) {
      const entries = this.entriesOf(id)
      // The row may be as an earlier one of several changes of the caller has left it: the later ones are still to come.
      const arrived = entries.findLastIndex((entry) => entry.change.isDone && this.isAsShown(entry))
      if (arrived >= 0) this.drop(entries.slice(0, arrived + 1))
      // Somebody else has changed the object as well, or the server has another form of the values. Rows that are sent from the beginning may be of before.
      else if (!this.isResent && entries.every(({ change }) => change.isDone)) this.drop(entries)
    }
    this.drop(this.entries.filter(({ isOverdue }) => isOverdue))
    for (const { change, entered } of this.entries)
      if (change.kind === 'create' && !change.isDone) for (const oid of touched) entered.add(oid)
  }

  private entriesOf(id: string): readonly Entry[] {
    return this.entries.filter(({ change }) => change.id === id)
  }

  /** Whether the server's rows have the change already, or will have it without ever showing the state before it. */
  private isSettled(entry: Entry): boolean {
    const isBetweenPositions = this.isLoaded && this.touched.size === 0
    if (!isBetweenPositions) return false
    if (!this.isShown(entry)) return true
    // A row that is as the change leaves it may also be that of before an earlier change, which is still to come.
    const isFirst = this.entriesOf(entry.change.id)[0] === entry
    return isFirst && this.isAsShown(entry)
  }

  /** Whether the change is of one of the rows that are shown. */
  private isShown({ change: { id } }: Entry): boolean {
    if (this.live.rowOf(id) !== undefined) return true
    const created = this.entriesOf(id).find(({ change }) => change.kind === 'create')
    return created !== undefined && createdRow(created.change, this.className, this.finding) !== undefined
  }

  /** Whether the server's rows are as the change shows them. */
  private isAsShown({ change }: Entry): boolean {
    const row = this.live.rowOf(change.id)
    if (change.kind === 'delete') return row === undefined
    if (change.kind === 'create') return row !== undefined
    return row === undefined || updatedRow(row, change, this.finding) === row
  }

  private drop(entries: readonly Entry[]): void {
    for (const { timer } of entries) clearTimeout(timer)
    this.entries = this.entries.filter((entry) => !entries.includes(entry))
  }

  private show(change: Parameters<Publish>[0] = {}): void {
    const unconfirmed = this.entries.filter((entry) => !entry.change.isDone && this.isShown(entry))
    const pending = new Set(unconfirmed.map(({ change }) => change.id))
    this.publish({ ...change, pending, rows: this.isLoaded ? this.shownRows() : [] })
  }

  private shownRows(): readonly Values[] {
    if (this.entries.length === 0) return this.rows.map(({ row }) => row)
    const changes = new Map<string, ShownChange[]>()
    for (const { change } of this.entries) {
      if (change.kind !== 'create') changes.set(change.id, [...(changes.get(change.id) ?? []), change])
    }
    const shown: Values[] = []
    for (const { oid, row } of this.rows) {
      const own = changes.get(oid) ?? []
      if (own.some(({ kind }) => kind === 'delete')) continue
      shown.push(own.reduce((updated, change) => updatedRow(updated, change, this.finding), row))
    }
    return this.withCreated(shown, changes)
  }

  private withCreated(
    rows: readonly Values[],
    changes: ReadonlyMap<string, readonly ShownChange[]>,
  ): readonly Values[] {
    const [first, last, arrived]: [Values[], Values[], Set<string>] = [[], [], new Set()]
    for (const { change, entered } of this.entries) {
      if (change.kind !== 'create' || this.rows.some(({ oid }) => oid === change.id)) continue
      const row = createdRow(change, this.className, this.finding)
      if (row === undefined) continue
      const own = [...entered].find(
        (oid) => !arrived.has(oid) && isEqual({ ...this.live.rowOf(oid), $id: change.id }, row),
      )
      if (own !== undefined) {
        arrived.add(own)
        continue
      }
      const later = changes.get(change.id) ?? []
      if (later.some(({ kind }) => kind === 'delete')) continue
      const updated = later.reduce((before, one) => updatedRow(before, one, this.finding), row)
      if (change.isFirst) first.unshift(updated)
      else last.push(updated)
    }
    return [...first, ...rows, ...last]
  }
}
