/** Character counts and substring searches in long strings, in linear time. */
import type { StepwiseResult } from './work.ts'

/** Characters processed between two charges of work steps: less than a millisecond. */
export const textPerStep = 65_536
/** Work steps for that many characters, which take a few nanoseconds each. */
const pieceSteps = textPerStep / 2

/** Number of code points. */
export function characterCount(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) if (isPair(text, at)) count--
  return count
}

/** Index after `characters` characters, starting at a character boundary. */
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

/** Bound of text length times part length (about 2 ms): V8's search may compare most of `part` at each position. */
const comparedPerStep = 2 ** 21
/** Longer parts are searched with an algorithm that is linear in the worst case. */
const plainPartMax = 256

export function canSearchInOneStep(text: string, part: string): boolean {
  return text.length * Math.min(text.length, part.length) <= comparedPerStep || part.length > text.length
}

/** Memory that the search for a part needs. */
export function searchBytes(part: string): number {
  return part.length > plainPartMax ? part.length * Int32Array.BYTES_PER_ELEMENT : 0
}

export function searchYielding(text: string, part: string): StepwiseResult {
  return part.length > plainPartMax ? linearSearch(text, part) : plainSearch(text, part)
}

/** Calls `found` for each non-overlapping occurrence, in linear time. Yields work steps; `foundSteps`: steps of a call of `found`. */
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
      if (++count === occurrencesPerStep) break
    }
    const looked = count === occurrencesPerStep ? next : Math.max(next, starts)
    from += looked
    yield (looked >> 1) + count * foundSteps
  }
}

/** Bound of text times part length. */
const comparedForOccurrences = 2 ** 18
const occurrencesPerStep = 4_096

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
    if (at % textPerStep === 0) yield pieceSteps + (textPerStep / plainPartMax) * foundSteps
  }
}

function* plainSearch(text: string, part: string): StepwiseResult {
  const starts = Math.ceil(comparedPerStep / part.length)
  for (let at = 0; at < text.length; at += starts) {
    if (text.slice(at, at + starts + part.length - 1).includes(part)) return true
    yield comparedPerStep / 16
  }
  return false
}

/** Knuth-Morris-Pratt: after a mismatch, continues with the longest prefix of the part that still matches. */
function* linearSearch(text: string, part: string): StepwiseResult {
  const borders = yield* bordersOf(part)
  let fitting = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (fitting > 0 && part.charCodeAt(fitting) !== unit) fitting = borders[fitting - 1] as number
    if (part.charCodeAt(fitting) === unit) fitting++
    if (fitting === part.length) return true
    if (at % textPerStep === 0) yield pieceSteps
  }
  return false
}

/** For each prefix of the part, the length of its longest proper prefix that is also a suffix. */
function* bordersOf(part: string): Generator<number, Int32Array> {
  const borders = new Int32Array(part.length)
  let fitting = 0
  for (let at = 1; at < part.length; at++) {
    const unit = part.charCodeAt(at)
    while (fitting > 0 && part.charCodeAt(fitting) !== unit) fitting = borders[fitting - 1] as number
    if (part.charCodeAt(fitting) === unit) fitting++
    borders[at] = fitting
    if (at % textPerStep === 0) yield pieceSteps
  }
  return borders
}
