/** Reads numbers from bytes in place; creating a view first would be slower. */

export function readUint32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) * 0x100_0000 +
    (((bytes[at + 1] as number) << 16) | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number))
  )
}

export function readInt32(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  )
}

const scratch = new DataView(new ArrayBuffer(8))

export function readDouble(bytes: Uint8Array, at: number): number {
  for (let i = 0; i < 8; i++) scratch.setUint8(i, bytes[at + i] as number)
  return scratch.getFloat64(0)
}

export function readFloat(bytes: Uint8Array, at: number): number {
  for (let i = 0; i < 4; i++) scratch.setUint8(i, bytes[at + i] as number)
  return scratch.getFloat32(0)
}
