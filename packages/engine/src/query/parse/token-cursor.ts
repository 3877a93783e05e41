/** The parser's position in the tokens of a statement, with lookahead and errors. */
import { type AshlarError, truncateForMessage } from '../../errors.ts'
import type { QualifiedName, Span, Statement } from '../language/ast.ts'
import { syntaxError } from '../language/query-error.ts'
import { advice } from './advice.ts'
import type { Token } from './token.ts'

/** Maximum nesting depth of expressions and statements, and maximum length of a chain of operators. */
const depthMax = 200
const chainMax = 500
const verticesMax = chainMax + 1

/** A statement named by WITH. */
export interface NamedRows {
  readonly statement: Statement
  /** Including the uses within it. */
  readonly uses: number
}

const noneNamed: ReadonlyMap<string, NamedRows> = new Map()

/** A name is expanded at each use, so names that use each other repeatedly could otherwise grow exponentially. */
const namedUsesMax = 100

export class TokenCursor {
  readonly text: string
  /** Parses a nested statement; a parameter, because statements and expressions refer to each other. */
  readonly parseNested: (cursor: TokenCursor) => Statement
  private readonly tokens: readonly Token[]
  private position = 0
  /** A shape may follow a value, as in columns and entries of shapes. */
  allowsShapes = false
  /** Names of WITH in scope. */
  named = noneNamed
  /** Number of uses of WITH names, including those within other named statements. */
  namedUses = 0
  /** The next statement may lack RETURN, since EXISTS only tests for rows. */
  mayLackReturn = false
  private depth = 0
  private positionAfterName = -1

  /** `tokens`: all of one statement, with an end token. */
  constructor(text: string, tokens: readonly Token[], parseNested: (cursor: TokenCursor) => Statement) {
    this.text = text
    this.tokens = tokens
    this.parseNested = parseNested
  }

  /** Reads and resets `mayLackReturn` at the beginning of a statement. */
  takeMayLackReturn(): boolean {
    const { mayLackReturn } = this
    this.mayLackReturn = false
    return mayLackReturn
  }

  /** The statement named by WITH. Throws if names are used too often. */
  useNamed(name: string): Statement | undefined {
    const rows = this.named.get(name)
    if (rows === undefined) return undefined
    this.namedUses += rows.uses
    if (this.namedUses > namedUsesMax) {
      throw this.mistaken(`names of WITH are used more than ${namedUsesMax} times, by each other included`)
    }
    return rows.statement
  }

  peek(ahead = 0): Token {
    return this.tokens[Math.min(this.position + ahead, this.tokens.length - 1)] as Token
  }

  next(): Token {
    const token = this.peek()
    if (token.kind !== 'end') this.position++
    return token
  }

  get lastEnd(): number {
    return this.position === 0 ? 0 : (this.tokens[this.position - 1] as Token).end
  }

  spanFrom(start: number): Span {
    return { start, end: this.lastEnd }
  }

  isAtEnd(): boolean {
    return this.peek().kind === 'end'
  }

  isSymbol(text: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token.kind === 'symbol' && token.text === text
  }

  /** Whether a token is the keyword, in any case; a name in backquotes is not. */
  isWord(word: string, ahead = 0): boolean {
    return this.wordAt(ahead) === word
  }

  /** A token in upper case, if it could be a keyword. */
  wordAt(ahead = 0): string | undefined {
    const token = this.peek(ahead)
    return token.kind === 'name' && !token.isQuoted ? token.text.toUpperCase() : undefined
  }

  isName(ahead = 0): boolean {
    return this.peek(ahead).kind === 'name'
  }

  takeSymbol(text: string): boolean {
    if (!this.isSymbol(text)) return false
    this.position++
    return true
  }

  takeWord(word: string): boolean {
    if (!this.isWord(word)) return false
    this.position++
    return true
  }

  /** Consumes all of the words or none. */
  takeWords(...words: readonly string[]): boolean {
    if (!words.every((word, ahead) => this.isWord(word, ahead))) return false
    this.position += words.length
    return true
  }

  expectSymbol(text: string): Token {
    if (!this.isSymbol(text)) throw this.unexpected([`'${text}'`])
    return this.next()
  }

  expectWord(word: string): Token {
    if (!this.isWord(word)) throw this.unexpected([word])
    return this.next()
  }

  expectName(what: string): Token {
    if (!this.isName()) throw this.unexpected([what])
    return this.next()
  }

  /** Names joined by dots or `::`. */
  expectQualifiedName(what: string): QualifiedName {
    const first = this.expectName(what)
    let text = first.text
    while ((this.isSymbol('.') || this.isSymbol('::')) && this.isName(1)) {
      this.position++
      text += `.${this.next().text}`
    }
    return { text, start: first.start, end: this.lastEnd }
  }

  expectString(what: string): string {
    const token = this.peek()
    if (token.kind !== 'literal' || token.literal.type !== 'string') throw this.unexpected([what])
    this.position++
    return token.literal.value
  }

  expectCount(what: string): number {
    const token = this.peek()
    if (token.kind === 'literal' && token.literal.type === 'integer' && typeof token.literal.value === 'number') {
      this.position++
      return token.literal.value
    }
    throw this.unexpected([what])
  }

  /** Items separated by commas. */
  list<T>(item: () => T): T[] {
    const items: T[] = []
    do items.push(item())
    while (this.takeSymbol(','))
    return items
  }

  /** `{` items `}` with an optional trailing comma. `item` receives the preceding items. */
  braces<T>(item: (items: readonly T[]) => T): T[] {
    this.expectSymbol('{')
    const items: T[] = []
    while (!this.takeSymbol('}')) {
      items.push(item(items))
      if (!this.takeSymbol(',') && !this.isSymbol('}')) throw this.unexpected(["','", "'}'"])
    }
    return items
  }

  /** The token `back` tokens before the next one. */
  previous(back = 1): Token | undefined {
    return this.tokens[this.position - back]
  }

  /** The previous token, if it was read as an attribute name. */
  lastName(): Token | undefined {
    return this.positionAfterName === this.position ? this.previous() : undefined
  }

  markName(): void {
    this.positionAfterName = this.position
  }

  /** An error at the next token; `hint` suggests a correction. */
  unexpected(expected: readonly string[], hint = advice(this)): AshlarError {
    const token = this.peek()
    const problem =
      token.kind === 'end'
        ? 'the text ends here'
        : `'${truncateForMessage(this.text.slice(token.start, token.end))}' does not fit here`
    const message = hint === undefined ? problem : `${problem}: ${hint}`
    return syntaxError(this.text, token, message, expected)
  }

  /** An error at the next token whose message suggests a correction. */
  mistaken(message: string, expected: readonly string[] = []): AshlarError {
    return syntaxError(this.text, this.peek(), message, expected)
  }

  /** Lookahead of the bracket that closes the one at `ahead`; that of the end token if there is none. */
  closing(ahead: number): number {
    let open = 0
    for (let at = ahead; ; at++) {
      const token = this.peek(at)
      if (token.kind === 'end') return at
      if (token.kind !== 'symbol') continue
      if (token.text === '(' || token.text === '[' || token.text === '{') open++
      else if ((token.text === ')' || token.text === ']' || token.text === '}') && --open === 0) return at
    }
  }

  /** Bounds the recursion of `parse`, so that no text can exhaust the stack. */
  nested<T>(parse: () => T): T {
    if (++this.depth > depthMax)
      throw syntaxError(this.text, this.peek(), `the text is nested more than ${depthMax} deep`)
    try {
      return parse()
    } finally {
      this.depth--
    }
  }

  /** Throws if a chain such as a + b + … or a.b.… is too long. */
  checkChain(links: number): void {
    if (links > chainMax) throw syntaxError(this.text, this.peek(), `a chain has more than ${chainMax} links`)
  }

  /** Throws if the patterns of one MATCH have too many vertices, since each takes a stack frame in the search. */
  checkVertices(count: number): void {
    if (count > verticesMax) throw syntaxError(this.text, this.peek(), `MATCH has more than ${verticesMax} vertices`)
  }
}
