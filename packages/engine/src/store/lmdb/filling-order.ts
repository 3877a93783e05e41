/** The order in which the changes of a commit are put so that LMDB fills its pages. */
import { detachBytes } from '../detach-bytes.ts'
import { type PackedChanges, type PackedRows, packedLengthAt, packedLengthBytes, releaseRows } from '../packed-rows.ts'
import type { Sequence } from '../sequence.ts'
import type { Change } from '../store.ts'
import { bytesBetweenLooks, stepsBetweenLooks } from '../time-slice.ts'
import { checksumBytes } from './entry-checksum.ts'

/** Changes whose order is worth some thought: fewer hardly fill a page. */
export const orderedMin = 100
/** Of entries that LMDB parts by their number where a page is full: 32 at least are on a page of 4 KiB. */
const shortBytesMax = 4_072 / 32 - 10 - checksumBytes
/** Of 2^32: more than half, so that there is room for the others beside these. */
const earlyShare = 0.535 * 2 ** 32
/** The golden section of 2^32: its multiples are spread evenly, whatever the rhythm in which entries of one kind come. */
const goldenSection = 0x9e37_79b9
/** Changes that are looked at in one piece. */
const pieceChanges = 512

/**
 * The order of changes that fills pages. LMDB parts a full page in the middle where an entry comes between others, and ascending entries come
 * between those of their kind and those of the next: one by one they would leave half-full pages behind for good. So a little more than half
 * of them are put first, backwards, so that each page that is left holds just the half that was parted off, of their kind; the others then
 * come between them. Long entries are left in their order: LMDB parts pages of few by their size.
 *
 * In pieces, between which others may have their turn.
 */
export function* fillingOrderInPieces(changes: Sequence<Change>): Generator<undefined, Sequence<Change>, undefined> {
  const early: Change[] = []
  const late: Change[] = []
  const spread = new Spread()
  let seen = 0
  for (const change of changes) {
    const bytes = change.kind === 'put' ? change.key.length + change.value.length : Number.POSITIVE_INFINITY
    if (spread.isEarly(bytes)) early.push(change)
    else late.push(change)
    if (++seen % pieceChanges === 0) yield
  }
  return early.reverse().concat(late)
}

class Spread {
  private nth = 0

  /** Of the next change, a put of so many bytes. */
  isEarly(bytes: number): boolean {
    this.nth = (this.nth + goldenSection) >>> 0
    return bytes <= shortBytesMax && this.nth < earlyShare
  }
}

/** Rows that are not made into changes before it is their turn: an order of very many would hold several objects for each. */
interface OrderedRows {
  /** Pairs of where key and value are: the early ones from the beginning on, the late ones from the end backwards. */
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
    if (i % pieceChanges === pieceChanges - 1) yield
  }
  return { places, earlyCount }
}

/** What puts a row; `keyAt`, `valueAt`: where the lengths of its key and its value are. Returns the bytes of the value. */
export type PutRow = (rows: PackedRows, keyAt: number, valueAt: number) => number

/**
 * Puts rows, in pieces as `fillingOrderInPieces`; each of `all` by itself, and let go of behind its last row: of very many rows
 * neither their order nor they themselves are held while the others are written.
 */
export function* putInFillingOrder({ all }: PackedChanges, put: PutRow): Generator<undefined, void, undefined> {
  let steps = 0
  let bytes = 0
  for (const rows of all) {
    const { places, earlyCount } = yield* ordered(rows)
    for (let nth = 0; nth < rows.count; nth++) {
      const pair = nth < earlyCount ? earlyCount - 1 - nth : rows.count - 1 - (nth - earlyCount)
      bytes += put(rows, places[2 * pair] as number, places[2 * pair + 1] as number)
      if (++steps < stepsBetweenLooks && bytes < bytesBetweenLooks) continue
      steps = 0
      bytes = 0
      yield
    }
    releaseRows(rows)
    detachBytes(places)
  }
}
