/** The slice in which a statement runs on the event loop; a longer one starts again in a statement thread. */
import { type StatementSlice, sliceOver } from '../query/query-request.ts'
import type { Store } from '../store/store.ts'
import { openSliceOfWork, openTimeSlice, type SliceWatch, type TimeSlice } from '../store/time-slice.ts'

/** Maximum number of bytes of rows buffered on the event loop. */
const collectedBytesMax = 2 ** 20

export class FirstSlice implements StatementSlice {
  private first: TimeSlice
  private readonly isSynchronous: boolean
  private readonly sliceMs: number
  private collectedBytes = 0
  private settled: TimeSlice | undefined

  constructor({ capabilities }: Store, sliceMs: number) {
    this.isSynchronous = capabilities.hasSynchronousReads
    this.sliceMs = sliceMs
    this.first = this.opened()
  }

  private opened(): TimeSlice {
    const { isSynchronous, sliceMs } = this
    return isSynchronous ? openTimeSlice(undefined, sliceMs) : openSliceOfWork(undefined, sliceMs)
  }

  beginAnew(): void {
    this.first = this.opened()
  }

  get isSettled(): boolean {
    return this.settled !== undefined
  }

  get isOver(): boolean {
    return (this.settled ?? this.first).isOver
  }

  /** Throws `sliceOver`. */
  abandonIfOver(isLong = false): void {
    if (!this.isSettled && (isLong || this.first.isOver)) throw sliceOver
  }

  /** Throws `sliceOver`. */
  yieldIfDue(): Promise<void> | undefined {
    if (this.settled !== undefined) return this.settled.yieldIfDue()
    if (this.first.isOver) throw sliceOver
    return undefined
  }

  /** Throws `sliceOver` if the rows are too many to be buffered. */
  collect(bytes: number): void {
    this.collectedBytes += bytes
    if (this.collectedBytes > collectedBytesMax) throw sliceOver
  }

  commit(): void {
    if (!this.isSettled) throw sliceOver
  }

  settle(watch: SliceWatch | undefined): void {
    this.settled = this.isSynchronous ? openTimeSlice(watch) : openSliceOfWork(watch)
  }
}
