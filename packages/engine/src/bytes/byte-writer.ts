/** A growable buffer for records and other values; fixed-width numbers are big-endian. */
import type { EncodedText } from './prepared-text.ts'
import { writeUint32At } from './write-number.ts'

/** Up to this length a loop is faster than a native call. */
const shortBytes = 96
/** Up to this length a copy is cheaper than another buffer. */
const copiedBytesMax = 16_384
const roomAfterwards = 256
/** The same for copies within one buffer, where the native call needs no second view: a loop over fifty bytes takes three times as long. */
const repeatedByLoop = 16

/** The buffer written last and its view: short replies reuse one buffer, and creating a view takes as long as writing a few names. */
let viewed: { readonly bytes: Buffer; readonly view: DataView } | undefined
/** Views of larger buffers are not cached. */
const viewedBytesMax = 131_072

export class ByteWriter {
  bytes: Buffer
  length = 0
  private view: DataView | undefined
  private readonly onGrow: ((bytes: number) => void) | undefined

  /** `room`: initial capacity, or a buffer with no other user. `onGrow` is called before the buffer grows by so many bytes, and may throw. */
  constructor(room: number | Buffer = 256, onGrow?: (bytes: number) => void) {
    this.onGrow = onGrow
    this.bytes = typeof room === 'number' ? Buffer.allocUnsafe(room) : room
  }

  /** Makes room for `count` more bytes and returns their offset. May replace `bytes`. */
  reserve(count: number): number {
    const start = this.length
    const end = start + count
    if (end > this.bytes.length) this.grow(end)
    this.length = end
    return start
  }

  /** Reserves capacity if the size is known in advance, which avoids repeated copies. */
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

  /** Writes words: a loop over single bytes takes three times as long. */
  writePrepared({ words, length }: EncodedText): void {
    const at = this.reserve(words.length * 4)
    const view = this.view ?? this.newView()
    for (let i = 0; i < words.length; i++) view.setInt32(at + i * 4, words[i] as number, true)
    this.length = at + length
  }

  /** Appends a copy of `count` bytes written at offset `start`. */
  repeat(start: number, count: number): void {
    const at = this.reserve(count)
    const { bytes } = this
    if (count > repeatedByLoop) bytes.copyWithin(at, start, start + count)
    else for (let i = 0; i < count; i++) bytes[at + i] = bytes[start + i] as number
  }

  copy(): Buffer {
    const { bytes, length } = this
    const result = Buffer.allocUnsafe(length)
    if (length > shortBytes) bytes.copy(result, 0, 0, length)
    else for (let at = 0; at < length; at++) result[at] = bytes[at] as number
    return result
  }

  /** The bytes written so far: a copy, or, if they are many, the buffer itself, after which the writer is empty and has another one. */
  takeBytes(): Buffer {
    const { length } = this
    // Copies also if most of the buffer is unused.
    if (length <= copiedBytesMax || this.bytes.length - length > length >> 3) return this.copy()
    const bytes = this.written()
    this.bytes = Buffer.allocUnsafe(roomAfterwards)
    this.view = undefined
    this.length = 0
    return bytes
  }

  /** The bytes without a copy; the writer must not be used afterwards. */
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
    const larger = Buffer.allocUnsafe(capacity)
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
    this.view = undefined
  }
}
