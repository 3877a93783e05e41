/** Shapes: the output form of objects in a column (docs/query-language.md, Shapes). */
import { truncateForMessage } from '../../errors.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import { withSubclasses } from '../../schema/class-set.ts'
import type { LimitClause, Projection, ShapeExpression } from '../language/ast.ts'
import {
  aTypeName,
  type EmbeddedType,
  isMany,
  isReference,
  type ObjectType,
  type RecordField,
  type RecordType,
  type ReferenceType,
  type ValueType,
} from '../values/value-type.ts'
import { bindOrderItem } from './bind-keys.ts'
import { bindLimit, bindProjection, bindWhere, refuseSameNames } from './bind-select.ts'
import type { Bound } from './bound.ts'
import { type Binder, contextScope, type Scope, withoutContext } from './scope.ts'

/** Throws QueryError for values that are neither objects nor collections of them. */
export function bindShape(expression: ShapeExpression, scope: Scope, binder: Binder): Bound {
  const { hasWildcard, entries, start, end } = expression
  const object = binder.bind(expression.object, scope)
  const element = elementTypeOf(object, expression, binder)
  if (object.type.kind !== 'collection') refuseClauses(expression, object.type, binder)
  const slot = object.kind === 'self' ? object.slot : binder.newSlot()
  const inner = contextScope(slot, element, withoutContext(scope))
  const fields = entries.map((entry) => bindProjection(entry, inner, binder))
  refuseSameNames(fields, entries, binder, false)
  if (hasWildcard) refuseNamesOf(element, entries, binder)
  const count = (limit: LimitClause | undefined): Bound | undefined => bindLimit(limit, inner, binder)?.expression
  const outputType = shapeType(
    hasWildcard,
    element,
    fields.map(({ name, expression: { type } }) => ({ name, type })),
  )
  return {
    kind: 'shape',
    object,
    slot,
    hasWildcard,
    fields,
    where: expression.where === undefined ? undefined : bindWhere(expression.where, inner, binder),
    orderBy: expression.orderBy.map((item) => bindOrderItem(item.expression, item.isDescending, inner, binder)),
    skip: count(expression.skip),
    take: count(expression.take),
    type: withSameForm(object.type, outputType),
    start,
    end,
  }
}

function elementTypeOf({ type }: Bound, { object }: ShapeExpression, binder: Binder): ReferenceType | EmbeddedType {
  const element = isMany(type) ? type.element : type
  if (isReference(element)) return { kind: 'reference', cls: element.cls }
  if (element.kind === 'embedded') return element
  throw binder.error(object, `a shape is of an object, or of a collection of objects, not of ${aTypeName(type)}`)
}

function refuseClauses({ where, orderBy, skip, take }: ShapeExpression, type: ValueType, binder: Binder): void {
  const clause = where ?? orderBy[0] ?? skip ?? take
  if (clause === undefined) return
  const what = type.kind === 'map' ? 'a map' : 'one object'
  throw binder.error(clause, `a shape of ${what} has no WHERE, ORDER BY, SKIP and TAKE`)
}

/** Rejects entries of a whole object that are named like an attribute of its class or of a subclass. */
function refuseNamesOf(element: ReferenceType | EmbeddedType, entries: readonly Projection[], binder: Binder): void {
  const classes = classesOf(element, binder)
  for (const entry of entries) {
    const isOwn = entry.name === '__class__' || entry.name === '__identifier__'
    if (isOwn || classes.some(({ attributes }) => attributes.some(({ outputName }) => outputName === entry.name))) {
      const name = truncateForMessage(entry.name)
      throw binder.error(entry, `the object has '${name}' already; AS gives another name`)
    }
  }
}

function classesOf({ kind, cls }: ReferenceType | EmbeddedType, { catalog }: Binder): readonly SchemaClass[] {
  if (kind === 'embedded') return [cls]
  return cls === null ? catalog.classes : withSubclasses(cls).classes
}

function shapeType(
  hasWildcard: boolean,
  element: ReferenceType | EmbeddedType,
  fields: readonly RecordField[],
): ValueType {
  if (!hasWildcard) return { kind: 'record', fields }
  const object: ObjectType | EmbeddedType = isReference(element) ? { kind: 'object', cls: element.cls } : element
  if (fields.length === 0) return object
  const record: RecordType = { kind: 'record', fields: [{ name: '*', type: object, isSpread: true }, ...fields] }
  return record
}

function withSameForm(type: ValueType, element: ValueType): ValueType {
  if (type.kind === 'map') return { ...type, element }
  if (type.kind !== 'collection') return element
  return { kind: 'collection', form: type.form === 'list' ? 'list' : 'sequence', element }
}
