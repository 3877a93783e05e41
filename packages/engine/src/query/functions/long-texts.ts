/** Characters of texts, and searches in long ones, in time linear in the text. */
import type { Pieces } from './work.ts'

/** So many characters are worked through before the steps are counted: less than a millisecond. */
export const textAtOnce = 65_536
/** Steps of about 10 ns for a piece of so many characters, of which each takes a few nanoseconds. */
const pieceSteps = textAtOnce / 2

/** Code points. */
export function characterCount(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) if (isPair(text, at)) count--
  return count
}

/** The index behind so many characters from `from` on, where a character begins. */
export function indexBehind(text: string, characters: number, from: number): number {
  if (characters === Number.POSITIVE_INFINITY) return text.length
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
