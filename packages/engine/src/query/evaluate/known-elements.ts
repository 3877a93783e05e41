/** Elements that satisfy a predicate on collection elements, found in advance: their inverse attribute identifies the collections they are in. */

import type { SchemaClass } from '../../schema/catalog.ts'
import type { Oid } from '../../types/oid.ts'
import type { AttributeNumber } from '../../types/type-spec.ts'
import type { Bound } from '../bind/bound.ts'
import type { EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import type { ObjectView } from './object-view.ts'

/** All objects that may satisfy the predicate, and the to-one attribute that refers to the owner of their collection. */
export interface ConstantElements {
  readonly oids: readonly Oid[]
  readonly cls: SchemaClass
  readonly inverse: AttributeNumber
}

/** The known elements within the current row's collection; undefined where they are not known. */
export function compileConstantElements(
  { collection, mode }: Extract<Bound, { kind: 'quantifier' }>,
  compiler: ExpressionCompiler,
): ((evaluation: EvaluationContext) => readonly Oid[] | undefined) | undefined {
  if (mode !== 'any' || collection.kind !== 'attribute' || collection.attribute.linkStorage === undefined)
    return undefined
  const constant = compiler.placeOf(collection)
  const { slot } = collection
  return ({ constants, slots, reader }) => {
    const elements = constants[constant] as ConstantElements | undefined
    if (elements === undefined) return undefined
    const { oids, cls, inverse } = elements
    const owner = (slots[slot] as ObjectView | undefined)?.oid
    if (oids.length > 1) reader.prefetch(oids)
    return oids.filter((oid) => {
      const view = reader.object(oid)
      const { format } = view
      // A given OID may belong to an object of another class, in which the index means another attribute.
      if (format?.cls.isOrInherits(cls.number) !== true) return false
      return view.value(format.attribute(inverse).index) === owner
    })
  }
}
