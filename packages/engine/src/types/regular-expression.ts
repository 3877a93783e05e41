/** Regular expressions of RE2, in time linear in the text. The library is used in this file only. */
import { RE2JS } from 're2js'

export interface RegularExpression {
  /** Whether the text contains a match. */
  isIn(text: string): boolean
}

const patternCharactersMax = 1_000

/** Returns a message where the pattern is invalid. */
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

/** Quantifiers that make the preceding literal optional. */
const optional = /^[?*{]/
/** Anchored prefix of characters without special meaning. */
const literals = /^\^((?:[\p{L}\p{N} _,:;@#%&/<>=!"'~-])+)/u

/** Literal prefix of every text that matches, where it is easy to determine; else an empty string. */
export function beginningOfMatches(pattern: string): string {
  const literal = literals.exec(pattern)?.[1]
  // Alternatives need not share the prefix. An invalid pattern is reported when it is first matched.
  if (literal === undefined || pattern.includes('|')) return ''
  if (typeof compileRegularExpression(pattern, false) === 'string') return ''
  if (!optional.test(pattern.slice(literal.length + 1))) return literal
  return [...literal].slice(0, -1).join('')
}
