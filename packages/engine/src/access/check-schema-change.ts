/** Checks which schema changes a caller may make: to classes and indexes that it may define or index, and of which nothing is hidden from it. */
import type { AshlarError } from '../errors.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import type { CatalogState, ClassDefinition, IndexDefinition } from '../schema/class-definition.ts'
import { classesHolding } from '../schema/retype.ts'
import { isRootClass } from '../schema/root-class.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { ClassAccess } from './class-access.ts'
import { denied } from './denied.ts'
import { mayHideInClass } from './hidden-within.ts'

/**
 * `access`: to the full current catalog. `before` and `after`: states of the restricted or the full catalog. Classes that change as a
 * consequence, as through inverse attributes, count like the named ones, as do classes that hold objects of a changed class. Throws Forbidden.
 */
export function checkSchemaChange(access: ClassAccess, before: CatalogState, after: CatalogState): void {
  const changed = changedOf(before.classes, after.classes)
  if (changed.length > 0) {
    const { catalog } = access
    const newAccess = access.under(buildCatalog(lineagesOf(changed, after), catalog.version))
    for (const { number, name } of changed) {
      const [previous, next] = [catalog.classByNumber(number), newAccess.catalog.classByNumber(number)]
      const touched = previous === undefined ? [] : [previous, ...classesHolding(previous, catalog.classes)]
      for (const cls of touched) {
        if (!isFullyVisible(cls, access) || !access.allows(cls, 'define')) throw refusal('define', cls, access)
      }
      // Its objects become members of its new superclass, and of that class's unique indexes.
      const isMoved = next !== undefined && next.superClass?.number !== previous?.superClass?.number
      const above = isMoved && next.superClass !== null ? catalog.classByNumber(next.superClass.number) : undefined
      if (
        above !== undefined &&
        !isRootClass(above) &&
        !(isFullyVisible(above, access) && access.allows(above, 'define'))
      ) {
        throw refusal('define', above, access)
      }
      if (next !== undefined && !newAccess.allows(next, 'define'))
        throw denied(`The caller may not define class ${name}.`)
    }
  }
  for (const { indexedClass } of changedOf(before.indexes, after.indexes)) {
    const cls = access.catalog.classByNumber(indexedClass)
    // Indexes of a class that is created or dropped with them.
    if (cls === undefined) continue
    // Index changes that follow from a change of their class are part of that change.
    const isAllowed = access.allows(cls, 'index') || (changed.length > 0 && access.allows(cls, 'define'))
    if (!isAllowed || !isFullyVisible(cls, access)) throw refusal('change indexes of', cls, access)
  }
}

/** The classes with their superclasses only: grants depend on these, and a catalog may have thousands of classes. */
function lineagesOf(classes: readonly ClassDefinition[], state: CatalogState): CatalogState {
  const byNumber = new Map(state.classes.map((definition) => [definition.number, definition]))
  const found = new Map<ClassNumber, ClassDefinition>()
  for (const { number } of classes) {
    for (let at: ClassNumber | null = number; at !== null && !found.has(at); ) {
      const definition: ClassDefinition | undefined = byNumber.get(at)
      if (definition !== undefined) found.set(at, definition)
      at = definition?.superClass ?? null
    }
  }
  return { ...state, classes: [...found.values()], indexes: [] }
}

function changedOf<T extends ClassDefinition | IndexDefinition>(before: readonly T[], after: readonly T[]): T[] {
  const remaining = new Map(before.map((one) => [one.number as number, one]))
  const changed: T[] = []
  for (const one of after) {
    const previous = remaining.get(one.number)
    remaining.delete(one.number)
    if (previous !== one && JSON.stringify(previous) !== JSON.stringify(one)) changed.push(one)
  }
  return [...changed, ...remaining.values()]
}

/** All objects of the class and its subclasses are visible with all attributes, so that a change neither loses nor reveals hidden data. */
export function isFullyVisible(cls: SchemaClass, access: ClassAccess): boolean {
  return [cls, ...cls.subclasses].every((each) => {
    const areObjectsSeen = !each.isReferenceable || access.objects(each, 'read') === 'all'
    return areObjectsSeen && !mayHideInClass(each, access, ['reference', 'attribute'])
  })
}

function refusal(action: string, cls: SchemaClass, access: ClassAccess): AshlarError {
  // A class that is hidden from the caller is not named.
  const what = access.isGranted(cls) ? `class ${cls.name}` : 'classes that this would change as well'
  return denied(`The caller may not ${action} ${what}.`)
}
