/** Simple case folding as defined by Unicode: one character to one character. */

const asciiMax = 0x7f
/** Cache size for characters beyond ASCII: enough for a few scripts. */
const cachedMax = 4_096
const cache = new Map<number, number>()

/** Code points that differ in case only have the same result. */
export function foldCase(codePoint: number): number {
  if (codePoint <= asciiMax) return codePoint >= 0x41 && codePoint <= 0x5a ? codePoint + 0x20 : codePoint
  const cached = cache.get(codePoint)
  if (cached !== undefined) return cached
  const folded = foldingOf(codePoint)
  if (cache.size >= cachedMax) cache.clear()
  cache.set(codePoint, folded)
  return folded
}

function foldingOf(codePoint: number): number {
  const character = String.fromCodePoint(codePoint)
  const lower = single(single(character, 'toUpperCase'), 'toLowerCase')
  if (lower === character) return codePoint
  // Some letters share a capital with another letter, as the dotless ı shares I: these are not equal to its small letter.
  const isSame = new RegExp(`^\\u{${codePoint.toString(16)}}$`, 'iu').test(lower)
  return isSame ? (lower.codePointAt(0) as number) : codePoint
}

/** Unchanged where the result would be several characters. */
function single(character: string, change: 'toUpperCase' | 'toLowerCase'): string {
  const changed = character[change]()
  return changed.length === String.fromCodePoint(changed.codePointAt(0) ?? 0).length ? changed : character
}
