/** Splits an incomplete DO text into words and symbols. Never fails; the server reports errors. */

export interface TextToken {
  readonly kind: 'word' | 'variable' | 'system' | 'literal' | 'symbol'
  readonly text: string
}

/** A string, quoted name or comment that continues on a later line. */
export type OpenPiece = "'" | '"' | '`' | '/*' | undefined

export interface TextTokens {
  readonly pieces: readonly TextToken[]
  readonly open: OpenPiece
}

const blank = /(?:\s+|\/\/[^\n]*)+/y
const piece =
  /(?<word>[A-Za-z_]\w*)|(?<system>\$\$\w*)|(?<variable>\$\w*)|(?<literal>\d[\w.:-]*)|(?<symbol>::|\.\.|[-=<>!~&|^+*/%]{2,3}|[\s\S])/uy

/** `open`: the open element of the preceding text. */
export function piecesOf(text: string, open?: OpenPiece): TextTokens {
  const pieces: TextToken[] = []
  let at = 0
  let within = open
  for (;;) {
    if (within !== undefined) {
      const close = closingAt(within, text, at)
      if (within !== '/*') pieces.push({ kind: 'literal', text: text.slice(at, close) })
      if (close === undefined) return { pieces, open: within }
      at = close
      within = undefined
    }
    at += matchAt(blank, text, at)?.[0].length ?? 0
    if (at >= text.length) return { pieces, open: undefined }
    within = openingAt(text, at)
    if (within !== undefined) {
      at += within.length
      continue
    }
    const match = matchAt(piece, text, at)
    const [kind, found] = Object.entries(match?.groups ?? {}).find(([, value]) => value !== undefined) ?? ['symbol', '']
    pieces.push({ kind: kind as TextToken['kind'], text: found ?? '' })
    at += Math.max(1, (found ?? '').length)
  }
}

function openingAt(text: string, at: number): OpenPiece {
  const character = text[at]
  if (character === "'" || character === '"' || character === '`') return character
  return text.startsWith('/*', at) ? '/*' : undefined
}

/** Returns the position after the end of the open element; undefined if it does not end. */
function closingAt(open: NonNullable<OpenPiece>, text: string, from: number): number | undefined {
  for (let at = from; at < text.length; at++) {
    if (text.startsWith(open === '/*' ? '*/' : open, at)) return at + open.length
    if (text[at] === '\\' && (open === "'" || open === '"')) at++
  }
  return undefined
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}
