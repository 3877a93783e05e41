/** Writes big-endian numbers byte by byte; the methods of `Buffer` repeat checks and are compiled per width. */

export function writeUint32At(bytes: Uint8Array, value: number, at: number): void {
  bytes[at] = value >> 24
  bytes[at + 1] = value >> 16
  bytes[at + 2] = value >> 8
  bytes[at + 3] = value
}

/** An integer that fits into `width` bytes, at most four; negative ones in two's complement. */
export function writeIntegerAt(bytes: Uint8Array, value: number, at: number, width: number): void {
  for (let i = 0; i < width; i++) bytes[at + i] = value >> (8 * (width - 1 - i))
}
