/** Records of a future run in one buffer, laid out as in the file, so that the garbage collector follows no object per record. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import { sortSteps } from '../store/sort-in-pieces.ts'
import { headerBytes, type RunWriter, readOrder, writeOrder } from './run-writer.ts'

/** Bytes per record for its start and the end of its value. */
const placeBytes = 8
const firstPlaces = 64
const firstBytesMax = 4_096
/** Most keys differ in an early byte, which a loop finds faster than a native call. */
const loopedBytesMax = 24
/** Mask of record numbers: the clock is checked every 64 records. */
const clockCheckMask = 63

/** Which records with equal keys to write: all, the first, or the first and a short value instead of each other one. */
type EqualKeys = 'all' | 'first' | { readonly others: Uint8Array }

export class RecordArena {
  readonly bytesMax: number
  private readonly onGrow: (bytes: number) => void
  private to: ByteWriter
  private starts = new Uint32Array(0)
  private valueEnds = new Uint32Array(0)
  private isInOrder = true
  private added = 0

  /** `onGrow` is called with the bytes to be added; growth stops if it throws. */
  constructor(bytesMax: number, onGrow: (bytes: number) => void) {
    this.bytesMax = bytesMax
    this.onGrow = onGrow
    this.to = this.newWriter()
  }

  get count(): number {
    return this.added
  }

  /** The arena has to be written before more is added. */
  get isFull(): boolean {
    // A little more would make the buffer double its size.
    return this.to.length >= this.bytesMax - (this.bytesMax >> 4)
  }

  get bytes(): number {
    return this.to.length + placeBytes * this.added
  }

  /** Bytes reported to `onGrow` and not released. */
  private get reservedBytes(): number {
    return this.to.bytes.length + placeBytes * this.starts.length
  }

  /** Writes a key of `length` bytes and its number. The content follows in the result: its first part, `endValue`, the rest, and `end`. */
  begin(key: Buffer, length: number, order: number): ByteWriter {
    const { to, added } = this
    if (added === this.starts.length) this.growPlaces()
    const start = to.reserve(headerBytes + length)
    const { bytes } = to
    bytes.writeUInt32BE(length, start)
    writeOrder(order, bytes, start)
    const keyStart = start + headerBytes
    if (length > loopedBytesMax) key.copy(bytes, keyStart, 0, length)
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

  /** In order of key, then number. `yieldIfDue` yields the event loop when due. */
  async write(writer: RunWriter, equalKeys: EqualKeys, yieldIfDue: () => Promise<void> | undefined): Promise<void> {
    const places = await this.inOrder(yieldIfDue)
    let last: number | undefined
    for (let at = 0; at < this.added; at++) {
      const place = places === undefined ? at : (places[at] as number)
      const isFirst = equalKeys === 'all' || last === undefined || this.compareKeys(last, place) !== 0
      last = place
      if (isFirst) this.writeUnchanged(place, writer)
      else if (equalKeys !== 'first') this.writeOther(place, equalKeys.others, writer)
      if (writer.isFull) await writer.flush()
      if ((at & clockCheckMask) !== clockCheckMask) continue
      const pause = yieldIfDue()
      if (pause !== undefined) await pause
    }
  }

  /** Empties the arena but keeps its buffer. */
  clear(): void {
    this.added = 0
    this.isInOrder = true
    // A buffer that a long record has enlarged is released.
    if (this.to.bytes.length > 2 * this.bytesMax) this.release()
    else this.to.reset()
  }

  /** Empties the arena and frees its buffer. */
  release(): void {
    this.onGrow(-this.reservedBytes)
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

  /** Undefined if the records are already in order. */
  private async inOrder(yieldIfDue: () => Promise<void> | undefined): Promise<readonly number[] | undefined> {
    if (this.isInOrder) return undefined
    const places: number[] = []
    for (let place = 0; place < this.added; place++) places.push(place)
    const steps = sortSteps(
      places,
      (one, other) => this.compare(one, other),
      (place) => this.keyLength(place),
    )
    for (;;) {
      const step = steps.next()
      if (step.done === true) return step.value
      const pause = yieldIfDue()
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
    const here = Math.min(length, loopedBytesMax)
    for (let at = 0; at < here; at++) {
      const difference = (bytes[oneStart + at] as number) - (bytes[otherStart + at] as number)
      if (difference !== 0) return difference
    }
    if (length === here) return oneLength - otherLength
    return bytes.compare(bytes, otherStart + here, otherStart + otherLength, oneStart + here, oneStart + oneLength)
  }

  private writeUnchanged(place: number, writer: RunWriter): void {
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
