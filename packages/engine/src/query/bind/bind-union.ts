/** The rows of several statements as one list (docs/query-language.md, UNION). */
import { truncateForMessage } from '../../errors.ts'
import type { MatchStatement, SelectStatement, UnionExpression } from '../language/ast.ts'
import { commonType } from '../values/type-rules.ts'
import { aTypeName, type CollectionType, isReference, type ValueType } from '../values/value-type.ts'
import type { Bound } from './bound.ts'
import { requireKey } from './require-key.ts'
import { type Binder, emptyScope } from './scope.ts'

interface Columns {
  readonly types: readonly ValueType[]
  /** Undefined for objects. */
  readonly names: readonly string[] | undefined
}

/** Throws QueryError if the statements differ in the number of columns, or columns have no common type. */
export function bindUnion({ parts, distinctParts, start, end }: UnionExpression, binder: Binder): Bound {
  const operands = parts.map((statement) => binder.bindNested(statement, emptyScope, statement))
  const [first, ...others] = operands.map((operand, i) => columnsOf(operand, parts[i] as Part, binder)) as [
    Columns,
    ...Columns[],
  ]
  let { types } = first
  for (const [i, other] of others.entries()) types = commonTypes(types, other, first, parts[i + 1] as Part, binder)
  if (distinctParts > 0) {
    for (const type of types) requireKey(type, { start, end }, 'UNION without ALL takes', binder)
  }
  const { names } = first
  const isOneColumn = types.length === 1
  const element: ValueType = isOneColumn
    ? (types[0] as ValueType)
    : { kind: 'record', fields: types.map((type, i) => ({ name: names?.[i] as string, type })) }
  const type = { kind: 'collection', form: 'list', element } as const
  return { kind: 'union', operands, distinctParts, types, isOneColumn, type, start, end }
}

type Part = SelectStatement | MatchStatement

function columnsOf({ type }: Bound, statement: Part, binder: Binder): Columns {
  const { projections, isWithAll } = statement
  if (isWithAll) throw binder.error(statement, 'RETURN *, … in a UNION: each column is named')
  const row = (type as CollectionType).element
  // This includes a single column of records, such as a shape.
  if (projections?.length === 1) return { types: [row], names: [projections[0]?.name as string] }
  if (row.kind === 'record') {
    return { types: row.fields.map((field) => field.type), names: row.fields.map(({ name }) => name) }
  }
  if (isReference(row) && statement.kind === 'select') return { types: [row], names: undefined }
  throw binder.error(
    statement,
    'RETURN * in a UNION stands for objects, or for rows of several columns; name the column',
  )
}

function commonTypes(
  types: readonly ValueType[],
  other: Columns,
  first: Columns,
  statement: Part,
  binder: Binder,
): readonly ValueType[] {
  const [one, another] = [types.length, other.types.length]
  if (one !== another) {
    throw binder.error(
      statement,
      `the statements of a UNION have as many columns each: ${countOf(one)}, and here ${countOf(another)}`,
    )
  }
  return types.map((type, i) => {
    const own = other.types[i] as ValueType
    const common = commonType(type, own)
    if (first.names === undefined && common?.kind === 'reference' && common.cls === null) {
      throw binder.error(statement, 'the objects of a UNION have a class in common; name what is returned of them')
    }
    if (common !== undefined) return common
    const name = truncateForMessage(first.names?.[i] ?? '*')
    throw binder.error(
      statement,
      `column '${name}' of a UNION is of one type, not ${aTypeName(type)} and ${aTypeName(own)}; CAST makes one of the other`,
    )
  })
}

function countOf(columns: number): string {
  return columns === 1 ? 'one column' : `${columns} columns`
}
