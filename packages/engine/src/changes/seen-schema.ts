/** Restricts changes of the schema to the part visible to a caller with grants; empty if everything changed is hidden (contract 9.4.14). */
import type { CatalogAccess } from '../access/catalog-access.ts'
import { restrictedSpec } from '../access/restricted-catalog.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import type { Attribute, ClassDefinition } from '../schema/class-definition.ts'
import type { CatalogChange } from './decode-change.ts'

/** Uses current names. Deletions of classes and indexes are omitted, since it is unknown whether the caller knew them. */
export function seenSchemaChange(change: CatalogChange, access: CatalogAccess): readonly CatalogChange[] {
  const { restricted, catalog } = access
  const { class: written, earlierClass, index, sequence, removedSequence } = change
  if (sequence !== undefined || removedSequence !== undefined) {
    return restricted.permitsOnDatabase?.('define') === false ? [] : [change]
  }
  if (written !== undefined) {
    const name = restricted.classByNumber(written.number)?.name
    const cls = catalog.classByNumber(written.number)
    if (cls === undefined || written.isDeleted) return []
    if (name === undefined)
      return earlierClass === undefined ? [] : seenInSubclasses(written, earlierClass, cls, access)
    const isSame =
      earlierClass !== undefined && visibleText(written, cls, access) === visibleText(earlierClass, cls, access)
    return isSame ? [] : [{ class: { ...written, name } }]
  }
  const visible = restricted.state.indexes.find(({ number }) => number === index?.number)
  return visible === undefined ? [] : [{ index: visible }]
}

/** Attributes inherited from a hidden class appear as attributes of its topmost visible subclasses, from which the rest inherit them. */
function seenInSubclasses(
  written: ClassDefinition,
  earlier: ClassDefinition,
  hidden: SchemaClass,
  access: CatalogAccess,
): readonly CatalogChange[] {
  if (JSON.stringify(written.attributes) === JSON.stringify(earlier.attributes)) return []
  const below = new Set(hidden.subclasses.map(({ number }) => number))
  return hidden.subclasses.flatMap((cls) => {
    const visible = access.restricted.classByNumber(cls.number)
    if (visible === undefined || (visible.superClass !== null && below.has(visible.superClass.number))) return []
    const isSame = visibleAttributes(written, cls, access) === visibleAttributes(earlier, cls, access)
    return isSame ? [] : [{ class: visible.definition }]
  })
}

/** A text of the visible part of an earlier state of the class, by current grants: equal for states that it cannot distinguish. */
function visibleText(definition: ClassDefinition, cls: SchemaClass, access: CatalogAccess): string {
  const visible = access.classes.attributesOf(cls)
  const inherited = access.catalog.shape(definition.shapeNumber)?.attributes ?? []
  const present = inherited.filter(({ number }) => visible.has(number))
  return JSON.stringify([
    definition.name,
    visibleAttributes(definition, cls, access),
    present.map(({ number, spec }) => [number, restrictedSpec(spec, access.classes)]),
  ])
}

/** Like `visibleText` for attributes that the class or a superclass declares. */
function visibleAttributes({ attributes }: ClassDefinition, cls: SchemaClass, access: CatalogAccess): string {
  const { classes } = access
  const visible = classes.attributesOf(cls)
  const present = new Set(cls.attributes.map(({ number }) => number))
  const isVisible = (attribute: Attribute): boolean =>
    present.has(attribute.number) ? visible.has(attribute.number) : classes.isDroppedVisible(cls, attribute)
  return JSON.stringify(
    attributes.filter(isVisible).map(({ number, name, spec }) => [number, name, restrictedSpec(spec, classes)]),
  )
}
