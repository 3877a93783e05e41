/** Redacts literals in texts of DO, for logs that may show statements but not their data. */
import { AshlarError } from '../../errors.ts'
import { Lexer } from './lexer.ts'

const placeholder = '?'
export const cutSign = '…'

/** Values become `?`, comments and layout a blank; text after `charactersMax` characters or a lexical error becomes `…`. */
export function withoutLiterals(text: string, charactersMax: number): string {
  const lexer = new Lexer(text.slice(0, charactersMax))
  let redacted = ''
  let at = 0
  for (;;) {
    const token = nextToken(lexer)
    if (token === undefined) return redacted + cutSign
    if (token.start > at && redacted !== '') redacted += ' '
    if (token.kind === 'end') break
    redacted += token.kind === 'literal' ? placeholder : text.slice(token.start, token.end)
    at = token.end
  }
  const trimmed = redacted.trimEnd()
  return text.length > charactersMax ? trimmed + cutSign : trimmed
}

/** Undefined if the rest of the text cannot be read. */
function nextToken(lexer: Lexer): ReturnType<Lexer['next']> | undefined {
  try {
    return lexer.next()
  } catch (error) {
    if (error instanceof AshlarError) return undefined
    throw error
  }
}
