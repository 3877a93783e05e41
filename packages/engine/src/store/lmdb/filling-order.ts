/** Orders the changes of a commit so that LMDB fills its pages. */
import { detachBytes } from '../detach-bytes.ts'
import { type PackedChanges, type PackedRows, packedLengthAt, packedLengthBytes, releaseRows } from '../packed-rows.ts'
import type { Sequence } from '../sequence.ts'
import type { Change } from '../store.ts'
import { bytesPerClockCheck, stepsPerClockCheck } from '../time-slice.ts'
import { checksumBytes } from './entry-checksum.ts'

/** Fewer changes hardly fill a page and are not ordered. */
export const orderedMin = 100
/** Size limit of entries for which LMDB splits a full page by their number: a page of 4 KiB then has at least 32. */
const shortBytesMax = 4_072 / 32 - 10 - checksumBytes
/** As a fraction of 2^32: more than half, which leaves room for the late entries. */
const earlyShare = 0.535 * 2 ** 32
/** The golden section of 2^32: its multiples are evenly distributed, independent of any period in which kinds of entries recur. */
const goldenSection = 0x9e37_79b9
const changesPerStep = 512

/**
 * The order of changes that fills pages. LMDB splits a full page in the middle if an entry is inserted between others, and ascending entries of one
 * kind lie between those of their kind and of the next: inserted one by one they would leave pages half full forever. So slightly more than half of
 * them are inserted first, in descending order, so that each remaining page contains only its split-off half, of one kind; the rest then fill the
 * gaps. Long entries stay in their order: LMDB splits pages of few entries by size.
 * Yields between steps.
 */
export function* fillingOrder(changes: Sequence<Change>): Generator<undefined, Sequence<Change>, undefined> {
  const early: Change[] = []
  const late: Change[] = []
  const spread = new Spread()
  let seen = 0
  for (const change of changes) {
    const bytes = change.kind === 'put' ? change.key.length + change.value.length : Number.POSITIVE_INFINITY
    if (spread.isEarly(bytes)) early.push(change)
    else late.push(change)
    if (++seen % changesPerStep === 0) yield
  }
  return early.reverse().concat(late)
}

class Spread {
  private nth = 0

  /** Of the next change, a put of `bytes` bytes. */
  isEarly(bytes: number): boolean {
    this.nth = (this.nth + goldenSection) >>> 0
    return bytes <= shortBytesMax && this.nth < earlyShare
  }
}

/** The order of packed rows without objects per row, of which there may be very many. */
interface OrderedRows {
  /** Pairs of key and value offsets: the early ones from the start, the late ones from the end backwards. */
  readonly places: Uint32Array
  readonly earlyCount: number
}

function* ordered(rows: PackedRows): Generator<undefined, OrderedRows, undefined> {
  const spread = new Spread()
  const { count, keys, values } = rows
  const places = new Uint32Array(2 * count)
  let [keyAt, valueAt, earlyCount] = [0, 0, 0]
  for (let i = 0; i < count; i++) {
    const [keyLength, valueLength] = [packedLengthAt(keys, keyAt), packedLengthAt(values, valueAt)]
    const pair = spread.isEarly(keyLength + valueLength) ? earlyCount++ : count - 1 - (i - earlyCount)
    places[2 * pair] = keyAt
    places[2 * pair + 1] = valueAt
    keyAt += packedLengthBytes + keyLength
    valueAt += packedLengthBytes + valueLength
    if (i % changesPerStep === changesPerStep - 1) yield
  }
  return { places, earlyCount }
}

/** Puts a row and returns the size of its value. `keyAt`, `valueAt`: offsets of the lengths of its key and value. */
export type PutRow = (rows: PackedRows, keyAt: number, valueAt: number) => number

/** Puts rows in steps like `fillingOrder`, each element of `all` separately, releasing its memory after its last row. */
export function* putInFillingOrder({ all }: PackedChanges, put: PutRow): Generator<undefined, void, undefined> {
  let steps = 0
  let bytes = 0
  for (const rows of all) {
    const { places, earlyCount } = yield* ordered(rows)
    for (let nth = 0; nth < rows.count; nth++) {
      const pair = nth < earlyCount ? earlyCount - 1 - nth : rows.count - 1 - (nth - earlyCount)
      bytes += put(rows, places[2 * pair] as number, places[2 * pair + 1] as number)
      if (++steps < stepsPerClockCheck && bytes < bytesPerClockCheck) continue
      steps = 0
      bytes = 0
      yield
    }
    releaseRows(rows)
    detachBytes(places)
  }
}
