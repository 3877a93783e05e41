/**
 * The values that a text compares with or assigns, taken out of it: texts that differ in nothing else have one plan. Each becomes a variable, of a name
 * that no text can write. Values of other lengths make another shape, so that places in the text are the same in all texts of one.
 */
import { AshlarError } from '../../errors.ts'
import type { Statement } from '../language/ast.ts'
import { statementsOf } from './parse.ts'
import type { Token } from './token.ts'

const liftedName = 'literal '
/**
 * Characters for private use stand for those of values, others for each value: where pieces of texts are compared, no two values are the same. A
 * text that has one itself is left as it is.
 */
const firstMask = 0xe000
const mask = /[\uE000-\uF8FF]/
/** Longer texts hold data rather than questions. */
const charactersMax = 2_000

/** A text without quotes, escapes and ends of lines, or a whole number that a double holds. */
const value = String.raw`\s*('[^'\\\r\n\u2028\u2029]*'|"[^"\\\r\n\u2028\u2029]*"|\d{1,15})`
const followedBy = (symbols: string, words: string): string => String.raw`(?=\s*(?:$|[${symbols}]|(?:${words})\b))`
const actions = 'SET|CLEAR|ADD|REMOVE'
const clauses = `${actions}|ORDER|SKIP|TAKE|RETURN`
/** What follows a comparison, or an assignment, up to the next clause, predicate or assignment, and is a whole value. */
const lifted = new RegExp(
  `(?<![=<>!~])(?:[!=<>]=|[=<>])${value}${followedBy(';)', `AND|OR|GROUP|${clauses}`)}` +
    String.raw`|\b(?:TO|[a-z_]\w*\s*:)${value}${followedBy(';),}', clauses)}`,
  'gi',
)

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
  if (text.length > charactersMax || mask.test(text)) return undefined
  const values = new Map<string, string | number>()
  const nameAt = new Map<number, string>()
  let shape = ''
  let at = 0
  lifted.lastIndex = 0
  for (let found = lifted.exec(text); found !== null; found = lifted.exec(text)) {
    const written = (found[1] ?? found[2]) as string
    const start = lifted.lastIndex - written.length
    const name = `${liftedName}${values.size}`
    const isText = written.startsWith("'") || written.startsWith('"')
    const masking = String.fromCharCode(firstMask + 2 * values.size + (isText ? 1 : 0))
    values.set(name, isText ? written.slice(1, -1) : Number(written))
    nameAt.set(start, name)
    shape += text.slice(at, start) + masking.repeat(written.length)
    at = lifted.lastIndex
  }
  return values.size === 0 ? undefined : { shape: shape + text.slice(at), values, nameAt }
}

export function isLifted(name: string): boolean {
  return name.startsWith(liftedName)
}

/** Whether a piece of a shape has a value. */
export function isMasked(piece: string): boolean {
  return mask.test(piece)
}

/** The statements of the text with variables for what was taken out; undefined where that cannot be. */
export function parseLifted(
  text: string,
  { shape, nameAt }: LiftedText,
  statementTokensMax: number,
): Statement[] | undefined {
  let found = 0
  const inPlace = (token: Token): Token => {
    const name = token.kind === 'literal' ? nameAt.get(token.start) : undefined
    if (name === undefined) return token
    found++
    return { kind: 'variable', text: name, start: token.start, end: token.end }
  }
  try {
    const statements = [...statementsOf(text, statementTokensMax, { shape, inPlace })]
    return found === nameAt.size && !showText(statements) ? statements : undefined
  } catch (error) {
    // What is wrong is told of the text as it is written.
    if (error instanceof AshlarError) return undefined
    throw error
  }
}

/** Whether they show more of the text than what comes of it: a value in the name of a column, plans, variables, or where an import was interrupted. */
function showText(statements: readonly Statement[]): boolean {
  const parts = new Set<object>([statements])
  for (const part of parts) {
    const { kind, what, commitEvery } = part as { readonly [property: string]: unknown }
    if (kind === 'explain' || what === 'parameters' || commitEvery !== undefined) return true
    for (const inner of Object.values(part)) {
      if (typeof inner === 'string' && isMasked(inner)) return true
      if (typeof inner === 'object' && inner !== null) parts.add(inner)
    }
  }
  return false
}
