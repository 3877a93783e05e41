/** Classifies statements before execution: whether they read, change objects or change the schema. */
import type { CallExpression, ExplainStatement, Expression, Statement } from './language/ast.ts'
import type { Effect } from './statements/statement-kind.ts'
import { isStatementKind, kindOf } from './statements/statement-kinds.ts'

const ranks: Readonly<Record<Effect, number>> = { read: 0, write: 1, define: 2 }

const effectCache = new WeakMap<Statement | Expression, Effect>()

/** The highest effect of the statements. */
export function classify(statements: readonly Statement[]): Effect {
  return highest(statements.map(effectOf))
}

/** The effect of a statement and everything it contains, such as `LET x = CREATE …` or `FOR EACH … => (DELETE …)`; likewise for an expression. */
export function effectOf(node: Statement | Expression): Effect {
  let effect = effectCache.get(node)
  if (effect === undefined) {
    effect = effectWithin(node)
    effectCache.set(node, effect)
  }
  return effect
}

function effectWithin(node: unknown): Effect {
  if (typeof node !== 'object' || node === null) return 'read'
  const { kind } = node as { readonly kind?: unknown }
  let effect: Effect = isStatementKind(kind) ? kindOf(node as Statement).effect : isNext(node) ? 'write' : 'read'
  // EXPLAIN does not execute its statement unless it analyzes it.
  if (kind === 'explain' && !(node as ExplainStatement).isAnalyze) return effect
  // No Object.values() here: a statement may have 10,000 parts, and each call would allocate an array.
  for (const name in node) {
    const part = (node as Readonly<Record<string, unknown>>)[name]
    if (typeof part === 'object') effect = higher(effect, isStatement(part) ? effectOf(part) : effectWithin(part))
  }
  return effect
}

/** NEXT writes: it consumes a number of a sequence. */
function isNext(node: object): boolean {
  const { kind, name } = node as Partial<CallExpression>
  return kind === 'call' && name === 'NEXT'
}

/** Statements are cached, since WITH may refer to one of them in a hundred places. */
function isStatement(node: object | null): node is Statement {
  return node !== null && isStatementKind((node as { readonly kind?: unknown }).kind)
}

const readOnly: ReadonlySet<Effect> = new Set(['read'])
const effectsCache = new WeakMap<Statement, ReadonlySet<Effect>>()

/** All effects of the statements, since the right to the highest one does not include the rest. Every statement also reads. */
export function effectsOf(statements: readonly Statement[]): ReadonlySet<Effect> {
  if (classify(statements) === 'read') return readOnly
  const all = new Set<Effect>(readOnly)
  for (const statement of statements) {
    let own = effectsCache.get(statement)
    if (own === undefined) {
      const found = new Set<Effect>()
      addEffects(statement, found, new Set())
      own = found
      effectsCache.set(statement, own)
    }
    for (const effect of own) all.add(effect)
  }
  return all
}

function addEffects(node: unknown, effects: Set<Effect>, seen: Set<Statement>): void {
  if (typeof node !== 'object' || node === null) return
  if (isStatement(node)) {
    if (seen.has(node)) return
    seen.add(node)
    effects.add(kindOf(node).effect)
    if (node.kind === 'explain' && !node.isAnalyze) return
  }
  if (isNext(node)) effects.add('write')
  for (const part of Object.values(node)) addEffects(part, effects, seen)
}

function highest(all: readonly Effect[]): Effect {
  return all.reduce(higher, 'read')
}

export function higher(one: Effect, other: Effect): Effect {
  return ranks[other] > ranks[one] ? other : one
}
