/** Elements in a row of bytes: packed where all take the same width, else each after its length. */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { type Codec, longValueBytes, type Pieces } from './logical-type.ts'

const lengthBytes = 4
/** Of a piece of work, of which small elements take about a millisecond. */
export const elementsOfPiece = 1_024

export function writeElements(codec: Codec, elements: readonly unknown[], to: ByteWriter): void {
  for (const element of elements) writeElement(codec, element, to)
}

export function writeElement(codec: Codec, element: unknown, to: ByteWriter): void {
  if (codec.fixedBytes !== undefined) {
    codec.write(element, to)
    return
  }
  const at = to.reserve(lengthBytes)
  codec.write(element, to)
  to.bytes.writeUInt32BE(to.length - at - lengthBytes, at)
}

/** Calls `use` with where each element begins and ends. */
export function eachElement(
  codec: Codec,
  bytes: Uint8Array,
  start: number,
  end: number,
  use: (start: number, end: number) => void,
): void {
  for (let at = start; at < end; ) {
    const from = codec.fixedBytes === undefined ? at + lengthBytes : at
    const to = from + (codec.fixedBytes ?? readUint32(bytes, at))
    use(from, to)
    at = to
  }
}

export function areLong(codec: Codec, elements: readonly unknown[]): boolean {
  const { inPieces } = codec
  return elements.length > elementsOfPiece || (inPieces !== undefined && elements.some((one) => inPieces.isLong(one)))
}

/** As `writeElements`. */
export function* writeElementsInPieces(codec: Codec, elements: readonly unknown[], to: ByteWriter): Pieces<void> {
  const pieces = new PieceCount(to.length)
  for (const element of elements) {
    if (codec.inPieces?.isLong(element) === true) {
      const at = to.reserve(lengthBytes)
      yield* codec.inPieces.write(element, to)
      to.bytes.writeUInt32BE(to.length - at - lengthBytes, at)
    } else writeElement(codec, element, to)
    if (pieces.isOverAt(to.length)) yield
  }
}

/** As `eachElement`; `use` may return pieces of its own. */
export function* eachElementInPieces(
  codec: Codec,
  bytes: Uint8Array,
  start: number,
  end: number,
  use: (start: number, end: number) => Pieces<void> | undefined,
): Pieces<void> {
  const pieces = new PieceCount(start)
  for (let at = start; at < end; ) {
    const from = codec.fixedBytes === undefined ? at + lengthBytes : at
    at = from + (codec.fixedBytes ?? readUint32(bytes, at))
    const own = use(from, at)
    if (own !== undefined) yield* own
    if (pieces.isOverAt(at)) yield
  }
}

/** Counts elements, and the bytes that they take, to tell where a piece of work ends. */
export class PieceCount {
  private elements = 0
  private from: number

  constructor(from = 0) {
    this.from = from
  }

  /** After an element, which ends at that byte. */
  isOverAt(at: number): boolean {
    if (++this.elements < elementsOfPiece && at - this.from < longValueBytes) return false
    this.elements = 0
    this.from = at
    return true
  }
}
