/** Reads TypeScript for the checks: the imports, the comments, and a walk over the syntax tree. */
import { type Node as OxcNode, type ParseResult, parseSync } from 'oxc-parser'

export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export interface Source {
  readonly program: SyntaxNode
  readonly comments: readonly { readonly value: string; readonly start: number }[]
  /** From 1. */
  lineOf(offset: number): number
}

export interface Import {
  readonly specifier: string
  readonly line: number
}

/** @throws Error when the file is no TypeScript */
export function parseSource(path: string, text: string): Source {
  const result: ParseResult = parseSync(path, text)
  const [error] = result.errors
  if (error) throw new Error(`${path} cannot be read: ${error.message}`)
  const starts = lineStarts(text)
  return {
    program: result.program as OxcNode as unknown as SyntaxNode,
    comments: result.comments,
    lineOf: (offset) => lineAt(starts, offset),
  }
}

/** Each node below `node`, itself first, in the order of the text. */
export function* nodesOf(node: SyntaxNode): Generator<SyntaxNode> {
  yield node
  for (const field of Object.values(node)) {
    for (const child of Array.isArray(field) ? field : [field]) {
      if (isNode(child)) yield* nodesOf(child)
    }
  }
}

/** All imports: values and types, re-exports, `import()` as expression and as type. */
export function importsOf(source: Source): Import[] {
  const imports: Import[] = []
  for (const node of nodesOf(source.program)) {
    const specifier = specifierOf(node)
    if (specifier !== undefined) imports.push({ specifier, line: source.lineOf(node.start) })
  }
  return imports
}

const importing = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
])

function specifierOf(node: SyntaxNode): string | undefined {
  if (!importing.has(node.type)) return undefined
  const source = node.source ?? node.argument
  return isNode(source) && typeof source.value === 'string' ? source.value : undefined
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function lineAt(starts: readonly number[], offset: number): number {
  let line = 0
  while (line < starts.length && (starts[line] ?? 0) <= offset) line++
  return line
}
