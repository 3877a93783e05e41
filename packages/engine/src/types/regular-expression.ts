/** Regular expressions in time linear in the text: RE2's dialect. Seen by this file only. */
import { RE2JS } from 're2js'

export interface RegularExpression {
  /** True where it is found anywhere in the text. */
  isIn(text: string): boolean
}

const patternCharactersMax = 1_000

/** What is wrong with it, as a text, where the pattern is none. */
export function compileRegularExpression(pattern: string, isIgnoringCase: boolean): RegularExpression | string {
  if (pattern.length > patternCharactersMax) {
    return `a regular expression has at most ${patternCharactersMax} characters, not ${pattern.length}`
  }
  try {
    const compiled = RE2JS.compile(pattern, isIgnoringCase ? RE2JS.CASE_INSENSITIVE : 0)
    return { isIn: (text) => compiled.test(text) }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Behind it, the literal before may also be missing. */
const optional = /^[?*{]/
/** What stands for itself wherever it stands. */
const literals = /^\^((?:[\p{L}\p{N} _,:;@#%&/<>=!"'~-])+)/u

/** What every text begins with in which the pattern is found, as far as that is seen at once; else nothing. */
export function beginningOfMatches(pattern: string): string {
  const literal = literals.exec(pattern)?.[1]
  // A part of an alternative begins where it likes; what is no pattern is told when a text is looked at.
  if (literal === undefined || pattern.includes('|')) return ''
  if (typeof compileRegularExpression(pattern, false) === 'string') return ''
  if (!optional.test(pattern.slice(literal.length + 1))) return literal
  return [...literal].slice(0, -1).join('')
}
