/** Decodes short texts through a cache, since columns and keys repeat the same few texts. */

const lengthMax = 16
/** A power of two. Each text has one place, from which it displaces another. */
const places = 2_048
const texts = new Array<string | undefined>(places).fill(undefined)

/** Returns the text if it is short ASCII without NUL, otherwise undefined. */
export function shortText(bytes: Uint8Array, start: number, end: number): string | undefined {
  const length = end - start
  if (length > lengthMax) return undefined
  let hash = length
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x0100_0193)
  const place = (hash ^ (hash >>> 15)) & (places - 1)
  const cached = texts[place]
  if (cached !== undefined && isSame(cached, bytes, start, length)) return cached
  return remembered(bytes, start, end, place)
}

function isSame(text: string, bytes: Uint8Array, start: number, length: number): boolean {
  if (text.length !== length) return false
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false
  return true
}

/** Creating a view of the bytes would take longer than decoding them. */
function latin1(bytes: Uint8Array, start: number, end: number): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return buffer.toString('latin1', start, end)
}

function remembered(bytes: Uint8Array, start: number, end: number, place: number): string | undefined {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte === 0 || byte > 0x7f) return undefined
  }
  const text = latin1(bytes, start, end)
  texts[place] = text
  return text
}
