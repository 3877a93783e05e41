/** All kinds of statements. */
import type { Binder } from '../bind/scope.ts'
import type {
  AlterClause,
  ChangeAction,
  Expression,
  LimitClause,
  SchemaChange,
  Source,
  Statement,
} from '../language/ast.ts'
import { queryError } from '../language/query-error.ts'
import type { ValueType } from '../values/value-type.ts'
import { alterSequence } from './alter-sequence.ts'
import { create } from './create.ts'
import { createIndexKind } from './create-index.ts'
import { createSequence } from './create-sequence.ts'
import { deleteObjects } from './delete.ts'
import { dropIndexKind } from './drop-index.ts'
import { dropSequence } from './drop-sequence.ts'
import { explain } from './explain.ts'
import { forEach } from './for-each.ts'
import { ifElse } from './if.ts'
import { importFile } from './import.ts'
import { letVariable } from './let.ts'
import { lookup } from './lookup.ts'
import { match } from './match.ts'
import { select } from './select.ts'
import { show } from './show.ts'
import { showSequences } from './show-sequences.ts'
import type { StatementKind } from './statement-kind.ts'
import { update } from './update.ts'
import { updateSchema } from './update-schema.ts'
import { upsert } from './upsert.ts'
import { useFormat } from './use-format.ts'

type Kinds = { readonly [K in Statement['kind']]: StatementKind<Extract<Statement, { kind: K }>> }

/** Kinds of other nodes of the syntax tree; none may be the kind of a statement. */
type OtherKind = (Expression | Source | ChangeAction | LimitClause | SchemaChange | AlterClause)['kind']

const statementKinds: Kinds & Partial<Record<OtherKind, never>> = {
  select,
  lookup,
  match,
  create,
  upsert,
  update,
  delete: deleteObjects,
  let: letVariable,
  show,
  forEach,
  if: ifElse,
  import: importFile,
  format: useFormat,
  explain,
  schema: updateSchema,
  createIndex: createIndexKind,
  dropIndex: dropIndexKind,
  createSequence,
  alterSequence,
  dropSequence,
  showSequences,
}

export function kindOf<S extends Statement>({ kind }: S): StatementKind<S> {
  return statementKinds[kind as Statement['kind']] as unknown as StatementKind<S>
}

export function isStatementKind(kind: unknown): kind is Statement['kind'] {
  return typeof kind === 'string' && Object.hasOwn(statementKinds, kind)
}

/** The type of a nested statement's value. Throws QueryError for a statement that has no value. */
export function typeOfStatement(statement: Statement, binder: Binder, walkEdgesMax: number): ValueType {
  const type = kindOf(statement).valueType?.(statement, binder, walkEdgesMax)
  return type ?? noValueHere(statement, binder.text)
}

export function noValueHere(statement: Statement, text: string): never {
  throw queryError(text, statement, 'this statement has no value that could stand here')
}
