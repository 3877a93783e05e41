/**
 * Records that are going to be a run: one after the other in one buffer, as they will be in the file, so that none of them is an object that the
 * garbage collector follows until it is written.
 */
import { ByteWriter } from '../bytes/byte-writer.ts'
import { sortInPieces } from '../store/sort-in-pieces.ts'
import { headerBytes, type RunWriter, readOrder, writeOrder } from './run-writer.ts'

/** What the place of a record takes beside it: where it begins, and where its value ends. */
const placeBytes = 8
const firstPlaces = 64
const firstBytesMax = 4_096
/** Most keys differ in a byte that is found sooner than a call into native code is made. */
const comparedHereMax = 24
/** How often records are written before others are asked for their turn, less one; all its bits are ones. */
const recordsBetweenLooks = 63

/** Of records with equal keys: all are written whole, or the first alone, or the others with a short value instead of their own. */
type OfEqualKeys = 'all' | 'first' | { readonly others: Uint8Array }

export class RecordArena {
  readonly bytesMax: number
  private readonly onGrow: (bytes: number) => void
  private to: ByteWriter
  private starts = new Uint32Array(0)
  private valueEnds = new Uint32Array(0)
  private isInOrder = true
  private added = 0

  /** `onGrow` is told by how many bytes more it is going to take; what it throws keeps it from that. */
  constructor(bytesMax: number, onGrow: (bytes: number) => void) {
    this.bytesMax = bytesMax
    this.onGrow = onGrow
    this.to = this.newWriter()
  }

  get count(): number {
    return this.added
  }

  /** It is to be written before more is added. */
  get isFull(): boolean {
    // What is a little more than the buffer would have it grow to twice its size.
    return this.to.length >= this.bytesMax - (this.bytesMax >> 4)
  }

  /** What its records take; it has room for more. */
  get bytes(): number {
    return this.to.length + placeBytes * this.added
  }

  /** What was told to `onGrow`, and not let go of. */
  private get heldBytes(): number {
    return this.to.bytes.length + placeBytes * this.starts.length
  }

  /** Key, of so many bytes, and number; what is written to the result is the content, with a call of `endValue` behind its first part, until `end`. */
  begin(key: Buffer, length: number, order: number): ByteWriter {
    const { to, added } = this
    if (added === this.starts.length) this.growPlaces()
    const start = to.reserve(headerBytes + length)
    const { bytes } = to
    bytes.writeUInt32BE(length, start)
    writeOrder(order, bytes, start)
    const keyStart = start + headerBytes
    if (length > comparedHereMax) key.copy(bytes, keyStart, 0, length)
    else for (let i = 0; i < length; i++) bytes[keyStart + i] = key[i] as number
    this.starts[added] = start
    return to
  }

  endValue(): void {
    this.valueEnds[this.added] = this.to.length
  }

  end(): void {
    const { to, added, starts } = this
    const start = starts[added] as number
    const contentStart = start + headerBytes + to.bytes.readUInt32BE(start)
    to.bytes.writeUInt32BE(to.length - contentStart, start + 4)
    if (this.isInOrder && added > 0) this.isInOrder = this.compare(added - 1, added) <= 0
    this.added++
  }

  /** In the order of keys, and of numbers where these are equal. `turn`: lets others have their turn where it is time. */
  async write(writer: RunWriter, ofEqualKeys: OfEqualKeys, turn: () => Promise<void> | undefined): Promise<void> {
    const places = await this.inOrder(turn)
    let last: number | undefined
    for (let at = 0; at < this.added; at++) {
      const place = places === undefined ? at : (places[at] as number)
      const isFirst = ofEqualKeys === 'all' || last === undefined || this.compareKeys(last, place) !== 0
      last = place
      if (isFirst) this.writeWhole(place, writer)
      else if (ofEqualKeys !== 'first') this.writeOther(place, ofEqualKeys.others, writer)
      if (writer.isFull) await writer.flush()
      if ((at & recordsBetweenLooks) !== recordsBetweenLooks) continue
      const pause = turn()
      if (pause !== undefined) await pause
    }
  }

  /** Empty, with the room that it has. */
  clear(): void {
    this.added = 0
    this.isInOrder = true
    // What a long record has made of it is let go of again.
    if (this.to.bytes.length > 2 * this.bytesMax) this.release()
    else this.to.reset()
  }

  /** Empty, without any room. */
  release(): void {
    this.onGrow(-this.heldBytes)
    this.to = new ByteWriter(Buffer.alloc(0), this.onGrow)
    this.starts = new Uint32Array(0)
    this.valueEnds = new Uint32Array(0)
    this.added = 0
    this.isInOrder = true
  }

  private newWriter(): ByteWriter {
    const bytes = Math.min(firstBytesMax, this.bytesMax)
    this.onGrow(bytes)
    return new ByteWriter(bytes, this.onGrow)
  }

  private growPlaces(): void {
    const count = Math.max(firstPlaces, 2 * this.starts.length)
    this.onGrow(placeBytes * (count - this.starts.length))
    const [starts, valueEnds] = [new Uint32Array(count), new Uint32Array(count)]
    starts.set(this.starts)
    valueEnds.set(this.valueEnds)
    this.starts = starts
    this.valueEnds = valueEnds
  }

  /** Undefined where they are in their order already. */
  private async inOrder(turn: () => Promise<void> | undefined): Promise<readonly number[] | undefined> {
    if (this.isInOrder) return undefined
    const places: number[] = []
    for (let place = 0; place < this.added; place++) places.push(place)
    const pieces = sortInPieces(
      places,
      (one, other) => this.compare(one, other),
      (place) => this.keyLength(place),
    )
    for (;;) {
      const piece = pieces.next()
      if (piece.done === true) return piece.value
      const pause = turn()
      if (pause !== undefined) await pause
    }
  }

  private keyLength(place: number): number {
    return this.to.bytes.readUInt32BE(this.starts[place] as number)
  }

  private compare(one: number, other: number): number {
    const byKey = this.compareKeys(one, other)
    if (byKey !== 0) return byKey
    const { bytes } = this.to
    return readOrder(bytes, this.starts[one] as number) - readOrder(bytes, this.starts[other] as number)
  }

  private compareKeys(one: number, other: number): number {
    const { bytes } = this.to
    const [oneLength, otherLength] = [this.keyLength(one), this.keyLength(other)]
    const oneStart = (this.starts[one] as number) + headerBytes
    const otherStart = (this.starts[other] as number) + headerBytes
    const length = Math.min(oneLength, otherLength)
    const here = Math.min(length, comparedHereMax)
    for (let at = 0; at < here; at++) {
      const difference = (bytes[oneStart + at] as number) - (bytes[otherStart + at] as number)
      if (difference !== 0) return difference
    }
    if (length === here) return oneLength - otherLength
    return bytes.compare(bytes, otherStart + here, otherStart + otherLength, oneStart + here, oneStart + oneLength)
  }

  private writeWhole(place: number, writer: RunWriter): void {
    const end = place + 1 < this.added ? (this.starts[place + 1] as number) : this.to.length
    writer.copy(this.to.bytes, this.starts[place] as number, end)
  }

  private writeOther(place: number, value: Uint8Array, writer: RunWriter): void {
    const { bytes } = this.to
    const start = this.starts[place] as number
    const keyStart = start + headerBytes
    const end = place + 1 < this.added ? (this.starts[place + 1] as number) : this.to.length
    const to = writer.begin(bytes.subarray(keyStart, keyStart + this.keyLength(place)), readOrder(bytes, start))
    to.writeBytes(value)
    to.writeBytes(bytes.subarray(this.valueEnds[place] as number, end))
    writer.end()
  }
}
