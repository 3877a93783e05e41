/** Classes whose objects are asked for together, such as a class with all that inherit from it, and what follows from them. */
import { linkStorageOf } from '../types/link-storage.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { Catalog, SchemaClass } from './catalog.ts'

export class ClassSet {
  readonly classes: readonly SchemaClass[]
  readonly numbers: ReadonlySet<ClassNumber>
  private links: boolean | undefined

  /** All of one catalog. */
  constructor(classes: readonly SchemaClass[]) {
    this.classes = classes
    this.numbers = new Set(classes.map(({ number }) => number))
  }

  /** Whether objects of one of them may have link entries. What is inherited within the set is looked at once. */
  get haveLinks(): boolean {
    this.links ??= this.classes.some(({ superClass, definition, attributes }) => {
      const isCovered = superClass !== null && this.numbers.has(superClass.number)
      return (isCovered ? definition.attributes : attributes).some(({ spec }) => linkStorageOf(spec) !== undefined)
    })
    return this.links
  }
}

/** By a class of a catalog: there may be thousands in one, and thousands of plans that have it. */
const setsOfClasses = new WeakMap<SchemaClass, ClassSet>()
const referenceableOfRoots = new WeakMap<SchemaClass, ClassSet>()

/** The class, and all that inherit from it: one set as long as the catalog stays. */
export function withSubclasses(cls: SchemaClass): ClassSet {
  let known = setsOfClasses.get(cls)
  if (known === undefined) {
    known = new ClassSet([cls, ...cls.subclasses])
    setsOfClasses.set(cls, known)
  }
  return known
}

/** All whose objects have an OID: one set as long as the catalog stays. */
export function referenceableClasses({ root }: Catalog): ClassSet {
  let known = referenceableOfRoots.get(root)
  if (known === undefined) {
    known = new ClassSet(root.subclasses)
    referenceableOfRoots.set(root, known)
  }
  return known
}
