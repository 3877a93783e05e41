/** TRIM, REPLACE and SPLIT for strings of any length, in interruptible pieces. */
import type { TextRoom } from './function-definition.ts'
import { eachOccurrence } from './long-texts.ts'
import type { StepwiseResult } from './work.ts'

/** Removes the characters at both ends; white space by default. */
export function trim(text: string, characters: string | undefined): string {
  const isTrimmed = characters === undefined ? isBlank : membership(characters)
  let from = 0
  while (from < text.length) {
    const codePoint = text.codePointAt(from) as number
    if (!isTrimmed(codePoint)) break
    from += unitsOf(codePoint)
  }
  let to = text.length
  while (to > from) {
    const codePoint = codePointBefore(text, to, from)
    if (!isTrimmed(codePoint)) break
    to -= unitsOf(codePoint)
  }
  return unshared(text, text.slice(from, to))
}

function isBlank(codePoint: number): boolean {
  return codePoint <= 0x20
    ? codePoint === 0x20 || (codePoint >= 9 && codePoint <= 13)
    : /\s/u.test(String.fromCodePoint(codePoint))
}

const fewCharacters = 32

function membership(characters: string): (codePoint: number) => boolean {
  if (characters.length <= fewCharacters) return (codePoint) => characters.includes(String.fromCodePoint(codePoint))
  const members = new Uint8Array(0x110000)
  for (const character of characters) members[character.codePointAt(0) as number] = 1
  return (codePoint) => members[codePoint] === 1
}

function unitsOf(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1
}

function codePointBefore(text: string, to: number, from: number): number {
  const pair = to - 2 >= from ? (text.codePointAt(to - 2) as number) : 0
  return pair > 0xffff ? pair : text.charCodeAt(to - 1)
}

/** Replaces all occurrences from left to right. The length of the result is reserved before it is created. */
export function* replaceYielding(text: string, part: string, other: string, room: TextRoom): StepwiseResult {
  let count = 0
  yield* eachOccurrence(text, part, countedSteps, () => {
    count++
  })
  if (count === 0) return text
  room.text(text.length + count * (other.length - part.length))
  // Repeated concatenation would build a rope, which V8 flattens in one step at its first use.
  const pieces: string[] = []
  let piece: string[] = []
  let from = 0
  yield* eachOccurrence(text, part, replacedSteps, (at) => {
    piece.push(text.slice(from, at), other)
    from = at + part.length
    if (piece.length < partsOfPiece) return
    pieces.push(piece.join(''))
    piece = []
  })
  pieces.push(...piece, text.slice(from))
  return pieces.join('')
}

/** Work steps (about 10 ns) per occurrence. */
const [countedSteps, replacedSteps, splitSteps] = [2, 10, 50]
const partsOfPiece = 4_096

/** Parts between the separators, including empty ones. */
export function* splitYielding(text: string, separator: string, room: TextRoom): StepwiseResult {
  const parts: string[] = []
  let from = 0
  const add = (to: number): void => {
    room.element(to - from)
    parts.push(unshared(text, text.slice(from, to)))
  }
  yield* eachOccurrence(text, separator, splitSteps, (at) => {
    add(at)
    from = at + separator.length
  })
  add(text.length)
  return parts
}

const sharedCharactersMax = 4_096

/** V8 keeps the whole string alive for a slice of it: small slices are copied, so that they take the memory they are charged for. */
export function unshared(text: string, part: string): string {
  return text.length <= sharedCharactersMax || part.length * 4 > text.length
    ? part
    : Buffer.from(part, 'utf16le').toString('utf16le')
}
