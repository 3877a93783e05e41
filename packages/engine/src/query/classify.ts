/** Whether a text of DO reads, changes objects, or changes the schema: told by the kinds of its statements, before anything runs. */
import type { CallExpression, ExplainStatement, Expression, Statement } from './language/ast.ts'
import type { Effect } from './statements/statement-kind.ts'
import { isStatementKind, kindOf } from './statements/statement-kinds.ts'

const ranks: Readonly<Record<Effect, number>> = { read: 0, write: 1, define: 2 }

const known = new WeakMap<Statement | Expression, Effect>()

/** The highest effect of the statements. */
export function classify(statements: readonly Statement[]): Effect {
  return highest(statements.map(effectOf))
}

/** Of a statement with all that it contains, as `LET x = CREATE …` or `FOR EACH … => (DELETE …)`; of an expression likewise. */
export function effectOf(node: Statement | Expression): Effect {
  let effect = known.get(node)
  if (effect === undefined) {
    effect = effectWithin(node)
    known.set(node, effect)
  }
  return effect
}

function effectWithin(node: unknown): Effect {
  if (typeof node !== 'object' || node === null) return 'read'
  const { kind } = node as { readonly kind?: unknown }
  let effect: Effect = isStatementKind(kind) ? kindOf(node as Statement).effect : isNext(node) ? 'write' : 'read'
  // What is explained is not carried out, unless it is analyzed.
  if (kind === 'explain' && !(node as ExplainStatement).isAnalyze) return effect
  // A statement may have 10,000 parts: no list is made of those of each.
  for (const name in node) {
    const part = (node as Readonly<Record<string, unknown>>)[name]
    if (typeof part === 'object') effect = higher(effect, isStatement(part) ? effectOf(part) : effectWithin(part))
  }
  return effect
}

/** What it draws from a sequence nobody else is ever given. */
function isNext(node: object): boolean {
  const { kind, name } = node as Partial<CallExpression>
  return kind === 'call' && name === 'NEXT'
}

/** Each is looked at once: WITH may name it in a hundred places. */
function isStatement(node: object | null): node is Statement {
  return node !== null && isStatementKind((node as { readonly kind?: unknown }).kind)
}

const readAlone: ReadonlySet<Effect> = new Set(['read'])
const allKnown = new WeakMap<Statement, ReadonlySet<Effect>>()

/** All that the statements do: whoever may do the highest may not do the others for that. What changes something reads as well, and may show it. */
export function effectsOf(statements: readonly Statement[]): ReadonlySet<Effect> {
  if (classify(statements) === 'read') return readAlone
  const all = new Set<Effect>(readAlone)
  for (const statement of statements) {
    let own = allKnown.get(statement)
    if (own === undefined) {
      const found = new Set<Effect>()
      addEffects(statement, found, new Set())
      own = found
      allKnown.set(statement, own)
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
