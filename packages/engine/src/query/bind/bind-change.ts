/** UPDATE, DELETE and UPSERT: their targets and values (docs/query-language.md, Creating and changing). */

import { AshlarError, assert } from '../../errors.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { IndexDefinition } from '../../schema/class-definition.ts'
import { resolveKeyPath } from '../../schema/key-path.ts'
import type {
  AddAction,
  ChangeAction,
  DeleteStatement,
  Expression,
  RemoveAction,
  SetAction,
  UpdateStatement,
  UpsertStatement,
} from '../language/ast.ts'
import { widestCodec } from '../values/scalars/scalar-kinds.ts'
import { aTypeName, isMany, isScalarType, type ValueType } from '../values/value-type.ts'
import { bindClauses, bindOrder, bindSource, noClauses, refuseAttributeNames } from './bind-select.ts'
import { type BoundTarget, bindTarget, collectionTarget, targetSteps } from './bind-target.ts'
import { bindAssignments } from './bind-value.ts'
import type { Bound, BoundAssignment, BoundClauses, BoundSource } from './bound.ts'
import { refuseRoot, requirePermitted, resolveReferenceable } from './class-names.ts'
import { assignable } from './coercion.ts'
import { type Binder, emptyScope, type Scope, sourceScope } from './scope.ts'

export type BoundAction =
  | {
      readonly kind: 'set'
      readonly target: BoundTarget
      readonly value: Bound
      /** Whether a slice is replaced by the elements of the value. */
      readonly isSpread: boolean
    }
  | { readonly kind: 'clear'; readonly target: BoundTarget }
  | {
      readonly kind: 'add'
      readonly target: BoundTarget
      readonly elements: readonly Bound[]
      readonly pairs: readonly { readonly key: Bound; readonly value: Bound }[]
    }
  | { readonly kind: 'remove'; readonly target: BoundTarget; readonly elements: readonly Bound[] }
  /** REMOVE coll[i] FROM coll removes by position instead of value. */
  | { readonly kind: 'removeAt'; readonly target: BoundTarget; readonly index: Bound }

export interface BoundChange {
  readonly source: BoundSource
  readonly slot: number
  readonly actions: readonly BoundAction[]
  readonly isReturning: boolean
  /** Selects which of the matching objects are changed; undefined = all. */
  readonly choice: BoundClauses | undefined
  /** Clauses over the changed objects. */
  readonly clauses: BoundClauses
}

export function bindUpdate(statement: UpdateStatement, binder: Binder): BoundChange {
  const { source, slot, scope } = contextOf(statement, binder)
  refuseRoot(binder, statement.source, source.cls)
  requirePermitted(binder, source.cls, ['update'])
  const actions = statement.actions.flatMap((action) => bindAction(action, scope, binder))
  for (const { target } of actions) requirePermitted(binder, target.attribute.cls, ['update'])
  refuseSameTargets(actions, binder)
  const clauses = bindClauses(statement, scope, binder)
  refuseAttributeNames(statement, source, binder)
  const choice = bindChoice(statement, scope, binder)
  return { source, slot, actions, isReturning: statement.isReturning, choice, clauses }
}

export function bindDelete(statement: DeleteStatement, binder: Binder): BoundChange {
  const { source, slot, scope } = contextOf(statement, binder)
  // Without a condition, every object in the database would be deleted.
  if (source.kind === 'class' && statement.where === undefined) refuseRoot(binder, statement.source, source.cls)
  requirePermitted(binder, source.cls, ['delete'])
  const clauses = bindClauses(statement, scope, binder)
  refuseAttributeNames(statement, source, binder)
  const choice = bindChoice(statement, scope, binder)
  return { source, slot, actions: [], isReturning: statement.isReturning, choice, clauses }
}

function bindChoice(
  { chosen }: UpdateStatement | DeleteStatement,
  scope: Scope,
  binder: Binder,
): BoundClauses | undefined {
  return chosen && { ...noClauses, ...bindOrder(chosen, scope, binder) }
}

function contextOf(
  statement: UpdateStatement | DeleteStatement,
  binder: Binder,
): { source: BoundSource; slot: number; scope: Scope } {
  const source = bindSource(statement.source, binder)
  const slot = binder.newSlot()
  return { source, slot, scope: sourceScope(slot, { kind: 'reference', cls: source.cls }, statement.source.alias) }
}

function bindAction(action: ChangeAction, scope: Scope, binder: Binder): BoundAction[] {
  switch (action.kind) {
    case 'set':
      return [bindSet(action, scope, binder)]
    case 'clear':
      return action.targets.map((expression) => bindClear(expression, scope, binder))
    case 'add':
      return [bindAdd(action, scope, binder)]
    case 'remove':
      return [bindRemove(action, scope, binder)]
  }
}

function bindClear(expression: Expression, scope: Scope, binder: Binder): BoundAction {
  const target = bindTarget(expression, scope, binder)
  if (target.elements === undefined || target.within.length > 0) return { kind: 'clear', target }
  const { type } = target.inner.at(-1) ?? target.attribute
  if (type.kind === 'collection' && type.form === 'set') {
    throw binder.error(expression, 'the elements of a set cannot be cleared, only removed')
  }
  // Only lists of references may contain null.
  if (type.kind === 'collection' && isScalarType(type.element) && widestCodec(type.element).defaultValue === null) {
    throw binder.error(expression, `${target.text} has no default that it could be cleared to, only removed`)
  }
  return { kind: 'clear', target }
}

function bindSet(action: SetAction, scope: Scope, binder: Binder): BoundAction {
  const target = bindTarget(action.target, scope, binder)
  const bound = binder.bind(action.value, { ...scope, mayDraw: true })
  const isRange = target.elements?.kind === 'slice' && target.within.length === 0
  if (!isRange || !isMany(target.type)) {
    return { kind: 'set', target, value: assignable(bound, target.type, target.text, binder), isSpread: false }
  }
  const { element } = target.type
  const isSpread = bound.type.kind === 'collection'
  const expected: ValueType = isSpread ? { kind: 'collection', form: 'list', element } : element
  const what = isSpread ? target.text : `an element of ${target.text}`
  return { kind: 'set', target, value: assignable(bound, expected, what, binder), isSpread }
}

/** Rejects SET and CLEAR of the same target twice, or of a part of a target that is set as a whole. Throws QueryError. */
function refuseSameTargets(actions: readonly BoundAction[], binder: Binder): void {
  const fullTargets = new Set<string>()
  const withParts = new Set<string>()
  for (const { kind, target } of actions) {
    if (kind !== 'set' && kind !== 'clear') continue
    const steps = targetSteps(target, binder.text)
    const paths = steps.map((_step, i) => JSON.stringify(steps.slice(0, i + 1)))
    const path = paths.pop() as string
    if (fullTargets.has(path)) throw binder.error(target.span, `${target.text} has two values`)
    if (withParts.has(path) || paths.some((outer) => fullTargets.has(outer))) {
      throw binder.error(target.span, `${target.text} has both a value for all of it and one for a part`)
    }
    fullTargets.add(path)
    for (const outer of paths) withParts.add(outer)
  }
}

function bindAdd(action: AddAction, scope: Scope, binder: Binder): BoundAction {
  const target = collectionTarget(action.target, scope, binder)
  const { type } = target
  if (type.kind === 'map') {
    const pairs = action.pairs.map(({ key, value }) => ({
      key: assignable(binder.bind(key, scope), type.key, `a key of ${target.text}`, binder),
      value: assignable(binder.bind(value, scope), type.element, `a value of ${target.text}`, binder),
    }))
    if (action.elements.length === 0) return { kind: 'add', target, elements: [], pairs }
    const elements = action.elements.map((element) =>
      assignable(binder.bind(element, scope), type, target.text, binder),
    )
    return { kind: 'add', target, elements, pairs }
  }
  if (action.pairs.length > 0) throw binder.error(action, `${target.text} is ${aTypeName(type)}, and takes no pairs`)
  return { kind: 'add', target, elements: bindElementsOf(target, action.elements, scope, binder), pairs: [] }
}

function bindRemove(action: RemoveAction, scope: Scope, binder: Binder): BoundAction {
  const target = collectionTarget(action.target, scope, binder)
  const { type } = target
  if (action.isKeys || type.kind === 'map') {
    if (type.kind !== 'map') throw binder.error(action, `${target.text} is ${aTypeName(type)}, and has no keys`)
    const elements = action.elements.map((key) => {
      return assignable(binder.bind(key, scope), type.key, `a key of ${target.text}`, binder)
    })
    return { kind: 'remove', target, elements }
  }
  const [only] = action.elements
  if (only?.kind === 'subscript' && action.elements.length === 1 && isSameText(only.object, action.target, binder)) {
    const chosen = bindTarget(only, scope, binder)
    if (chosen.elements?.kind === 'index') return { kind: 'removeAt', target, index: chosen.elements.index }
  }
  return { kind: 'remove', target, elements: bindElementsOf(target, action.elements, scope, binder) }
}

function isSameText(one: Expression, other: Expression, { text }: Binder): boolean {
  return text.slice(one.start, one.end).replace(/\s/g, '') === text.slice(other.start, other.end).replace(/\s/g, '')
}

/** Single elements or collections of them. */
function bindElementsOf(target: BoundTarget, elements: readonly Expression[], scope: Scope, binder: Binder): Bound[] {
  const { type } = target
  assert(type.kind === 'collection', 'elements are of a collection')
  return elements.map((element) => {
    const bound = binder.bind(element, scope)
    const what = `an element of ${target.text}`
    if (isMany(bound.type)) return assignable(bound, type, what, binder)
    return assignable(bound, type.element, what, binder)
  })
}

export interface BoundUpsert {
  readonly cls: SchemaClass
  readonly index: IndexDefinition
  readonly assignments: readonly BoundAssignment[]
  /** The assignments of the key, in the order of the index. */
  readonly keys: readonly BoundAssignment[]
}

export function bindUpsert(statement: UpsertStatement, binder: Binder): BoundUpsert {
  const named = resolveReferenceable(binder, statement.className, ['query', 'create', 'update'])
  const cls = refuseRoot(binder, statement.className, named)
  const scope: Scope = { ...emptyScope, mayDraw: true }
  const assignments = bindAssignments(statement.assignments, cls, scope, binder)
  const keyPaths = statement.on.map((name) => ({ name, path: keyPath(cls, name.text, name, binder) }))
  const index = cls.indexes.find((candidate) => {
    const isExact = candidate.keyAttributes.length === keyPaths.length
    return (
      isExact &&
      candidate.isUnique &&
      candidate.state === 'ready' &&
      candidate.keyAttributes.every(({ path }) => {
        return keyPaths.some((key) => key.path.join() === path.join())
      })
    )
  })
  if (index === undefined) {
    const names = statement.on.map(({ text }) => text).join(', ')
    throw binder.error(statement, `UPSERT needs a unique index of class ${cls.name} on exactly (${names})`)
  }
  const keys = index.keyAttributes.map(({ path }) => {
    const found = assignments.find((assignment) => assignment.path.map(({ number }) => number).join() === path.join())
    if (found !== undefined) return found
    const key = keyPaths.find((candidate) => candidate.path.join() === path.join())
    throw binder.error(statement, `the key attribute ${key?.name.text} has no value`)
  })
  return { cls, index, assignments, keys }
}

function keyPath(
  cls: SchemaClass,
  name: string,
  span: { start: number; end: number },
  binder: Binder,
): readonly number[] {
  try {
    return resolveKeyPath(binder.catalog, cls, name, []).path
  } catch (error) {
    if (error instanceof AshlarError) throw binder.error(span, error.message.replace(/\.$/, ''))
    throw error
  }
}
