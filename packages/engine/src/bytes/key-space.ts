/** The first byte of every key, which identifies its space; see `key-layout.ts` for the parts. Part of the storage format. */

export const keySpace = {
  /** State of the store itself: format version, sessions and their work in progress. */
  store: 0x00,
  catalog: 0x01,
  container: 0x02,
  object: 0x03,
  link: 0x04,
  index: 0x05,
  receipt: 0x06,
  log: 0x07,
  sequence: 0x08,
} as const

/** Holds the commit ID of the last schema change; every commit of an object requires it to be unchanged. */
export const catalogVersionKey = Buffer.from([keySpace.catalog, 0x00])

/** The exclusive upper bound of the keys that begin with `prefix`. */
export function prefixEnd(prefix: Uint8Array): Buffer {
  let length = prefix.length
  while (length > 0 && prefix[length - 1] === 0xff) length--
  const end = Buffer.from(prefix.subarray(0, length))
  if (length > 0) end[length - 1] = (end[length - 1] as number) + 1
  return end
}
