/** LIKE patterns: `%` matches any text, `_` any character, `\` escapes the next one. Linear in the length of the text. */
import { foldCase } from './fold-case.ts'
import { textPerStep } from './long-texts.ts'
import type { StepwiseResult } from './work.ts'

const patternCharactersMax = 1_000

/** Code points; `anyCharacter` for `_`. */
type Segment = readonly number[]
const anyCharacter = -1

export class LikePattern {
  /** Segments between the `%`; one more than there are `%`. */
  private readonly segments: readonly Segment[]
  private readonly fold: (codePoint: number) => number
  private readonly inner: readonly SegmentSearch[]

  private constructor(segments: readonly Segment[], isIgnoringCase: boolean) {
    this.fold = isIgnoringCase ? foldCase : itself
    this.segments = isIgnoringCase ? segments.map((segment) => segment.map(folded)) : segments
    this.inner = this.segments.slice(1, -1).map((segment) => new SegmentSearch(segment, this.fold))
  }

  /** Returns a message where the pattern is invalid. */
  static parse(pattern: string, isIgnoringCase: boolean): LikePattern | string {
    if (pattern.length > patternCharactersMax) {
      return `a pattern of LIKE has at most ${patternCharactersMax} characters, not ${pattern.length}`
    }
    const segments = segmentsOf(pattern)
    return segments === undefined
      ? "a pattern of LIKE does not end with '\\', which takes the character behind it as it is"
      : new LikePattern(segments, isIgnoringCase)
  }

  /** Whether the pattern matches the whole text. */
  *test(text: string): StepwiseResult {
    const [first, last] = [this.segments[0] as Segment, this.segments.at(-1) as Segment]
    const from = this.endOf(text, first, 0)
    if (from < 0) return false
    if (this.segments.length === 1) return from === text.length
    const to = indexBefore(text, last.length, from)
    if (to < 0 || this.endOf(text, last, to) < 0) return false
    let at = from
    for (const search of this.inner) {
      at = yield* search.endIn(text, at, to)
      if (at < 0) return false
    }
    return true
  }

  /** End of the segment if it matches at `from`; otherwise -1. */
  private endOf(text: string, segment: Segment, from: number): number {
    let at = from
    for (const expected of segment) {
      const codePoint = text.codePointAt(at)
      if (codePoint === undefined || (expected !== anyCharacter && this.fold(codePoint) !== expected)) return -1
      at += unitsOf(codePoint)
    }
    return at
  }
}

function itself(codePoint: number): number {
  return codePoint
}

function folded(codePoint: number): number {
  return codePoint === anyCharacter ? codePoint : foldCase(codePoint)
}

function unitsOf(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1
}

/** Undefined where `\` is the last character. */
function segmentsOf(pattern: string): Segment[] | undefined {
  let segment: number[] = []
  const segments = [segment]
  const characters = [...pattern]
  for (let at = 0; at < characters.length; at++) {
    let character = characters[at] as string
    if (character === '%') {
      segment = []
      segments.push(segment)
      continue
    }
    const isAny = character === '_'
    if (character === '\\') {
      at++
      if (at === characters.length) return undefined
      character = characters[at] as string
    }
    segment.push(isAny ? anyCharacter : (character.codePointAt(0) as number))
  }
  // Adjacent `%` enclose no segment.
  return segments.filter(({ length }, i) => length > 0 || i === 0 || i === segments.length - 1)
}

/** Index of the last `characters` characters; -1 where that is before `from`. */
function indexBefore(text: string, characters: number, from: number): number {
  let at = text.length
  for (let left = characters; left > 0; left--) {
    if (at <= from) return -1
    const before = at - 2
    at -= before >= from && unitsOf(text.codePointAt(before) as number) === 2 ? 2 : 1
  }
  return at
}

const bitsOfWord = 32
const bitsShift = 5

/**
 * Finds the leftmost match of a segment with the shift-and algorithm (Baeza-Yates, Gonnet): bit i is set where the first i + 1 characters match
 * up to the current position. The cost per character of text is the number of 32-bit words of the segment.
 */
class SegmentSearch {
  private readonly words: number
  private readonly lastBit: number
  /** By code point: positions in the segment that it matches; `others` for code points that the segment does not contain. */
  private readonly masks = new Map<number, Int32Array>()
  private readonly others: Int32Array
  private readonly fold: (codePoint: number) => number

  constructor(segment: Segment, fold: (codePoint: number) => number) {
    this.fold = fold
    this.words = Math.ceil(segment.length / bitsOfWord)
    this.lastBit = 1 << ((segment.length - 1) % bitsOfWord)
    this.others = new Int32Array(this.words)
    for (const [i, expected] of segment.entries()) if (expected === anyCharacter) setBit(this.others, i)
    for (const [i, expected] of segment.entries()) {
      if (expected === anyCharacter) continue
      const mask = this.masks.get(expected) ?? Int32Array.from(this.others)
      setBit(mask, i)
      this.masks.set(expected, mask)
    }
  }

  /** End of the first match between `from` and `to`; -1 where there is none. */
  *endIn(text: string, from: number, to: number): Generator<number, number> {
    const { words, lastBit, masks, others, fold } = this
    const state = new Int32Array(words)
    const charactersPerStep = Math.ceil(textPerStep / words)
    let left = charactersPerStep
    for (let at = from; at < to; ) {
      const codePoint = text.codePointAt(at) as number
      at += unitsOf(codePoint)
      const mask = masks.get(fold(codePoint)) ?? others
      let carry = 1
      for (let word = 0; word < words; word++) {
        const before = state[word] as number
        state[word] = ((before << 1) | carry) & (mask[word] as number)
        carry = before >>> (bitsOfWord - 1)
      }
      if (((state[words - 1] as number) & lastBit) !== 0) return at
      if (--left > 0) continue
      left = charactersPerStep
      yield textPerStep
    }
    return -1
  }
}

function setBit(mask: Int32Array, bit: number): void {
  const word = bit >> bitsShift
  mask[word] = (mask[word] as number) | (1 << (bit % bitsOfWord))
}

/** Literal prefix shared by all matches, in the same case. */
export function literalPrefix(pattern: string): string {
  let prefix = ''
  const characters = [...pattern]
  for (let at = 0; at < characters.length; at++) {
    let character = characters[at] as string
    if (character === '%' || character === '_') break
    if (character === '\\') character = characters[++at] ?? ''
    prefix += character
  }
  return prefix
}
