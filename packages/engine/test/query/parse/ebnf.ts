/** The grammar of docs/grammar.md: texts that it derives, and whether it derives a text. */
import { readFileSync } from 'node:fs'
import type { Token } from '../../../src/query/parse/token.ts'

export type Item =
  | { readonly kind: 'terminal'; readonly text: string }
  | { readonly kind: 'rule'; readonly name: string }
  | { readonly kind: 'sequence' | 'choice'; readonly items: readonly Item[] }
  | { readonly kind: 'repeat'; readonly item: Item; readonly sign: string }

export type Grammar = ReadonlyMap<string, Item>

export function readGrammar(): Grammar {
  const page = readFileSync(new URL('../../../../../docs/grammar.md', import.meta.url), 'utf8')
  const block = /^```ebnf\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? ''
  const rules = block
    .replaceAll(/\/\*[\s\S]*?\*\/(?=\n)/g, '')
    .split(/^(?=\w+ +::=)/m)
    .filter((text) => text.trim() !== '')
  return new Map(
    rules.map((text) => {
      const [name = '', body = ''] = text.split('::=')
      return [name.trim(), new RuleReader(body).read()] as const
    }),
  )
}

class RuleReader {
  private readonly pieces: string[]

  constructor(body: string) {
    this.pieces = body.match(/"[^"]+"|\w+|[()|?*+]/g) ?? []
  }

  read(): Item {
    const item = this.choice()
    if (this.pieces.length > 0) throw new Error(`What is ${this.pieces.join(' ')}?`)
    return item
  }

  private choice(): Item {
    const items = [this.sequence()]
    while (this.pieces[0] === '|') {
      this.pieces.shift()
      items.push(this.sequence())
    }
    return items.length === 1 ? (items[0] as Item) : { kind: 'choice', items }
  }

  private sequence(): Item {
    const items: Item[] = []
    while (this.pieces.length > 0 && this.pieces[0] !== '|' && this.pieces[0] !== ')') items.push(this.repeated())
    return items.length === 1 ? (items[0] as Item) : { kind: 'sequence', items }
  }

  private repeated(): Item {
    const piece = this.pieces.shift() as string
    let item: Item
    if (piece === '(') {
      item = this.choice()
      this.pieces.shift()
    } else if (piece.startsWith('"')) item = { kind: 'terminal', text: piece.slice(1, -1) }
    else item = { kind: 'rule', name: piece }
    while (['?', '*', '+'].includes(this.pieces[0] ?? ''))
      item = { kind: 'repeat', item, sign: this.pieces.shift() ?? '' }
    return item
  }
}

/** What is told in prose: texts of these, and of what may not be just any text. */
const words: Readonly<Record<string, readonly string[]>> = {
  name: ['a', 'b', 'c1', 'Node', '`from`', '`case`'],
  word: ['f', 'Sum', 'lag'],
  variable: ['$v', '$other'],
  integer: ['1', '3'],
  number: ['2', '0x1F', '2.5e-3'],
  string: ["'t'", '"u"'],
  date: ['2024-02-29'],
  time: ['08:05:09.25'],
  datetime: ['2024-02-29 08:05:09 Z'],
  oid: ['3-3-1-9'],
  // A comma ends a statement where that cannot go on with it.
  separator: [';'],
  compared: ['a', '( a )', '- b + 1', 'CASE WHEN a THEN b END'],
}

/** `pick(n)`: a number below n. Once it has this many words, it comes to an end on the shortest way. */
export function derive(grammar: Grammar, start: string, length: number, pick: (below: number) => number): string {
  const pieces: string[] = []
  const depths = depthsOf(grammar)
  const visit = (item: Item): void => {
    const isLong = pieces.length > length
    switch (item.kind) {
      case 'terminal':
        pieces.push(item.text)
        return
      case 'rule': {
        const texts = words[item.name]
        if (texts !== undefined) pieces.push(texts[pick(texts.length)] as string)
        else visit(grammar.get(item.name) as Item)
        return
      }
      case 'sequence':
        for (const one of item.items) visit(one)
        return
      case 'choice': {
        const least = Math.min(...item.items.map((one) => depths(one)))
        const known = isLong ? item.items.filter((one) => depths(one) === least) : item.items
        visit(known[pick(known.length)] as Item)
        return
      }
      case 'repeat': {
        const isShort = isLong || pick(3) > 0
        const count = (item.sign === '+' ? 1 : 0) + (isShort ? 0 : item.sign === '?' ? 1 : 1 + pick(2))
        for (let i = 0; i < count; i++) visit(item.item)
      }
    }
  }
  visit({ kind: 'rule', name: start })
  return pieces.join(' ')
}

/** How many rules it takes at least to come to an end. */
function depthsOf(grammar: Grammar): (item: Item) => number {
  const known = new Map<string, number>()
  const depth = (item: Item): number => {
    switch (item.kind) {
      case 'terminal':
        return 0
      case 'rule':
        return words[item.name] === undefined ? (known.get(item.name) ?? Number.POSITIVE_INFINITY) : 0
      case 'sequence':
        return Math.max(0, ...item.items.map(depth))
      case 'choice':
        return Math.min(...item.items.map(depth))
      case 'repeat':
        return item.sign === '+' ? depth(item.item) : 0
    }
  }
  for (let isChanged = true; isChanged; ) {
    isChanged = false
    for (const [name, item] of grammar) {
      const found = depth(item) + 1
      if (found < (known.get(name) ?? Number.POSITIVE_INFINITY)) {
        known.set(name, found)
        isChanged = true
      }
    }
  }
  return depth
}

/** Whether the tokens, without their end, are a text of the rule. */
export function derives(grammar: Grammar, start: string, tokens: readonly Token[]): boolean {
  const memo = new Map<string, ReadonlySet<number>>()
  const ends = (item: Item, at: number): ReadonlySet<number> => {
    switch (item.kind) {
      case 'terminal':
        return endOfTerminal(item.text, tokens, at)
      case 'rule': {
        const rule = grammar.get(item.name)
        if (rule === undefined) return isWord(item.name, tokens[at]) ? new Set([at + 1]) : none
        const key = `${item.name} ${at}`
        const found = memo.get(key) ?? ends(rule, at)
        memo.set(key, found)
        return found
      }
      case 'sequence':
        return item.items.reduce<ReadonlySet<number>>((places, one) => after(places, one), new Set([at]))
      case 'choice':
        return new Set(item.items.flatMap((one) => [...ends(one, at)]))
      case 'repeat': {
        const once = ends(item.item, at)
        const all = new Set(item.sign === '+' ? once : [at, ...once])
        if (item.sign !== '?') {
          let places: ReadonlySet<number> = once
          while (places.size > 0) {
            const further = [...after(places, item.item)].filter((end) => !all.has(end))
            for (const end of further) all.add(end)
            places = new Set(further)
          }
        }
        return all
      }
    }
  }
  const after = (places: ReadonlySet<number>, item: Item): ReadonlySet<number> =>
    new Set([...places].flatMap((place) => [...ends(item, place)]))
  return ends({ kind: 'rule', name: start }, 0).has(tokens.length)
}

const none: ReadonlySet<number> = new Set()

/** Symbols may be several tokens, as `-->`. */
function endOfTerminal(text: string, tokens: readonly Token[], at: number): ReadonlySet<number> {
  if (/^[A-Z]/.test(text)) {
    const token = tokens[at]
    const isIt = token?.kind === 'name' && !token.isQuoted && token.text.toUpperCase() === text
    return isIt ? new Set([at + 1]) : none
  }
  if (text.startsWith('$$')) {
    const token = tokens[at]
    return token?.kind === 'system' && `$$${token.text}` === text ? new Set([at + 1]) : none
  }
  let [place, left] = [at, text]
  while (left !== '') {
    const token = tokens[place]
    if (token?.kind !== 'symbol' || !left.startsWith(token.text)) return none
    left = left.slice(token.text.length)
    place++
  }
  return new Set([place])
}

function isWord(name: string, token: Token | undefined): boolean {
  if (token === undefined) return false
  if (name === 'word') return token.kind === 'name' && !token.isQuoted
  if (token.kind === 'name' || token.kind === 'variable') return token.kind === name
  if (token.kind !== 'literal') return false
  const { type } = token.literal
  if (name === 'integer') return type === 'integer'
  if (name === 'number') return type === 'integer' || type === 'real'
  if (name === 'datetime') return type === 'datetime' || type === 'datetimeoffset'
  return name === type
}
