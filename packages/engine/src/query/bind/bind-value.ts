/** Literals of lists, maps, intervals and embedded objects; casts and new objects. */

import { truncateForMessage } from '../../errors.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import { ValueError } from '../../types/logical-type.ts'
import { castFor, castTarget, castTypes, mayBeClass } from '../functions/cast.ts'
import type {
  Assignment,
  CastExpression,
  CreateStatement,
  ElementsExpression,
  Expression,
  IntervalExpression,
  PairsExpression,
  Span,
  StructureExpression,
  TypeExpression,
} from '../language/ast.ts'
import { jsonOfSingle } from '../values/json-of.ts'
import { commonType } from '../values/type-rules.ts'
import {
  aTypeName,
  isNumeric,
  isReference,
  nullType,
  stringType,
  typeName,
  type ValueType,
} from '../values/value-type.ts'
import type { Bound, BoundAssignment, BoundAttribute, BoundCreate } from './bound.ts'
import {
  findAttribute,
  findClass,
  hint,
  refuseRoot,
  resolveAttribute,
  resolveClass,
  resolveReferenceable,
} from './class-names.ts'
import { alikeValues, assignable, coerced } from './coercion.ts'
import type { Binder, Scope } from './scope.ts'
import { hintOfType } from './synonyms.ts'

export function bindElements(expression: ElementsExpression, scope: Scope, binder: Binder): Bound {
  const bound = expression.elements.map((element) => binder.bind(element, scope))
  return bindList(bound, expression, binder, expression.form)
}

/** Throws QueryError if the values have no common type. */
export function bindList(
  values: readonly Bound[],
  { start, end }: Span,
  binder: Binder,
  form: 'list' | 'set' = 'list',
): Bound {
  const elements = alikeValues(values, binder)
  const type = { kind: 'collection', form, element: typeOfAll(elements, binder) } as const
  return { kind: 'elements', elements, type, start, end }
}

/** `have` is the subject and verb of the message. */
export function typeOfAll(values: readonly Bound[], binder: Binder, have = 'the elements are'): ValueType {
  let type: ValueType = nullType
  for (const value of values) {
    const common = commonType(type, value.type)
    if (common === undefined) {
      throw binder.error(value, `${have} of one type, not ${aTypeName(type)} and ${aTypeName(value.type)}`)
    }
    type = common
  }
  return type
}

export function bindPairs(expression: PairsExpression, scope: Scope, binder: Binder): Bound {
  const { start, end } = expression
  const pairs = expression.pairs.map(({ key, value }) => ({
    key: binder.bind(key, scope),
    value: binder.bind(value, scope),
  }))
  const keys = pairs.map(({ key }) => key)
  const key = keys.length === 0 ? stringType : typeOfAll(keys, binder)
  const element = typeOfAll(
    pairs.map(({ value }) => value),
    binder,
  )
  return { kind: 'pairs', pairs, type: { kind: 'map', key, element }, start, end }
}

export function bindInterval(expression: IntervalExpression, scope: Scope, binder: Binder): Bound {
  const { start, end } = expression
  const parts = expression.parts.map(({ unit, amount }) => {
    const bound = binder.bind(amount, scope)
    if (isNumeric(bound.type)) return { unit, amount: bound }
    throw binder.error(amount, `${unit.toUpperCase()} of an interval are a number, not ${aTypeName(bound.type)}`)
  })
  return { kind: 'interval', parts, type: { kind: 'interval' }, start, end }
}

export function bindStructure(expression: StructureExpression, scope: Scope, binder: Binder): Bound {
  const { start, end } = expression
  const cls = resolveClass(binder, expression.className)
  if (cls.isReferenceable) {
    throw binder.error(
      expression.className,
      `class ${cls.name} is referenceable: a new object of it is made by CREATE ${cls.name} {…}`,
    )
  }
  const assignments = bindAssignments(expression.assignments, cls, scope, binder)
  return { kind: 'structure', cls, assignments, type: { kind: 'embedded', cls }, start, end }
}

export function bindCreate(statement: CreateStatement, scope: Scope, binder: Binder): BoundCreate {
  const cls = refuseRoot(
    binder,
    statement.className,
    resolveReferenceable(binder, statement.className, ['query', 'create']),
  )
  const assignments = bindAssignments(statement.assignments, cls, { ...scope, mayDraw: true }, binder)
  return { cls, assignments, start: statement.start, end: statement.end }
}

export function bindAssignments(
  assignments: readonly Assignment[],
  cls: SchemaClass,
  scope: Scope,
  binder: Binder,
): BoundAssignment[] {
  const seen = new Set<string>()
  return assignments.map((assignment) => {
    const { target, start, end } = assignment
    const path = bindTarget(target, cls, assignment, binder)
    const name = target.join('.')
    if (seen.has(name)) throw binder.error(assignment, `attribute ${name} is specified twice`)
    seen.add(name)
    const { type } = path.at(-1) as BoundAttribute
    const what = `attribute ${name} of class ${cls.name}`
    return { path, value: assignable(binder.bind(assignment.value, scope), type, what, binder), start, end }
  })
}

/** An attribute of the class, or one inside an embedded object. */
function bindTarget(
  steps: readonly string[],
  cls: SchemaClass,
  assignment: Assignment,
  binder: Binder,
): BoundAttribute[] {
  const path: BoundAttribute[] = []
  let owner = cls
  for (let at = 0; at < steps.length; ) {
    const [attribute, next] = stepAt(steps, at, owner, assignment, binder)
    path.push(attribute)
    at = next
    if (at === steps.length) break
    if (attribute.type.kind !== 'embedded') {
      throw binder.error(
        assignment,
        `${attribute.name} of class ${owner.name} is ${aTypeName(attribute.type)}, not an embedded object`,
      )
    }
    owner = attribute.type.cls
  }
  return path
}

/** Returns an attribute and the index of the next step; the namespace of `Space.Base::name` spans several steps. */
function stepAt(
  steps: readonly string[],
  at: number,
  owner: SchemaClass,
  assignment: Assignment,
  binder: Binder,
): [attribute: BoundAttribute, next: number] {
  for (let last = at + 1; last < steps.length; last++) {
    if (!steps[last]?.includes('::')) continue
    const found = findAttribute(binder, owner, steps.slice(at, last + 1).join('.'), assignment)
    if (found !== undefined) return [found, last + 1]
  }
  return [resolveAttribute(binder, owner, steps[at] as string, assignment), at + 1]
}

/** Casts to a logical type, or a reference to a class, which is null if the object is of another class. */
function targetOf(type: TypeExpression, binder: Binder): ReturnType<typeof castTarget> {
  try {
    return castTarget(type)
  } catch (error) {
    if (error instanceof ValueError) throw binder.error(type, error.message)
    throw error
  }
}

export function bindCast(expression: CastExpression, scope: Scope, binder: Binder): Bound {
  const { start, end } = expression
  const operand = binder.bind(expression.operand as Expression, scope)
  const { type } = expression
  const isClass = mayBeClass(type) && findClass(binder, type.name) !== undefined
  const target = isClass ? undefined : targetOf(type, binder)
  if (target === undefined) {
    const { name } = type
    const typeHint = hintOfType(name) ?? hint(name, castTypes)
    const cls = findClass(binder, name) ?? (typeHint === '' ? resolveClass(binder, { text: name, ...type }) : undefined)
    if (cls === undefined)
      throw binder.error(type, `there is no type or class '${truncateForMessage(name)}'${typeHint}`)
    const reference = coerced(operand, { kind: 'reference', cls: null }, binder)
    if (!isReference(reference.type)) {
      throw binder.error(operand, `only a reference is cast to class ${cls.name}, not ${aTypeName(operand.type)}`)
    }
    return { kind: 'instanceOf', operand: reference, cls, type: { kind: 'reference', cls }, start, end }
  }
  if (operand.type.kind === 'null') return { kind: 'constant', value: null, type: target, start, end }
  const convert =
    castFor(operand.type, target, binder.textFormats) ??
    (target.kind === 'json' ? jsonOfSingle(operand.type, binder.catalog) : undefined)
  if (convert === undefined) {
    throw binder.error(expression, `${aTypeName(operand.type)} cannot be cast to ${typeName(target)}`)
  }
  return { kind: 'convert', operand, convert, type: target, start, end }
}
