/**
 * Lends objects to an operator one by one, in the memory of the store and filtered by their records, without copies or
 * batches.
 */
import type { Awaitable, Bytes, KeyRange } from '../../store/store.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { LendRows, RowTaker } from '../execute/lent-rows.ts'
import { decideAtOnce, qualified } from '../operators/filter.ts'
import type { ObjectScan } from './object-scan.ts'
import { restOf } from './oid-source.ts'

/** Makes a view of an entry, which is lent as the entry is; undefined where it needs more than the entry, which `later` reads. */
interface EntryReader {
  read(key: Bytes, value: Bytes): ObjectView | undefined
  /** What was undefined, to be kept: of an entry whose bytes are not lent any more. */
  later(value: Bytes): Promise<ObjectView>
}

/**
 * Undefined where the store does not answer at once, or more than the entries has to be read; and where the operators are measured one by one.
 * `areObjects`: the entries are objects, and count as such.
 */
export function lendObjects(
  scan: ObjectScan,
  ranges: () => Awaitable<readonly KeyRange[]>,
  areObjects: boolean,
  newReader: () => EntryReader,
): LendRows<ObjectView> | undefined {
  const { context, filter } = scan
  if (context.snapshot.visit === undefined || filter.rest !== undefined || context.probe !== undefined) return undefined
  return async (taker) => {
    const scanned = new LentObjects(scan, areObjects, newReader(), taker)
    for (const range of await ranges()) await scanned.lend(range)
  }
}

/** Rows that are lent before the next look at the clock, less one; all its bits are ones. */
const rowsBetweenLooks = 31

class LentObjects {
  private readonly scan: ObjectScan
  private readonly areObjects: boolean
  private readonly reader: EntryReader
  private readonly taker: RowTaker<ObjectView>
  private looked = 0
  private examined = 0
  private kept = 0
  /** The value of the entry that was not read at once. */
  private unread: Buffer | undefined
  /** What takes long: it is not decided whether it is a row, or it is one that was not taken. */
  private undecided: ObjectView | undefined
  private refused: ObjectView | undefined

  constructor(scan: ObjectScan, areObjects: boolean, reader: EntryReader, taker: RowTaker<ObjectView>) {
    this.scan = scan
    this.areObjects = areObjects
    this.reader = reader
    this.taker = taker
  }

  async lend(range: KeyRange): Promise<void> {
    const { context } = this.scan
    let rest: KeyRange | undefined = range
    while (rest !== undefined) {
      const last: Bytes | undefined = context.snapshot.visit?.(rest, false, this.use)
      rest = last === undefined ? undefined : restOf(rest, last, false)
      await this.takeLater()
      this.count()
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }

  private readonly use = (key: Bytes, value: Bytes): boolean => {
    const { context, evaluation, filter } = this.scan
    this.examined++
    const view = this.reader.read(key, value)
    if (view === undefined) {
      this.unread = Buffer.from(value)
      return false
    }
    const { ofRecord, slot } = filter
    evaluation.slots[slot] = view
    const isRow = ofRecord === undefined || decideAtOnce(ofRecord, evaluation)
    if (isRow === undefined) this.undecided = view.copy()
    else if (isRow) {
      if (this.taker.take(view)) this.kept++
      else this.refused = view.copy()
    }
    context.endRow()
    if (this.refused !== undefined || this.undecided !== undefined) return false
    return (++this.looked & rowsBetweenLooks) !== 0 || !context.isTurnDue
  }

  private async takeLater(): Promise<void> {
    const { scan, taker, unread, undecided, refused } = this
    const view = unread === undefined ? undecided : await this.reader.later(unread)
    this.unread = undefined
    this.undecided = undefined
    this.refused = undefined
    const row = view === undefined ? refused : await this.decided(view)
    if (row === undefined) return
    this.kept++
    await taker.takeLater(row)
    scan.context.endRow()
  }

  private async decided(view: ObjectView): Promise<ObjectView | undefined> {
    const { evaluation, context, filter } = this.scan
    if (filter.ofRecord === undefined) return view
    const [row] = await qualified([view], filter.ofRecord, filter.slot, evaluation, context)
    return row
  }

  private count(): void {
    const { examined, kept, scan } = this
    const { context, source, filterOperator } = scan
    source.examined += examined
    source.returned += examined
    if (this.areObjects) context.touched(examined)
    if (filterOperator !== undefined) {
      filterOperator.examined += examined
      filterOperator.returned += kept
    }
    this.examined = 0
    this.kept = 0
  }
}
