/** Computed attributes whose values become others: by another expression, or by what their expression names (contract 10.6.25). */
import type { CommandPlace } from '../errors.ts'
import type { AttributeNumber, TypeSpec } from '../types/type-spec.ts'
import type { Catalog } from './catalog.ts'
import { attributesUsed } from './class-expressions.ts'
import { commandError } from './command-error.ts'
import { expressionNamesOf } from './define-checks.ts'
import { expressionText, isExpression, type SchemaExpression } from './expression.ts'
import { changesMeaning } from './rechecked-checks.ts'
import type { Retype, RetypeContext } from './retype-attribute.ts'
import type { ClassDraft, DraftAttribute, SchemaBuilder } from './schema-builder.ts'

/**
 * The computed attributes whose values change, after the properties of `draft` have been changed. Where they are stored, their classes get new shapes,
 * in which the values of earlier shapes are obsolete. Throws AttributeInUse for a key of an index that is no longer stored.
 */
export function recomputedAttributes(
  { catalog, batch: { builder } }: RetypeContext,
  draft: ClassDraft,
  retypes: readonly Retype[],
): Retype[] {
  const redefined = redefinedIn(catalog, builder, draft)
  const changed = new Set(retypes.filter(changesMeaning).map(({ becomes }) => becomes))
  for (const { attribute, work } of redefined) if (work.isRedefined) changed.add(attribute)
  const consequences = changed.size === 0 ? [] : namingAny(builder, changed)
  const own = new Set(redefined.map(({ attribute }) => attribute))
  const all = [...redefined, ...consequences.filter(({ attribute }) => !own.has(attribute))]
  for (const { attribute: number } of all) {
    const { owner, attribute } = builder.declared(number) as { owner: ClassDraft; attribute: DraftAttribute }
    if (computedOf(attribute)?.isStored !== true) continue
    attribute.isRecomputed = true
    owner.needsNewShape = true
  }
  return all
}

type Recompute = Retype & { readonly work: { readonly kind: 'recompute' } }

/** The attributes of the class with another expression, and those that become stored. */
function redefinedIn(catalog: Catalog, builder: SchemaBuilder, draft: ClassDraft): Recompute[] {
  const names = expressionNamesOf(builder)
  return [...draft.attributes.values()].flatMap((attribute) => {
    const [before, now] = [computedOf(catalog.attribute(attribute.number)), computedOf(attribute)]
    if (before === undefined || now === undefined || before === now) return []
    if (before.isStored === true && now.isStored !== true) refuseKey(catalog, draft, attribute, now)
    const isRedefined = expressionText(before, names) !== expressionText(now, names)
    const isSame = !isRedefined && (before.isStored === true || now.isStored !== true)
    return isSame ? [] : recompute(draft, attribute, isRedefined)
  })
}

/** The stored attributes whose present expressions depend on one of those. */
function namingAny(builder: SchemaBuilder, changed: ReadonlySet<AttributeNumber>): Recompute[] {
  const attributeOf = (number: AttributeNumber): DraftAttribute | undefined => builder.declared(number)?.attribute
  return [...builder.all()].flatMap((owner) => {
    return [...owner.attributes.values()].flatMap((attribute) => {
      const expression = computedOf(attribute)
      if (expression?.isStored !== true) return []
      const isNaming = [...attributesUsed(expression, attributeOf)].some((number) => changed.has(number))
      return isNaming ? recompute(owner, attribute, false) : []
    })
  })
}

function recompute(
  owner: ClassDraft,
  { number, name, spec, properties }: DraftAttribute,
  isRedefined: boolean,
): Recompute {
  const type = spec as TypeSpec
  const of = { attribute: number, becomes: number, owner: owner.number, name, from: type, to: type, properties }
  const work = { kind: 'recompute' as const, isRedefined }
  return { ...of, work, isChecked: false, becomesUnique: false, gainsReferrers: false }
}

function computedOf(attribute: Pick<DraftAttribute, 'properties'> | undefined): SchemaExpression | undefined {
  const computed = attribute?.properties?.own.computed
  return isExpression(computed) ? computed : undefined
}

/** Throws AttributeInUse. */
function refuseKey(catalog: Catalog, draft: ClassDraft, { number, name }: DraftAttribute, now: SchemaExpression): void {
  const index = catalog.indexes.find(({ attribute, keyAttributes }) => {
    return attribute !== number && keyAttributes.some(({ path }) => path.at(-1) === number)
  })
  if (index === undefined) return
  const place: CommandPlace = 'place' in now ? now.place : []
  const message = `Attribute ${name} of class ${draft.name} is a key attribute of index '${index.name}', and remains stored until that is deleted.`
  throw commandError('AttributeInUse', message, place)
}
