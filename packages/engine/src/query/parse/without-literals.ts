/** Texts of DO without the values in them, for who may know what is asked and not of whom. */
import { AshlarError } from '../../errors.ts'
import { Lexer } from './lexer.ts'

/** What stands for a value. */
const placeholder = '?'
export const cutSign = '…'

/**
 * Values become `?`, comments and layout a blank. Only the first `charactersMax` characters are looked at; what is cut there, or cannot be
 * read, is `…`: nothing behind it is told.
 */
export function withoutLiterals(text: string, charactersMax: number): string {
  const lexer = new Lexer(text.slice(0, charactersMax))
  let told = ''
  let at = 0
  for (;;) {
    const token = nextToken(lexer)
    if (token === undefined) return told + cutSign
    if (token.start > at && told !== '') told += ' '
    if (token.kind === 'end') break
    told += token.kind === 'literal' ? placeholder : text.slice(token.start, token.end)
    at = token.end
  }
  const whole = told.trimEnd()
  return text.length > charactersMax ? whole + cutSign : whole
}

/** Undefined where the text cannot be read further. */
function nextToken(lexer: Lexer): ReturnType<Lexer['next']> | undefined {
  try {
    return lexer.next()
  } catch (error) {
    if (error instanceof AshlarError) return undefined
    throw error
  }
}
