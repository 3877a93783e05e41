/** The effects of deleting an object of a class, by incoming and outgoing reference attributes (contract 10.4). */
import type { ClassFormat } from '../records/class-format.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Attribute } from '../schema/class-definition.ts'
import type { OnSourceDelete, OnTargetDelete } from '../schema/properties/deletions.ts'
import { referenceInAttribute, referenceProperties } from '../schema/referrer-indexes.ts'
import type { AttributeNumber, ReferenceSpec } from '../types/type-spec.ts'

/** The rule of one reference attribute. */
export interface DeletionRule {
  readonly attribute: Attribute
  /** The class that declares the attribute. */
  readonly cls: SchemaClass
  readonly reference: ReferenceSpec
  readonly onTargetDelete: OnTargetDelete | undefined
  readonly onSourceDelete: OnSourceDelete | undefined
}

export interface ClassDeletionRules {
  /** Attributes that refer to the class and whose sources are affected by a deletion. */
  readonly incoming: readonly DeletionRule[]
  /** Attributes of the class whose targets may be deleted too. */
  readonly outgoing: readonly DeletionRule[]
}

const rulesOfCatalogs = new WeakMap<Catalog, readonly DeletionRule[]>()
const rulesOfClasses = new WeakMap<ClassFormat, ClassDeletionRules | null>()

/** Undefined if deletions have no further effects. */
export function deletionRulesOf(format: ClassFormat, catalog: Catalog): ClassDeletionRules | undefined {
  let rules = rulesOfClasses.get(format)
  if (rules === undefined) {
    rules = collectRules(format.cls, catalog)
    rulesOfClasses.set(format, rules)
  }
  return rules ?? undefined
}

function collectRules({ number }: SchemaClass, catalog: Catalog): ClassDeletionRules | null {
  const all = rulesOfCatalog(catalog)
  const cls = all.length === 0 ? undefined : catalog.classByNumber(number)
  if (cls === undefined) return null
  const incoming = all.filter((rule) => needsReferrers(rule) && cls.isOrInherits(rule.reference.referencedClass))
  const outgoing = all.filter((rule) => rule.onSourceDelete !== undefined && cls.isOrInherits(rule.cls.number))
  return incoming.length === 0 && outgoing.length === 0 ? null : { incoming, outgoing }
}

function needsReferrers({ onTargetDelete, onSourceDelete }: DeletionRule): boolean {
  return onTargetDelete !== undefined || onSourceDelete === 'deleteUnreferenced'
}

function rulesOfCatalog(catalog: Catalog): readonly DeletionRule[] {
  let rules = rulesOfCatalogs.get(catalog)
  if (rules === undefined) {
    rules = catalog.classes.flatMap((cls) => cls.definition.attributes.flatMap((one) => ruleOf(cls, one) ?? []))
    rulesOfCatalogs.set(catalog, rules)
  }
  return rules
}

function ruleOf(cls: SchemaClass, attribute: Attribute): DeletionRule | undefined {
  const { spec, properties } = attribute
  if (properties === undefined) return undefined
  const reference = referenceInAttribute(spec)
  if (reference === undefined) return undefined
  const { onTargetDelete, onSourceDelete } = referenceProperties(spec, properties)
  if (onTargetDelete === undefined && onSourceDelete === undefined) return undefined
  return {
    attribute,
    cls,
    reference,
    onTargetDelete: onTargetDelete as OnTargetDelete | undefined,
    onSourceDelete: onSourceDelete as OnSourceDelete | undefined,
  }
}

/** The partner attribute from which the referrers are read; null if the attribute has referrer entries. */
export function tellingInverse({ attribute, reference }: DeletionRule): AttributeNumber | null {
  return attribute.referrers === undefined ? reference.inverseAttribute : null
}
