/** Which changes of the schema a caller may make: of classes and indexes that it may define resp. index, and of which nothing is kept from it. */
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
 * `access`: of the whole catalog as it is. `before` and `after`: of what the caller knows of it, or of all. Classes that are changed with others, as by inverse attributes, count like
 * those that the command names, and so do classes that hold objects of a changed one. Throws Forbidden.
 */
export function checkSchemaChange(access: ClassAccess, before: CatalogState, after: CatalogState): void {
  const changed = changedOf(before.classes, after.classes)
  if (changed.length > 0) {
    const { catalog } = access
    const then = access.under(buildCatalog(lineagesOf(changed, after), catalog.version))
    for (const { number, name } of changed) {
      const [was, is] = [catalog.classByNumber(number), then.catalog.classByNumber(number)]
      const touched = was === undefined ? [] : [was, ...classesHolding(was, catalog.classes)]
      for (const cls of touched) {
        if (!isWhole(cls, access) || !access.allows(cls, 'define')) throw refusal('define', cls, access)
      }
      // Its objects come to be among those of its superclass, in whose unique indexes they are.
      const isMoved = is !== undefined && is.superClass?.number !== was?.superClass?.number
      const above = isMoved && is.superClass !== null ? catalog.classByNumber(is.superClass.number) : undefined
      if (above !== undefined && !isRootClass(above) && !(isWhole(above, access) && access.allows(above, 'define'))) {
        throw refusal('define', above, access)
      }
      if (is !== undefined && !then.allows(is, 'define')) throw denied(`The caller may not define class ${name}.`)
    }
  }
  for (const { indexedClass } of changedOf(before.indexes, after.indexes)) {
    const cls = access.catalog.classByNumber(indexedClass)
    // An index of a class that comes with it, or goes.
    if (cls === undefined) continue
    // What becomes of the indexes of a class that is changed is part of that.
    const isAllowed = access.allows(cls, 'index') || (changed.length > 0 && access.allows(cls, 'define'))
    if (!isAllowed || !isWhole(cls, access)) throw refusal('change indexes of', cls, access)
  }
}

/** The classes with their superclasses alone: what grants are about is decided by these, and a catalog may have thousands of classes. */
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
  const were = new Map(before.map((one) => [one.number as number, one]))
  const changed: T[] = []
  for (const one of after) {
    const was = were.get(one.number)
    were.delete(one.number)
    if (was !== one && JSON.stringify(was) !== JSON.stringify(one)) changed.push(one)
  }
  return [...changed, ...were.values()]
}

/** All objects of the class and of its subclasses, with all that their attributes hold: nothing can be lost, or told of, that the caller does not see. */
export function isWhole(cls: SchemaClass, access: ClassAccess): boolean {
  return [cls, ...cls.subclasses].every((each) => {
    const areObjectsSeen = !each.isReferenceable || access.objects(each, 'read') === 'all'
    return areObjectsSeen && !mayHideInClass(each, access, ['reference', 'attribute'])
  })
}

function refusal(action: string, cls: SchemaClass, access: ClassAccess): AshlarError {
  // A class that the caller does not know is not named.
  const what = access.isGranted(cls) ? `class ${cls.name}` : 'classes that this would change as well'
  return denied(`The caller may not ${action} ${what}.`)
}
