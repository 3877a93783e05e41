/** Lexer of DO (docs/query-language.md, Values). */

import { AshlarError, truncateForMessage } from '../../errors.ts'
import { parseOid } from '../../types/oid.ts'
import type { LiteralValue } from '../language/ast.ts'
import { placed, syntaxError } from '../language/query-error.ts'
import { dateLiteral, datetimeLiteral, numberLiteral, timeLiteral } from './literals.ts'
import { readString } from './string-literal.ts'
import type { Token } from './token.ts'

const blank = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y
const name = /[A-Za-z_][A-Za-z0-9_]*/y
const oid = /\d+-\d+-\d+-\d+(?![\w-])/y
const date = /\d{4}([-/])\d{1,2}\1\d{1,2}(?!\d)/y
const timeOfDay = /\d{1,2}:\d{2}:\d{2}(?:\.\d+)?(?![\w:])/y
/** Allowed only where neither a range of elements nor a key with its value can occur. */
const timeWithoutSeconds = /\d{1,2}:\d{2}(?![\w:.])/y
/** The time of a datetime after its date. */
const timeAfterDate =
  /(?:T|[ \t]+)(\d{1,2}:\d{2}:\d{2}(?:\.\d+)?)(?:[ \t]*(Z)(?!\w)|[ \t]*([+-]\d{2}:\d{2})(?!\d))?(?![\w:])/y
const number = /0[xX][0-9A-Fa-f]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const symbol = /=~~|!~~|=~|!~|=>|==|!=|<>|<=|>=|<<|>>|&&|\|\||\^\^|::|\.\.|[-+*/%=<>!~&|^.,:;()[\]{}]/y
/** Includes the first attribute and its value, if they are short. */
const signedClass = /^@\s*([A-Za-z_][\w.:]{0,99})(?:\s*\{\s*([A-Za-z_]\w{0,99})\s*[:=]\s*([\w.'"-]{1,40})(?=\s*[,}]))?/

/**
 * The tokens of the next statement, with preceding semicolons, the final one and an end token. Throws QuerySyntaxError, and LimitExceeded for more
 * than `tokensMax` tokens, since a statement is parsed and planned in one slice of the event loop.
 */
export function statementTokens(lexer: Lexer, text: string, tokensMax: number, tooMany?: string): Token[] {
  const tokens: Token[] = []
  let open = 0
  let isEmpty = true
  for (;;) {
    const token = lexer.next()
    tokens.push(token)
    if (token.kind === 'end') return tokens
    isEmpty &&= token.kind === 'symbol' && token.text === ';'
    if (token.kind === 'symbol' && !isEmpty) {
      if (token.text === '(' || token.text === '[' || token.text === '{') open++
      else if (token.text === ')' || token.text === ']' || token.text === '}') open--
      else if (token.text === ';' && open <= 0) {
        tokens.push({ kind: 'end', text: endText, start: token.end, end: token.end })
        return tokens
      }
    }
    if (tokens.length > tokensMax) throw tooManyTokens(text, token, tooMany ?? tooLong(tokensMax))
  }
}

function tooLong(tokensMax: number): string {
  return `A statement has at most ${tokensMax} words, values and symbols (statementTokensMax); long lists belong into parameters.`
}

function tooManyTokens(text: string, token: Token, message: string): unknown {
  return placed(text, token, new AshlarError('LimitExceeded', message))
}

const endText = 'the end of the text'

export class Lexer {
  private readonly text: string
  private at = 0
  /** Open brackets, for the disambiguation of times. */
  private readonly open: string[] = []
  private last: Token | undefined

  constructor(text: string) {
    this.text = text
  }

  /** Throws QuerySyntaxError. */
  next(): Token {
    const token = this.read()
    if (token.kind === 'symbol') this.noteBracket(token.text)
    this.last = token
    return token
  }

  private noteBracket(symbol: string): void {
    if (symbol === '(' || symbol === '[') this.open.push(symbol)
    else if (symbol === '{') this.open.push(this.opensElements() ? '{e' : symbol)
    else if (symbol === ')' || symbol === ']' || symbol === '}') this.open.pop()
  }

  /** The braces of `LIST{` and `SET{` contain no keys. */
  private opensElements(): boolean {
    const { last } = this
    return last?.kind === 'name' && !last.isQuoted && /^(?:LIST|SET)$/i.test(last.text)
  }

  private read(): Token {
    this.skipBlank()
    const start = this.at
    const { text } = this
    if (start >= text.length) return { kind: 'end', text: endText, start, end: start }
    const character = text[start] as string
    if (character >= '0' && character <= '9') return this.number(start)
    const word = this.match(name)
    if (word !== undefined) return { kind: 'name', text: word, isQuoted: false, start, end: this.at }
    if (character === '$') return this.variable(start)
    if (character === "'" || character === '"') return this.string(start)
    if (character === '`') return this.quotedName(start)
    const found = this.match(symbol)
    if (found !== undefined) return { kind: 'symbol', text: found, start, end: this.at }
    if (character === '@' && /\bCREATE\s*$/i.test(text.slice(Math.max(0, start - 40), start)))
      throw this.classWithSign(start)
    const sign = String.fromCodePoint(text.codePointAt(start) as number)
    throw syntaxError(text, { start, end: start + sign.length }, `'${sign}' means nothing here${signAdvice(sign)}`)
  }

  /** `CREATE @Order {number = 1}`, a common mistake. */
  private classWithSign(start: number): AshlarError {
    const [, cls = 'C', attribute = 'a', value = 'v'] = signedClass.exec(this.text.slice(start, start + 400)) ?? []
    return syntaxError(
      this.text,
      { start, end: start + 1 },
      `'@' means nothing here: a new object is written CREATE ${cls} {${attribute}: ${value}}`,
    )
  }

  private skipBlank(): void {
    this.match(blank)
    const start = this.at
    if (this.text.startsWith('/*', start)) {
      throw syntaxError(this.text, { start, end: start + 2 }, 'a comment that begins here does not end', ['*/'])
    }
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found === null) return undefined
    this.at = pattern.lastIndex
    return found[0]
  }

  private number(start: number): Token {
    const literal = this.oid(start) ?? this.date(start) ?? this.time(start) ?? this.plainNumber(start)
    const token = this.text.slice(start, this.at)
    return { kind: 'literal', text: token, literal, start, end: this.at }
  }

  private oid(start: number): LiteralValue | undefined {
    const found = this.match(oid)
    if (found === undefined) return undefined
    const value = parseOid(found)
    if (value !== undefined) return { type: 'oid', value }
    const message = `${truncateForMessage(found)} is not an OID: four numbers up to 65535, without leading zeros`
    throw syntaxError(this.text, { start, end: this.at }, message)
  }

  private date(start: number): LiteralValue | undefined {
    const found = this.match(date)
    if (found === undefined) return undefined
    timeAfterDate.lastIndex = this.at
    const time = timeAfterDate.exec(this.text)
    if (time !== null) this.at = timeAfterDate.lastIndex
    const offset = time?.[2] ?? time?.[3]
    const literal = time === null ? dateLiteral(found) : datetimeLiteral(found, time[1] as string, offset)
    if (literal !== undefined) return literal
    const span = { start, end: this.at }
    const piece = this.text.slice(start, this.at)
    throw syntaxError(this.text, span, `${truncateForMessage(piece)} is not a date that there is`)
  }

  private time(start: number): LiteralValue | undefined {
    const withSeconds = this.match(timeOfDay)
    const found = withSeconds ?? (this.mayBeRangeOrPair() ? undefined : this.match(timeWithoutSeconds))
    if (found === undefined) return undefined
    const literal = timeLiteral(withSeconds ?? `${found}:00`)
    if (literal !== undefined) return literal
    throw syntaxError(this.text, { start, end: this.at }, `${truncateForMessage(found)} is not a time of day`)
  }

  /** `a:b` within `[ ]` is always a range; first within braces, or after a comma there, it is a key and its value. */
  private mayBeRangeOrPair(): boolean {
    if (this.open.includes('[')) return true
    const isFirst = this.last?.kind === 'symbol' && (this.last.text === '{' || this.last.text === ',')
    return isFirst && this.open.at(-1) === '{'
  }

  private plainNumber(start: number): LiteralValue {
    const found = this.match(number) as string
    const literal = numberLiteral(found)
    if (literal === undefined) {
      throw syntaxError(
        this.text,
        { start, end: this.at },
        `${truncateForMessage(found)} is beyond what a number can be`,
      )
    }
    if (this.match(name) === undefined) return literal
    const piece = this.text.slice(start, this.at)
    throw syntaxError(
      this.text,
      { start, end: this.at },
      `'${truncateForMessage(piece)}' is neither a number nor a name`,
    )
  }

  private variable(start: number): Token {
    const isSystem = this.text[start + 1] === '$'
    this.at = start + (isSystem ? 2 : 1)
    const word = this.match(name)
    if (word === undefined) {
      throw syntaxError(this.text, { start, end: this.at }, '$ is followed by a name', ['$name', '$$NOW'])
    }
    if (isSystem) return { kind: 'system', text: word.toUpperCase(), start, end: this.at }
    return { kind: 'variable', text: word, start, end: this.at }
  }

  private string(start: number): Token {
    const { value, end } = readString(this.text, start)
    this.at = end
    return { kind: 'literal', text: this.text.slice(start, end), literal: { type: 'string', value }, start, end }
  }

  private quotedName(start: number): Token {
    const close = this.text.indexOf('`', start + 1)
    const inner = close < 0 ? '' : this.text.slice(start + 1, close)
    this.at = close < 0 ? this.text.length : close + 1
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(inner)) {
      return { kind: 'name', text: inner, isQuoted: true, start, end: this.at }
    }
    throw syntaxError(this.text, { start, end: this.at }, 'a name in backquotes has letters, digits and _, and ends', [
      '`',
    ])
  }
}

function signAdvice(sign: string): string {
  if (/[‘’“”„«»]/.test(sign)) return `: texts stand in ' or "`
  if (/\p{L}/u.test(sign)) return ': names consist of the letters A to Z, digits and _, and texts stand in \' or "'
  if (sign === '@' || sign === '?') return ': a parameter is written $name'
  return sign === '#' ? ': comments are written // … or /* … */' : ''
}
