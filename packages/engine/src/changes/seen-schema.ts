/** What a caller with grants is told of a change of the schema: nothing where all that has changed is hidden from it (contract 9.4.14). */
import type { CatalogAccess } from '../access/catalog-access.ts'
import { restrictedSpec } from '../access/restricted-catalog.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import type { ClassDefinition } from '../schema/class-definition.ts'
import type { CatalogChange } from './decode-change.ts'

/** With the names of now; undefined for what the caller does not know. What was deleted nobody can say to have been known. */
export function seenSchemaChange(
  { class: written, earlierClass, index }: CatalogChange,
  access: CatalogAccess,
): CatalogChange | undefined {
  const { restricted, catalog } = access
  if (written !== undefined) {
    const name = restricted.classByNumber(written.number)?.name
    const cls = catalog.classByNumber(written.number)
    if (name === undefined || cls === undefined || written.isDeleted) return undefined
    const isSame = earlierClass !== undefined && shownOf(written, cls, access) === shownOf(earlierClass, cls, access)
    return isSame ? undefined : { class: { ...written, name } }
  }
  const shown = restricted.state.indexes.find(({ number }) => number === index?.number)
  return shown === undefined ? undefined : { index: shown }
}

/** A text of what the caller may know of an earlier state of the class, by the grants of now: the same for states that look the same to it. */
function shownOf(definition: ClassDefinition, cls: SchemaClass, { classes }: CatalogAccess): string {
  const shown = classes.attributesOf(cls)
  const present = new Set(cls.attributes.map(({ number }) => number))
  const attributes = definition.attributes.filter((attribute) =>
    present.has(attribute.number) ? shown.has(attribute.number) : classes.hasShown(cls, attribute),
  )
  return JSON.stringify([
    definition.name,
    attributes.map(({ number, name, spec }) => [number, name, restrictedSpec(spec, classes)]),
  ])
}
