/**
 * The few objects that fulfil what is asked of an element of a collection, where they are known before the rows: which of them a collection has is told by
 * the inverse attribute of each, without the collection.
 */

import type { SchemaClass } from '../../schema/catalog.ts'
import type { Oid } from '../../types/oid.ts'
import type { AttributeNumber } from '../../types/type-spec.ts'
import type { Bound } from '../bind/bound.ts'
import type { EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import type { ObjectView } from './object-view.ts'

/** All objects that may fulfil it, and the to-one attribute of their class by which each refers to the object whose collection it is in. */
export interface KnownElements {
  readonly oids: readonly Oid[]
  readonly cls: SchemaClass
  readonly inverse: AttributeNumber
}

/** Those that are in the collection of the row at hand; undefined where they are not known. */
export function compileKnownElements(
  { collection, mode }: Extract<Bound, { kind: 'quantifier' }>,
  compiler: ExpressionCompiler,
): ((evaluation: EvaluationContext) => readonly Oid[] | undefined) | undefined {
  if (mode !== 'any' || collection.kind !== 'attribute' || collection.attribute.linkStorage === undefined)
    return undefined
  const place = compiler.placeOf(collection)
  const { slot } = collection
  return ({ constants, slots, reader }) => {
    const known = constants[place] as KnownElements | undefined
    if (known === undefined) return undefined
    const { oids, cls, inverse } = known
    const owner = (slots[slot] as ObjectView | undefined)?.oid
    if (oids.length > 1) reader.prefetch(oids)
    return oids.filter((oid) => {
      const view = reader.object(oid)
      const { format } = view
      // A given OID may be that of an object of any class: others have other values in the place of the attribute.
      if (format?.cls.isOrInherits(cls.number) !== true) return false
      return view.value(format.attribute(inverse).index) === owner
    })
  }
}
