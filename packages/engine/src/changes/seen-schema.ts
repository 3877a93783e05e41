/** What a caller with grants is told of a change of the schema: nothing where all that has changed is hidden from it (contract 9.4.14). */
import type { CatalogAccess } from '../access/catalog-access.ts'
import { restrictedSpec } from '../access/restricted-catalog.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import type { Attribute, ClassDefinition } from '../schema/class-definition.ts'
import type { TypeSpec } from '../types/type-spec.ts'
import type { CatalogChange } from './decode-change.ts'

/** With the names of now; none for what the caller does not know. What was deleted nobody can say to have been known. */
export function seenSchemaChange(change: CatalogChange, access: CatalogAccess): readonly CatalogChange[] {
  const { restricted, catalog } = access
  const { class: written, earlierClass, index } = change
  if (written !== undefined) {
    const name = restricted.classByNumber(written.number)?.name
    const cls = catalog.classByNumber(written.number)
    if (cls === undefined || written.isDeleted) return []
    if (name === undefined)
      return earlierClass === undefined ? [] : seenInSubclasses(written, earlierClass, cls, access)
    const isSame = earlierClass !== undefined && shownOf(written, cls, access) === shownOf(earlierClass, cls, access)
    return isSame ? [] : [{ class: { ...written, name } }]
  }
  const shown = restricted.state.indexes.find(({ number }) => number === index?.number)
  return shown === undefined ? [] : [{ index: shown }]
}

/** What a class inherits from one that is hidden shows as its own; subclasses of it inherit that. */
function seenInSubclasses(
  written: ClassDefinition,
  earlier: ClassDefinition,
  hidden: SchemaClass,
  access: CatalogAccess,
): readonly CatalogChange[] {
  if (JSON.stringify(written.attributes) === JSON.stringify(earlier.attributes)) return []
  const below = new Set(hidden.subclasses.map(({ number }) => number))
  return hidden.subclasses.flatMap((cls) => {
    const known = access.restricted.classByNumber(cls.number)
    if (known === undefined || (known.superClass !== null && below.has(known.superClass.number))) return []
    const isSame = shownAttributes(written, cls, access) === shownAttributes(earlier, cls, access)
    return isSame ? [] : [{ class: known.definition }]
  })
}

/** A text of what the caller may know of an earlier state of the class, by the grants of now: the same for states that look the same to it. */
function shownOf(definition: ClassDefinition, cls: SchemaClass, access: CatalogAccess): string {
  const shown = access.classes.attributesOf(cls)
  const inherited = access.catalog.shape(definition.shapeNumber)?.attributes ?? []
  const present = inherited.filter(({ number }) => shown.has(number))
  return JSON.stringify([
    definition.name,
    shownAttributes(definition, cls, access),
    present.map(({ number, spec }) => [number, shownSpec(spec, access)]),
  ])
}

/** The same of attributes that the class or a superclass of it declares. */
function shownAttributes({ attributes }: ClassDefinition, cls: SchemaClass, access: CatalogAccess): string {
  const { classes } = access
  const shown = classes.attributesOf(cls)
  const present = new Set(cls.attributes.map(({ number }) => number))
  const isShown = (attribute: Attribute): boolean =>
    present.has(attribute.number) ? shown.has(attribute.number) : classes.hasShown(cls, attribute)
  return JSON.stringify(
    attributes.filter(isShown).map(({ number, name, spec }) => [number, name, shownSpec(spec, access)]),
  )
}

function shownSpec(spec: TypeSpec, { classes }: CatalogAccess): TypeSpec {
  return restrictedSpec(spec, classes)
}
