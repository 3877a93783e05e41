/** A growing buffer that records and other values are written into; fixed-width numbers are big-endian. */
import type { PreparedText } from './prepared-text.ts'
import { writeUint32At } from './write-number.ts'

/** Up to here a loop beats a call into the runtime. */
const shortBytes = 96
/** Up to here a copy is cheaper than another buffer. */
const takenBytesMin = 16_384
const roomAfterwards = 256
/** The same within one buffer, where the call needs no second view: a loop over fifty bytes takes three times as long. */
const repeatedByLoop = 16

/** The buffer that was written to last in this way: short replies have the same one, and a view of it takes as long as a few names. */
let viewed: { readonly bytes: Buffer; readonly view: DataView } | undefined
/** A larger buffer is not kept for it. */
const viewedBytesMax = 131_072

export class ByteWriter {
  bytes: Buffer
  length = 0
  private view: DataView | undefined
  private readonly onGrow: ((bytes: number) => void) | undefined

  /** `room`: so many bytes to begin with, or a buffer that is nobody else's. `onGrow` is told by how many bytes the buffer is going to grow; what it throws keeps it from that. */
  constructor(room: number | Buffer = 256, onGrow?: (bytes: number) => void) {
    this.onGrow = onGrow
    this.bytes = typeof room === 'number' ? Buffer.allocUnsafe(room) : room
  }

  /** Makes room for `count` more bytes and returns where they start; `bytes` may be another buffer afterwards. */
  reserve(count: number): number {
    const start = this.length
    const end = start + count
    if (end > this.bytes.length) this.grow(end)
    this.length = end
    return start
  }

  /** As much as is going to be written, where that is known: a buffer that doubles would be copied over and over. */
  makeRoom(count: number): void {
    const end = this.length + count
    if (end > this.bytes.length) this.grow(end)
  }

  writeByte(value: number): void {
    const at = this.reserve(1)
    this.bytes[at] = value
  }

  writeUint16(value: number): void {
    const at = this.reserve(2)
    this.bytes.writeUInt16BE(value, at)
  }

  writeUint32(value: number): void {
    const at = this.reserve(4)
    writeUint32At(this.bytes, value, at)
  }

  /** IEEE 754, eight bytes. */
  writeDouble(value: number): void {
    const at = this.reserve(8)
    this.bytes.writeDoubleBE(value, at)
  }

  writeBytes(source: Uint8Array): void {
    const at = this.reserve(source.length)
    this.bytes.set(source, at)
  }

  /** A loop over single bytes takes three times as long. */
  writePrepared({ words, length }: PreparedText): void {
    const at = this.reserve(words.length * 4)
    const view = this.view ?? this.newView()
    for (let i = 0; i < words.length; i++) view.setInt32(at + i * 4, words[i] as number, true)
    this.length = at + length
  }

  /** Writes again `count` bytes of what is written, from `start` on. */
  repeat(start: number, count: number): void {
    const at = this.reserve(count)
    const { bytes } = this
    if (count > repeatedByLoop) bytes.copyWithin(at, start, start + count)
    else for (let i = 0; i < count; i++) bytes[at + i] = bytes[start + i] as number
  }

  /** The bytes written so far, as a copy that stays valid. */
  copy(): Buffer {
    const { bytes, length } = this
    const result = Buffer.allocUnsafe(length)
    if (length > shortBytes) bytes.copy(result, 0, 0, length)
    else for (let at = 0; at < length; at++) result[at] = bytes[at] as number
    return result
  }

  /** The bytes written so far, without a copy where they are many: the writer then goes on, empty, with another buffer. */
  taken(): Buffer {
    const { length } = this
    // Nor where most of the buffer would be of no use.
    if (length <= takenBytesMin || this.bytes.length - length > length >> 3) return this.copy()
    const bytes = this.written()
    this.bytes = Buffer.allocUnsafe(roomAfterwards)
    this.view = undefined
    this.length = 0
    return bytes
  }

  /** The same without a copy, for a writer that writes nothing more. */
  written(): Buffer {
    return this.bytes.subarray(0, this.length)
  }

  reset(): void {
    this.length = 0
  }

  private newView(): DataView {
    const { bytes } = this
    if (viewed?.bytes !== bytes) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      if (bytes.length > viewedBytesMax) {
        this.view = view
        return view
      }
      viewed = { bytes, view }
    }
    this.view = viewed.view
    return viewed.view
  }

  private grow(needed: number): void {
    const capacity = Math.max(needed, this.bytes.length * 2)
    this.onGrow?.(capacity - this.bytes.length)
    const bigger = Buffer.allocUnsafe(capacity)
    this.bytes.copy(bigger, 0, 0, this.length)
    this.bytes = bigger
    this.view = undefined
  }
}
