/**
 * Lifts compared and assigned literals out of a text, so that texts that differ only in them share a plan. Each becomes a variable, with a name that
 * no text can contain. The shape retains the lengths of the literals, so that positions are the same in all texts of one shape.
 */
import { AshlarError } from '../../errors.ts'
import type { Statement } from '../language/ast.ts'
import { statementsOf } from './parse.ts'
import type { Token } from './token.ts'

const liftedName = 'literal '
/**
 * Literals are masked with private-use characters, different for each, so that they don't compare as equal. Texts with such characters aren't lifted.
 */
const firstMask = 0xe000
const mask = /[\uE000-\uF8FF]/
/** Longer texts carry data and rarely recur. */
const charactersMax = 2_000

/** A text without quotes, escapes and line ends, or a whole number that a double represents exactly. */
const value = String.raw`\s*('[^'\\\r\n\u2028\u2029]*'|"[^"\\\r\n\u2028\u2029]*"|\d{1,15})`
const followedBy = (symbols: string, words: string): string => String.raw`(?=\s*(?:$|[${symbols}]|(?:${words})\b))`
const actions = 'SET|CLEAR|ADD|REMOVE'
const clauses = `${actions}|ORDER|SKIP|TAKE|RETURN`
/** A literal after a comparison or assignment that is the whole operand, as the next clause, predicate or assignment follows. */
const lifted = new RegExp(
  `(?<![=<>!~])(?:[!=<>]=|[=<>])${value}${followedBy(';)', `AND|OR|GROUP|${clauses}`)}` +
    String.raw`|\b(?:TO|[a-z_]\w*\s*:)${value}${followedBy(';),}', clauses)}`,
  'gi',
)

export interface LiftedText {
  readonly shape: string
  /** By the names of their variables. */
  readonly values: ReadonlyMap<string, string | number>
  /** The names of the variables by the positions of their literals in the text. */
  readonly nameAt: ReadonlyMap<number, string>
}

/** Undefined if there is nothing to lift. */
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

/** Whether a piece of a shape contains a literal. */
export function isMasked(piece: string): boolean {
  return mask.test(piece)
}

/** The statements with variables in place of the literals; undefined if lifting isn't possible. */
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
    // Syntax errors must refer to the original text.
    if (error instanceof AshlarError) return undefined
    throw error
  }
}

/** Whether results expose parts of the text: column names with literals, plans, variables, or the position of an interrupted import. */
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
