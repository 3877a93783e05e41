/** Functions of texts that are too long to be worked through at once: a piece at a time, with the same results as at once. */
import type { Pieces } from './work.ts'

/** Up to so many characters a text is worked through at once: less than a millisecond. */
export const textAtOnce = 65_536
/** Steps of about 10 ns for a piece of so many characters, of which each takes a few nanoseconds. */
const pieceSteps = textAtOnce / 2

/** Where a piece ends that begins at `from`: not within a surrogate pair. */
function pieceEnd(text: string, from: number): number {
  const end = from + textAtOnce
  return end < text.length && isPair(text, end - 1) ? end + 1 : Math.min(end, text.length)
}

export function* upperInPieces(text: string): Pieces {
  const pieces: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = pieceEnd(text, at)
    pieces.push(text.slice(at, end).toUpperCase())
    at = end
    yield pieceSteps
  }
  return pieces.join('')
}

const ignorable = /\p{Case_Ignorable}/u
const cased = /\p{Cased}/u

/**
 * Of all letters only Σ depends on what is beside it: it becomes ς at the end of a word, that is behind a letter and not before one, characters
 * that are ignored left out (Unicode, Final_Sigma). So each piece is given a letter, or none, in place of what is around it.
 */
export function* lowerInPieces(text: string): Pieces {
  const pieces: string[] = []
  let isAfterLetter = false
  let next: { readonly at: number; readonly isLetter: boolean } = { at: 0, isLetter: false }
  for (let at = 0; at < text.length; ) {
    const end = pieceEnd(text, at)
    if (next.at <= end) next = yield* deciding(text, end)
    const [before, after] = [isAfterLetter ? 'a' : ' ', next.isLetter ? 'a' : ' ']
    const piece = text.slice(at, end)
    pieces.push(`${before}${piece}${after}`.toLowerCase().slice(1, -1))
    isAfterLetter = endsInLetter(piece, isAfterLetter)
    at = end
    yield pieceSteps
  }
  return pieces.join('')
}

/** The first character from `from` on that is not ignored, and whether it is a letter. */
function* deciding(text: string, from: number): Generator<number, { readonly at: number; readonly isLetter: boolean }> {
  let looked = 0
  for (let at = from; at < text.length; ) {
    const character = String.fromCodePoint(text.codePointAt(at) as number)
    if (!ignorable.test(character)) return { at: at + 1, isLetter: cased.test(character) }
    at += character.length
    if (++looked % textAtOnce === 0) yield looked
  }
  return { at: text.length + 1, isLetter: false }
}

function endsInLetter(piece: string, isAfterLetter: boolean): boolean {
  for (let at = piece.length - 1; at >= 0; at--) {
    if (at > 0 && isPair(piece, at - 1)) at--
    const character = String.fromCodePoint(piece.codePointAt(at) as number)
    if (!ignorable.test(character)) return cased.test(character)
  }
  return isAfterLetter
}

/** Code points. */
export function* countInPieces(text: string): Pieces {
  let count = 0
  for (let at = 0; at < text.length; ) {
    const end = pieceEnd(text, at)
    count += characterCount(text, at, end)
    at = end
    yield pieceSteps
  }
  return count
}

/** Of the characters from `from` to before `end`. */
export function characterCount(text: string, from: number, end: number): number {
  let count = end - from
  for (let at = from; at < end; at++) if (isPair(text, at)) count--
  return count
}

/** The index behind so many characters from `from` on, where a character begins. */
export function* indexInPieces(text: string, characters: number, from: number): Generator<number, number> {
  let at = from
  let left = characters
  while (left > 0 && at < text.length) {
    const atOnce = Math.min(left, textAtOnce)
    at = indexBehind(text, atOnce, at)
    left -= atOnce
    yield pieceSteps
  }
  return at
}

/** The same at once. */
export function indexBehind(text: string, characters: number, from: number): number {
  let at = from
  for (let left = characters; left > 0 && at < text.length; left--) at += isPair(text, at) ? 2 : 1
  return at
}

const [leadFirst, leadLast, trailFirst, trailLast] = [0xd800, 0xdbff, 0xdc00, 0xdfff]

function isPair(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  if (unit < leadFirst || unit > leadLast) return false
  const next = text.charCodeAt(at + 1)
  return next >= trailFirst && next <= trailLast
}

/*
 * The engine's own search takes time in proportion to the text, except that some long parts make it compare most of the part at each
 * character: minutes for a text of some MiB.
 */
/** Characters of text times characters of the part that are searched at once: a millisecond or two where all are compared. */
const comparedAtOnce = 2 ** 21
/** Longer parts are searched for in time that is linear whatever they are. */
const plainPartMax = 256

export function canSearchAtOnce(text: string, part: string): boolean {
  return text.length * Math.min(text.length, part.length) <= comparedAtOnce || part.length > text.length
}

/** What the search for a part holds in memory. */
export function searchBytes(part: string): number {
  return part.length > plainPartMax ? part.length * Int32Array.BYTES_PER_ELEMENT : 0
}

export function searchInPieces(text: string, part: string): Pieces {
  return part.length > plainPartMax ? linearSearch(text, part) : plainSearch(text, part)
}

/**
 * Each place where the part begins, from left to right, none within another; in time linear in the text. Yields the steps it takes; `foundSteps`: those
 * that `found` takes.
 */
export function* eachOccurrence(
  text: string,
  part: string,
  foundSteps: number,
  found: (at: number) => void,
): Generator<number, void> {
  if (part.length > plainPartMax) yield* linearOccurrences(text, part, foundSteps, found)
  else yield* plainOccurrences(text, part, foundSteps, found)
}

function* plainOccurrences(
  text: string,
  part: string,
  foundSteps: number,
  found: (at: number) => void,
): Generator<number, void> {
  const starts = Math.max(part.length, Math.ceil(comparedForOccurrences / part.length))
  for (let from = 0; from < text.length; ) {
    const window = text.slice(from, from + starts + part.length - 1)
    let next = 0
    let count = 0
    for (let at = window.indexOf(part); at >= 0; at = window.indexOf(part, next)) {
      found(from + at)
      next = at + part.length
      if (++count === occurrencesAtOnce) break
    }
    const looked = count === occurrencesAtOnce ? next : Math.max(next, starts)
    from += looked
    yield (looked >> 1) + count * foundSteps
  }
}

/** Characters of text times characters of the part. */
const comparedForOccurrences = 2 ** 18
const occurrencesAtOnce = 4_096

function* linearOccurrences(
  text: string,
  part: string,
  foundSteps: number,
  found: (at: number) => void,
): Generator<number, void> {
  const borders = yield* bordersOf(part)
  let fitting = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (fitting > 0 && part.charCodeAt(fitting) !== unit) fitting = borders[fitting - 1] as number
    if (part.charCodeAt(fitting) === unit) fitting++
    if (fitting === part.length) {
      found(at + 1 - part.length)
      fitting = 0
    }
    if (at % textAtOnce === 0) yield pieceSteps + (textAtOnce / plainPartMax) * foundSteps
  }
}

function* plainSearch(text: string, part: string): Pieces {
  const starts = Math.ceil(comparedAtOnce / part.length)
  for (let at = 0; at < text.length; at += starts) {
    if (text.slice(at, at + starts + part.length - 1).includes(part)) return true
    yield comparedAtOnce / 16
  }
  return false
}

/** Knuth, Morris, Pratt: where the characters differ, the search goes on behind the longest beginning of the part that still fits. */
function* linearSearch(text: string, part: string): Pieces {
  const borders = yield* bordersOf(part)
  let fitting = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (fitting > 0 && part.charCodeAt(fitting) !== unit) fitting = borders[fitting - 1] as number
    if (part.charCodeAt(fitting) === unit) fitting++
    if (fitting === part.length) return true
    if (at % textAtOnce === 0) yield pieceSteps
  }
  return false
}

/** Of each beginning of the part, how long the longest is that it ends with as well. */
function* bordersOf(part: string): Generator<number, Int32Array> {
  const borders = new Int32Array(part.length)
  let fitting = 0
  for (let at = 1; at < part.length; at++) {
    const unit = part.charCodeAt(at)
    while (fitting > 0 && part.charCodeAt(fitting) !== unit) fitting = borders[fitting - 1] as number
    if (part.charCodeAt(fitting) === unit) fitting++
    borders[at] = fitting
    if (at % textAtOnce === 0) yield pieceSteps
  }
  return borders
}
