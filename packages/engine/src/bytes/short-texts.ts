/** Decodes short texts. One that was met before is not made again: columns and keys hold the same few texts over and over. */

const lengthMax = 16
/** A power of two. A text displaces the one that is at its place. */
const places = 2_048
const texts = new Array<string | undefined>(places).fill(undefined)

/** The text of these bytes, if all are ASCII and none is NUL; undefined for any other text, and for longer ones. */
export function shortText(bytes: Uint8Array, start: number, end: number): string | undefined {
  const length = end - start
  if (length > lengthMax) return undefined
  let hash = length
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x0100_0193)
  const place = (hash ^ (hash >>> 15)) & (places - 1)
  const known = texts[place]
  if (known !== undefined && isSame(known, bytes, start, length)) return known
  return remembered(bytes, start, end, place)
}

function isSame(text: string, bytes: Uint8Array, start: number, length: number): boolean {
  if (text.length !== length) return false
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false
  return true
}

/** To make a view of the bytes takes longer than the text. */
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
