/** Adds pending pairings of references to the catalog and removes them; both change the shapes of the classes concerned. */
import type { AttributeNumber } from '../types/type-spec.ts'
import type { Catalog } from './catalog.ts'
import { ClassBatch } from './class-batch.ts'
import type { CatalogState } from './class-definition.ts'
import { classesWithNewShape, nextState } from './define-classes.ts'
import { isPairing, type Pairing } from './pairing.ts'

/** `catalog`: already contains the pending types of the references. */
export function withPairings(catalog: Catalog, pairings: readonly Pairing[]): CatalogState {
  const batch = new ClassBatch(catalog)
  const { builder } = batch
  for (const { owner, inverse, inverseOwner } of pairings) {
    const draft = builder.get(inverseOwner)
    draft.arriving = [...draft.arriving, { ...inverse, place: undefined }]
    for (const one of [draft, builder.get(owner)]) one.needsNewShape = true
    batch.nextAttribute = Math.max(batch.nextAttribute, inverse.number + 1)
  }
  return nextState(catalog.state, batch, classesWithNewShape(builder))
}

/** Writers no longer maintain links of these references. */
export function withoutPairings(catalog: Catalog, attributes: ReadonlySet<AttributeNumber>): CatalogState {
  const batch = new ClassBatch(catalog)
  const { builder } = batch
  const inverses = new Set<AttributeNumber | null>()
  for (const draft of builder.all()) {
    for (const attribute of draft.attributes.values()) {
      const { number, pendingType } = attribute
      if (!attributes.has(number) || !isPairing(pendingType)) continue
      inverses.add(pendingType.spec.inverseAttribute)
      builder.replaceAttribute(draft, attribute, { ...attribute, pendingType: undefined })
      draft.needsNewShape = true
    }
  }
  for (const draft of builder.all()) {
    const left = draft.arriving.filter(({ number }) => !inverses.has(number))
    if (left.length === draft.arriving.length) continue
    draft.arriving = left
    draft.needsNewShape = true
  }
  return nextState(catalog.state, batch, classesWithNewShape(builder))
}
