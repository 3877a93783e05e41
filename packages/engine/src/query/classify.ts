/** Whether a text of DO reads, changes objects, or changes the schema: told by the kinds of its statements, before anything runs. */
import type {
  Action,
  Alteration,
  ExplainStatement,
  Expression,
  LimitClause,
  SchemaChange,
  Source,
  Statement,
} from './language/ast.ts'

/** In rising order: who may `define` may also `write`, and who may `write` may also `read`. */
export type Effect = 'read' | 'write' | 'define'

/** Nodes of the syntax tree that have a kind and are no statements. None may have the kind of a statement. */
type OtherKind = (Expression | Source | Action | LimitClause | SchemaChange | Alteration)['kind']

/** What a statement of each kind does by itself, apart from the statements that it contains. */
const effects: Readonly<Record<Statement['kind'], Effect> & Partial<Record<OtherKind, never>>> = {
  select: 'read',
  lookup: 'read',
  match: 'read',
  let: 'read',
  show: 'read',
  forEach: 'read',
  if: 'read',
  import: 'read',
  format: 'read',
  explain: 'read',
  create: 'write',
  upsert: 'write',
  update: 'write',
  delete: 'write',
  schema: 'define',
  createIndex: 'define',
  dropIndex: 'define',
}

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
  if (Array.isArray(node)) return highest(node.map(effectWithin))
  const { kind } = node as { readonly kind?: unknown }
  const own = isStatementKind(kind) ? effects[kind] : 'read'
  // What is explained is not carried out, unless it is analyzed.
  const isPlanned = kind === 'explain' && !(node as ExplainStatement).isAnalyze
  return isPlanned ? own : highest([own, ...Object.values(node).map(effectWithin)])
}

function isStatementKind(kind: unknown): kind is Statement['kind'] {
  return typeof kind === 'string' && Object.hasOwn(effects, kind)
}

function highest(all: readonly Effect[]): Effect {
  return all.reduce((one, other) => (ranks[other] > ranks[one] ? other : one), 'read')
}
