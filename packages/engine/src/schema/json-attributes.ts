/** Whether a schema has attributes of type json. */
import type { TypeSpec } from '../types/type-spec.ts'
import type { Catalog } from './catalog.ts'

const cache = new WeakMap<Catalog, boolean>()

export function hasJsonAttribute(catalog: Catalog): boolean {
  let has = cache.get(catalog)
  if (has === undefined) {
    has = catalog.classes.some(({ attributes }) => attributes.some(({ spec }) => isJson(spec)))
    cache.set(catalog, has)
  }
  return has
}

function isJson(spec: TypeSpec): boolean {
  return spec.logicalType === 'json' || (spec.logicalType === 'list' && isJson(spec.element))
}
