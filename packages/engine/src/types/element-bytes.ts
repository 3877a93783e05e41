/** Layout of elements in bytes: packed if all have the same width, otherwise length-prefixed. */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { unreachable } from '../errors.ts'
import type { Codec, StepwiseWork } from './logical-type.ts'

const lengthBytes = 4

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

/** For elements of variable size. */
export function* writeElementStepwise(codec: Codec, element: unknown, to: ByteWriter): StepwiseWork<void> {
  const at = to.reserve(lengthBytes)
  yield* codec.writeStepwise?.(element, to) ?? unreachable('only a codec with pieces is written in pieces')
  to.bytes.writeUInt32BE(to.length - at - lengthBytes, at)
}

/** Calls `use` with the start and end of each element. */
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

/** Like `eachElement`, for work that yields between elements. */
export function* elementSlices(
  codec: Codec,
  bytes: Uint8Array,
  start: number,
  end: number,
): Generator<readonly [start: number, end: number]> {
  for (let at = start; at < end; ) {
    const from = codec.fixedBytes === undefined ? at + lengthBytes : at
    const to = from + (codec.fixedBytes ?? readUint32(bytes, at))
    yield [from, to]
    at = to
  }
}
