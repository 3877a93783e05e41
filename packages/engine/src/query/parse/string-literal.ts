/** Texts in quotes with escapes (docs/query-language.md, Values). */
import { syntaxError } from '../language/query-error.ts'

const plainEscapes: Readonly<Record<string, string>> = {
  b: '\b',
  n: '\n',
  r: '\r',
  f: '\f',
  t: '\t',
  "'": "'",
  '"': '"',
  '\\': '\\',
}
const octal = /[0-3][0-7]{2}/y
const hexadecimal = /x[0-9A-Fa-f]{2}/y

/** The text with the opening quote at `start`, and its end. Throws QuerySyntaxError. */
export function readString(text: string, start: number): { readonly value: string; readonly end: number } {
  const quote = text[start]
  const pieces: string[] = []
  let at = start + 1
  let pieceStart = at
  for (; at < text.length; at++) {
    const character = text[at]
    if (character === quote) {
      pieces.push(text.slice(pieceStart, at))
      return { value: pieces.join(''), end: at + 1 }
    }
    if (character !== '\\') continue
    pieces.push(text.slice(pieceStart, at))
    const escaped = readEscape(text, at)
    pieces.push(escaped.value)
    pieceStart = escaped.end
    at = escaped.end - 1
  }
  throw syntaxError(text, { start, end: text.length }, 'a text that begins here does not end', [quote ?? "'"])
}

function readEscape(text: string, backslash: number): { readonly value: string; readonly end: number } {
  const at = backslash + 1
  const plain = plainEscapes[text[at] ?? '']
  if (plain !== undefined) return { value: plain, end: at + 1 }
  octal.lastIndex = at
  const digits = octal.exec(text)
  if (digits !== null) return { value: String.fromCharCode(Number.parseInt(digits[0], 8)), end: at + 3 }
  hexadecimal.lastIndex = at
  const pair = hexadecimal.exec(text)
  if (pair !== null) return { value: String.fromCharCode(Number.parseInt(pair[0].slice(1), 16)), end: at + 3 }
  if (text[at] === '0') return { value: '\0', end: at + 1 }
  const escapes = ['\\0', '\\b', '\\n', '\\r', '\\f', '\\t', "\\'", '\\"', '\\\\', '\\ddd', '\\xHH']
  const span = { start: backslash, end: Math.min(at + 1, text.length) }
  throw syntaxError(text, span, `'${text.slice(backslash, at + 1)}' is not an escape`, escapes)
}
