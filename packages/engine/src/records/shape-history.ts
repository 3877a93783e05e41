/** How the shapes of a class have followed each other. */
import { isDeepStrictEqual } from 'node:util'
import type { Catalog } from '../schema/catalog.ts'
import type { Shape, ShapeAttribute } from '../schema/class-definition.ts'
import type { AttributeNumber } from '../types/type-spec.ts'

const placesOfShapes = new WeakMap<Shape, ReadonlyMap<AttributeNumber, number>>()

/** The index of each attribute in the shape. Cached, since every attribute of a class looks itself up in each shape of the class. */
export function placesIn(shape: Shape): ReadonlyMap<AttributeNumber, number> {
  let places = placesOfShapes.get(shape)
  if (places === undefined) {
    places = new Map(shape.attributes.map(({ number }, place) => [number, place]))
    placesOfShapes.set(shape, places)
  }
  return places
}

/**
 * The types of the attribute since that shape, the present one last. Shapes share their common parts
 * (`catalog/shared-attributes.ts`), so few are compared by content.
 */
export function typesSince(catalog: Catalog, shape: Shape, number: AttributeNumber): ShapeAttribute[] {
  const types: ShapeAttribute[] = []
  for (const later of catalog.shapesSince(shape)) {
    const place = placesIn(later).get(number)
    const attribute = place === undefined ? undefined : later.attributes[place]
    if (attribute !== undefined && !isDeepStrictEqual(attribute.spec, types.at(-1)?.spec)) types.push(attribute)
  }
  return types
}

/** The computed attributes whose values in records of that shape were given by another expression or have another type. */
export function obsoleteIn(catalog: Catalog, shape: Shape): ReadonlySet<AttributeNumber> {
  const [, ...later] = catalog.shapesSince(shape)
  const recomputed = later.flatMap(({ attributes }) => attributes.filter(({ isRecomputed }) => isRecomputed === true))
  return new Set(recomputed.map(({ number }) => number))
}
