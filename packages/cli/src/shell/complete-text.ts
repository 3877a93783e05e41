/** Completes the last word of a DO text, by the text before it and by the schema. */

import type { ClassRepresentation } from '@ashlar/client'
import type { SchemaView } from './known-schema.ts'
import { piecesOf, type TextToken } from './pieces.ts'
import { beginnings, functionNames, keywords, systemVariables, typeNames } from './words.ts'

export interface Completion {
  /** In display order. */
  readonly candidates: readonly string[]
  readonly word: string
}

const beforeClass: readonly string[] = [
  ...['FROM', 'ONLY', 'UPDATE', 'DELETE', 'LOOKUP', 'CREATE', 'UPSERT', 'CLASS', 'SUPERCLASS'],
  ...['REFERENCED', 'EDGECLASS'],
]
/** Keywords that may follow instead of a class. */
const alsoAfter: Readonly<Record<string, readonly string[]>> = {
  FROM: ['ONLY'],
  UPDATE: ['SCHEMA'],
  CREATE: ['CLASS', 'INDEX', 'UNIQUE INDEX', 'SEQUENCE'],
}

/** `text`: up to the cursor. `variables`: names without `$`. */
export function completeText(text: string, schema: SchemaView, variables: readonly string[]): Completion {
  const word = /(?:\$\$?\w*|[\w.]*)$/.exec(text)?.[0] ?? ''
  const before = text.slice(0, text.length - word.length)
  const { pieces, open } = piecesOf(before)
  if (open !== undefined) return { candidates: [], word }
  const context = new Surroundings(statementAtEnd(pieces), schema)
  if (word.startsWith('$')) {
    const named = [...variables, ...context.variableNames].map((name) => `$${name}`)
    return startingWith(word, [...named, ...systemVariables])
  }
  // In `$order.cl`, the word starts after the dot.
  const path = /(\$?[A-Za-z_][\w.]*(?:\[[^\]]*\])?)\.\w*$/.exec(text)?.[1]
  if (path !== undefined && !context.expectsClass) {
    const typed = /\w*$/.exec(text)?.[0] ?? ''
    const cls = context.classAt(path)
    if (cls !== undefined) return startingWith(typed, attributeNames(cls, schema))
  }
  return startingWith(word, context.words)
}

/** Returns matches in the case of the typed prefix. */
function startingWith(word: string, all: readonly string[]): Completion {
  const isLower = /[a-z]/.test(word) && word === word.toLowerCase()
  const cased = all.map((candidate) => {
    return isLower && /^[$A-Z_ ()\d]+$/.test(candidate) ? candidate.toLowerCase() : candidate
  })
  return { candidates: [...new Set(cased)].filter((candidate) => candidate.startsWith(word)), word }
}

function attributeNames(cls: ClassRepresentation, schema: SchemaView): string[] {
  return schema.attributesOf(cls).map(({ attribute }) => attribute.attributeName)
}

/** Returns the last statement, preceded by the statements that set variables. */
function statementAtEnd(pieces: readonly TextToken[]): readonly TextToken[] {
  const at = pieces.findLastIndex(({ kind, text }) => kind === 'symbol' && text === ';')
  const statement = pieces.slice(at + 1)
  const earlier = pieces.slice(0, at + 1).filter(({ text }) => text.toUpperCase() === 'LET')
  return earlier.length === 0 || statement.length === 0 ? statement : pieces
}

class Surroundings {
  private readonly pieces: readonly TextToken[]
  private readonly schema: SchemaView
  /** Classes of variables and of names in patterns. */
  private readonly classes = new Map<string, ClassRepresentation>()
  readonly variableNames: readonly string[]

  constructor(pieces: readonly TextToken[], schema: SchemaView) {
    this.pieces = pieces
    this.schema = schema
    this.variableNames = pieces.flatMap(({ kind, text }, at) => {
      const before = this.wordAt(at - 1)
      return kind === 'word' && (before === 'LET' || before === 'EACH') ? [text] : []
    })
    for (const [at, { kind, text }] of pieces.entries()) if (kind === 'word') this.noteClass(at, text)
  }

  /** `LET x = CREATE C`, `FOR EACH x IN FROM C`, and `(x:C` of MATCH. */
  private noteClass(at: number, name: string): void {
    const before = this.wordAt(at - 1)
    if (before === 'LET' || before === 'EACH') {
      const cls = this.classFrom(at + 1)
      if (cls !== undefined) this.classes.set(`$${name}`, cls)
    } else if (this.textAt(at - 1) === '(' && this.textAt(at + 1) === ':') {
      const cls = this.schema.classNamed(this.nameFrom(at + 2))
      if (cls !== undefined) this.classes.set(name, cls)
    }
  }

  /** Returns the first class named from this position on. */
  private classFrom(at: number): ClassRepresentation | undefined {
    for (let next = at; next < this.pieces.length && this.textAt(next) !== ';'; next++) {
      if (beforeClass.includes(this.wordAt(next))) return this.schema.classNamed(this.nameFrom(next + 1))
    }
    return undefined
  }

  private nameFrom(at: number): string {
    let name = this.textAt(at)
    if (name.toUpperCase() === 'ONLY') return this.nameFrom(at + 1)
    for (let next = at + 1; this.textAt(next) === '.'; next += 2) name += `.${this.textAt(next + 1)}`
    return name
  }

  get expectsClass(): boolean {
    const last = this.pieces.length - 1
    if (beforeClass.includes(this.wordAt(last)) || this.isVertexColon(last)) return true
    const isSetting = this.textAt(last) === ':' && ['REFERENCED', 'CLASS', 'EDGECLASS'].includes(this.wordAt(last - 1))
    return isSetting || (this.wordAt(last) === 'ON' && this.pieces.some((_, at) => this.wordAt(at) === 'INDEX'))
  }

  /** `(v:` or `(:` of MATCH. */
  private isVertexColon(at: number): boolean {
    if (this.textAt(at) !== ':' || !this.isMatch) return false
    return this.textAt(at - 1) === '(' || (this.pieces[at - 1]?.kind === 'word' && this.textAt(at - 2) === '(')
  }

  private get isMatch(): boolean {
    return this.pieces.some((_, at) => this.wordAt(at) === 'MATCH')
  }

  /** `-[:` or `-[e:` of MATCH. */
  private get expectsEdge(): boolean {
    const last = this.pieces.length - 1
    if (this.textAt(last) !== ':' || !this.isMatch) return false
    return this.textAt(last - 1).endsWith('[') || this.textAt(last - 2).endsWith('[')
  }

  get words(): string[] {
    const { schema, pieces } = this
    const last = this.wordAt(pieces.length - 1)
    if (this.expectsClass) return [...schema.classNames, ...(alsoAfter[last] ?? [])]
    if (this.expectsEdge) return this.edgeNames
    const isSchema = pieces.some((_, at) => this.wordAt(at) === 'UPDATE' && this.wordAt(at + 1) === 'SCHEMA')
    if (isSchema && last === ':') return [...typeNames]
    const isAtBeginning = pieces.length === 0 || last === ';' || last === 'EXPLAIN' || last === 'ANALYZE'
    if (isAtBeginning) return [...beginnings, ...(last === 'EXPLAIN' ? ['ANALYZE'] : [])]
    const source = this.source
    const names = source === undefined ? [] : attributeNames(source, schema)
    const patternNames = [...this.classes.keys()].filter((name) => !name.startsWith('$'))
    return [...names, ...patternNames, ...keywords, ...functionNames.map((name) => `${name}(`)]
  }

  private get edgeNames(): string[] {
    const all = this.schema.classes.flatMap((cls) => cls.attributes)
    const isReference = (type: { readonly referencedClass?: string; readonly edgeClass?: string }): boolean =>
      type.referencedClass !== undefined || type.edgeClass !== undefined
    const links = all.filter((type) => isReference(type) || isReference(type.elementSpecification ?? {}))
    return [...new Set(links.map(({ attributeName }) => attributeName))].sort()
  }

  /** The class whose attributes need no qualifier: that of the last source; undefined if there is none yet, as after SELECT. */
  private get source(): ClassRepresentation | undefined {
    for (let at = this.pieces.length - 1; at >= 0; at--) {
      const isSource =
        beforeClass.includes(this.wordAt(at)) || (this.wordAt(at) === 'ON' && this.wordAt(at - 2) === 'INDEX')
      const cls = isSource ? this.schema.classNamed(this.nameFrom(at + 1)) : undefined
      if (cls !== undefined) return cls
    }
    return undefined
  }

  /** The class at the end of a path, such as `$order.client` or `model`. */
  classAt(path: string): ClassRepresentation | undefined {
    const [first = '', ...others] = path.replaceAll(/\[[^\]]*\]/g, '').split('.')
    const named = this.classes.get(first)
    const source = this.source
    const firstAttribute = source && this.schema.attributeOf(source, first)
    let cls = named ?? (firstAttribute && this.schema.classBehind(firstAttribute))
    for (const name of others) {
      const attribute = cls && this.schema.attributeOf(cls, name)
      cls = attribute && this.schema.classBehind(attribute)
    }
    return cls
  }

  private textAt(at: number): string {
    return this.pieces[at]?.text ?? ''
  }

  private wordAt(at: number): string {
    return this.textAt(at).toUpperCase()
  }
}
