/** Where the parser is in its tokens, and what it may ask of the next ones. */
import type { AshlarError } from '../../errors.ts'
import type { QualifiedName, Span, Statement } from '../language/ast.ts'
import { syntaxError, truncateForMessage } from '../language/query-error.ts'
import { advice } from './advice.ts'
import type { Token } from './token.ts'

/** How deep expressions and statements may be nested in each other, and how long a chain of operators may be. */
const depthMax = 200
const chainMax = 500
const verticesMax = chainMax + 1

/** A statement that WITH names. */
export interface NamedRows {
  readonly statement: Statement
  /** With those within it. */
  readonly uses: number
}

const noneNamed: ReadonlyMap<string, NamedRows> = new Map()

/** A name stands for a statement wherever it is used: names that use others twice must not come to more than a text could. */
const namedUsesMax = 100

export class TokenCursor {
  readonly text: string
  /** A statement where a value stands; given, because statements hold expressions and expressions statements. */
  readonly parseNested: (cursor: TokenCursor) => Statement
  private readonly tokens: readonly Token[]
  private position = 0
  /** A shape may follow a value: in columns, and in the entries of shapes. */
  takesShapes = false
  /** What WITH has named so far, around the place. */
  named = noneNamed
  /** How often what WITH names is used, each use within another such statement included. */
  namedUses = 0
  /** The statement that comes next may go without RETURN: only whether it has rows is asked. */
  mayLackReturn = false
  private depth = 0
  private positionAfterName = -1

  /** `tokens`: of one statement; the last one is an end. */
  constructor(text: string, tokens: readonly Token[], parseNested: (cursor: TokenCursor) => Statement) {
    this.text = text
    this.tokens = tokens
    this.parseNested = parseNested
  }

  /** Of the statement that begins here. */
  takeMayLackReturn(): boolean {
    const { mayLackReturn } = this
    this.mayLackReturn = false
    return mayLackReturn
  }

  /** The statement that WITH has given the name. Throws where names are used too often. */
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

  /** Where the token before the next one ends. */
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

  /** A keyword, in any case; a name in backquotes is none. */
  isWord(word: string, ahead = 0): boolean {
    return this.wordAt(ahead) === word
  }

  /** The next token in capitals, if it could be a keyword. */
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

  /** All of the words, or none of them. */
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

  /** A whole number that is written down as such. */
  expectCount(what: string): number {
    const token = this.peek()
    if (token.kind === 'literal' && token.literal.type === 'integer' && typeof token.literal.value === 'number') {
      this.position++
      return token.literal.value
    }
    throw this.unexpected([what])
  }

  /** `item`, then more of them after commas. */
  list<T>(item: () => T): T[] {
    const items: T[] = []
    do items.push(item())
    while (this.takeSymbol(','))
    return items
  }

  /** `{` items `}`; a comma after the last one does no harm. `item` is given those before it. */
  braces<T>(item: (items: readonly T[]) => T): T[] {
    this.expectSymbol('{')
    const items: T[] = []
    while (!this.takeSymbol('}')) {
      items.push(item(items))
      if (!this.takeSymbol(',') && !this.isSymbol('}')) throw this.unexpected(["','", "'}'"])
    }
    return items
  }

  /** The token before the next one, or so many tokens before it. */
  previous(back = 1): Token | undefined {
    return this.tokens[this.position - back]
  }

  /** The token before the next one, where it was taken for the name of an attribute. */
  lastName(): Token | undefined {
    return this.positionAfterName === this.position ? this.previous() : undefined
  }

  /** The token before the next one is taken for the name of an attribute. */
  markName(): void {
    this.positionAfterName = this.position
  }

  /** An error at the next token; `hint`: what its writer may have meant. */
  unexpected(expected: readonly string[], hint = advice(this)): AshlarError {
    const token = this.peek()
    const problem =
      token.kind === 'end'
        ? 'the text ends here'
        : `'${truncateForMessage(this.text.slice(token.start, token.end))}' does not fit here`
    const message = hint === undefined ? problem : `${problem}: ${hint}`
    return syntaxError(this.text, token, message, expected)
  }

  /** An error at the next token that says what its writer may have meant. */
  mistaken(message: string, expected: readonly string[] = []): AshlarError {
    return syntaxError(this.text, this.peek(), message, expected)
  }

  /** How far ahead the bracket is closed that is opened so far ahead; the end of the text where it is not. */
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

  /** Bounds the nesting of what `parse` reads, so that no text can exhaust the stack. */
  nested<T>(parse: () => T): T {
    if (++this.depth > depthMax)
      throw syntaxError(this.text, this.peek(), `the text is nested more than ${depthMax} deep`)
    try {
      return parse()
    } finally {
      this.depth--
    }
  }

  /** Throws where a chain such as a + b + … or a.b.… has become too long. */
  checkChain(links: number): void {
    if (links > chainMax) throw syntaxError(this.text, this.peek(), `a chain has more than ${chainMax} links`)
  }

  /** Throws where the patterns of one MATCH have too many vertices: each of them is a step on the stack when rows are found. */
  checkVertices(count: number): void {
    if (count > verticesMax) throw syntaxError(this.text, this.peek(), `MATCH has more than ${verticesMax} vertices`)
  }
}
