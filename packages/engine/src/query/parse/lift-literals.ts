/**
 * The values that a text compares with, taken out of it: texts that differ in nothing else have one plan. Each becomes a variable, of a name
 * that no text can write. Values of other lengths make another shape, so that places in the text are the same in all texts of one.
 */
import type { Statement } from '../language/ast.ts'
import { statementsOf } from './parse.ts'
import type { Token } from './token.ts'

const liftedName = 'literal '
/** They stand for the characters of values; a text that has one itself is left as it is. */
const textMask = '\u0000'
const numberMask = '\u0001'
/** Longer texts hold data rather than questions. */
const charactersMax = 2_000

/**
 * What follows a comparison up to the next clause or predicate, and is a whole value: a text without quotes, escapes and ends of lines, or a
 * whole number that a double holds.
 */
const compared =
  /(?<![=<>!~])(?:[!=<>]=|[=<>])\s*('[^'\\\r\n\u2028\u2029]*'|"[^"\\\r\n\u2028\u2029]*"|\d{1,15})(?=\s*(?:$|[;)]|(?:AND|OR|ORDER|GROUP|SKIP|TAKE|RETURN)\b))/gi

export interface LiftedText {
  /** The text with the values blotted out. */
  readonly shape: string
  /** By the names of their variables. */
  readonly values: ReadonlyMap<string, string | number>
  /** The name for the value that begins at a place of the text. */
  readonly nameAt: ReadonlyMap<number, string>
}

/** Undefined where there is nothing to take out. */
export function liftLiterals(text: string): LiftedText | undefined {
  if (text.length > charactersMax || text.includes(textMask) || text.includes(numberMask)) return undefined
  const values = new Map<string, string | number>()
  const nameAt = new Map<number, string>()
  let shape = ''
  let at = 0
  compared.lastIndex = 0
  for (let found = compared.exec(text); found !== null; found = compared.exec(text)) {
    const written = found[1] as string
    const start = compared.lastIndex - written.length
    const name = `${liftedName}${values.size}`
    const isText = written.startsWith("'") || written.startsWith('"')
    values.set(name, isText ? written.slice(1, -1) : Number(written))
    nameAt.set(start, name)
    shape += text.slice(at, start) + (isText ? textMask : numberMask).repeat(written.length)
    at = compared.lastIndex
  }
  return values.size === 0 ? undefined : { shape: shape + text.slice(at), values, nameAt }
}

export function isLifted(name: string): boolean {
  return name.startsWith(liftedName)
}

/** The only statement of the text, where it selects, with variables for what was taken out; undefined where that cannot be. */
export function parseLifted(text: string, { nameAt }: LiftedText, statementTokensMax: number): Statement[] | undefined {
  let lifted = 0
  const inPlace = (token: Token): Token => {
    const name = token.kind === 'literal' ? nameAt.get(token.start) : undefined
    if (name === undefined) return token
    lifted++
    return { kind: 'variable', text: name, start: token.start, end: token.end }
  }
  const statements = [...statementsOf(text, statementTokensMax, inPlace)]
  return lifted === nameAt.size && statements.length === 1 && statements[0]?.kind === 'select' ? statements : undefined
}
