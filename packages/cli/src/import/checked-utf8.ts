/** Validates that a text file is UTF-8, so that no character is replaced. */
import { isUtf8 } from 'node:buffer'
import { type CommandError, invalidInput } from '../errors/command-error.ts'

const lineBreak = 0x0a
/** The byte order mark in both byte orders. */
const utf16Marks = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])]

/** Yields the chunks unchanged. `compression`: implied by the file name, but not found. Throws CommandError with the line. */
export async function* checkedUtf8(source: AsyncIterable<Buffer>, compression?: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let line = 1
  let isFirst = true
  for await (const chunk of source) {
    if (isFirst && (utf16Marks.some((mark) => chunk.subarray(0, 2).equals(mark)) || isUtf16(chunk))) throw utf16()
    isFirst = false
    try {
      decoder.decode(chunk, { stream: true })
    } catch {
      throw notUtf8(line + linesBeforeFault(chunk), compression)
    }
    for (let at = chunk.indexOf(lineBreak); at >= 0; at = chunk.indexOf(lineBreak, at + 1)) line++
    yield chunk
  }
  try {
    decoder.decode()
  } catch {
    throw notUtf8(line, compression)
  }
}

/** The part of a file that is examined. */
const headBytes = 1_000

/**
 * Detects UTF-16 without a byte order mark: in blanks, commas and line breaks, either the first or the second byte is always zero. UTF-8 may contain
 * NUL characters, so most characters must have such a byte.
 */
function isUtf16(chunk: Buffer): boolean {
  const head = chunk.subarray(0, headBytes)
  const zeros = [0, 0]
  for (const [at, byte] of head.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  const count = even + odd
  return count === Math.max(even, odd) && count > 1 && count * (startsAsUtf8(head) ? 4 : 20) > head.length
}

/** The last character may be incomplete. */
function startsAsUtf8(head: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
    return true
  } catch {
    return false
  }
}

function linesBeforeFault(chunk: Buffer): number {
  // The chunk may begin in the middle of a character.
  let from = 0
  while (from < 3 && (chunk[from] ?? 0) >> 6 === 0b10) from++
  for (let lines = 0; ; lines++) {
    const to = chunk.indexOf(lineBreak, from)
    if (to < 0 || !isUtf8(chunk.subarray(from, to))) return lines
    from = to + 1
  }
}

function utf16(): CommandError {
  const advice = 'Convert it first, for example: iconv -f utf-16 -t utf-8'
  return invalidInput(`The file is UTF-16, and not UTF-8. ${advice}`)
}

function notUtf8(line: number, compression: string | undefined): CommandError {
  const fault =
    compression === undefined
      ? '. Convert the file first, for example: iconv -f latin1 -t utf-8'
      : `, and not compressed by ${compression}, as the name of the file says.`
  return invalidInput(`Line ${line} is not UTF-8${fault}`)
}
