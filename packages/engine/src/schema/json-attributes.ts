/** Whether a schema has attributes of type json. */
import type { TypeSpec } from '../types/type-spec.ts'
import type { Catalog } from './catalog.ts'

const known = new WeakMap<Catalog, boolean>()

export function hasJsonAttribute(catalog: Catalog): boolean {
  let has = known.get(catalog)
  if (has === undefined) {
    has = catalog.classes.some(({ attributes }) => attributes.some(({ spec }) => isOfJson(spec)))
    known.set(catalog, has)
  }
  return has
}

function isOfJson(spec: TypeSpec): boolean {
  return spec.logicalType === 'json' || (spec.logicalType === 'list' && isOfJson(spec.element))
}
