/** A set of classes queried together, such as a class with its subclasses, and its derived properties. */
import { linkStorageOf } from '../types/link-storage.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { Catalog, SchemaClass } from './catalog.ts'

export class ClassSet {
  readonly classes: readonly SchemaClass[]
  readonly numbers: ReadonlySet<ClassNumber>
  private links: boolean | undefined

  /** `classes`: all of the same catalog. */
  constructor(classes: readonly SchemaClass[]) {
    this.classes = classes
    this.numbers = new Set(classes.map(({ number }) => number))
  }

  /** Whether objects of one of them may have link entries. Inherited attributes are checked once within the set. */
  get haveLinks(): boolean {
    this.links ??= this.classes.some(({ superClass, definition, attributes }) => {
      const isCovered = superClass !== null && this.numbers.has(superClass.number)
      return (isCovered ? definition.attributes : attributes).some(({ spec }) => linkStorageOf(spec) !== undefined)
    })
    return this.links
  }
}

/** Cached per class of a catalog: thousands of plans may use the same set of thousands of classes. */
const setsOfClasses = new WeakMap<SchemaClass, ClassSet>()
const referenceableOfRoots = new WeakMap<SchemaClass, ClassSet>()

/** The class and all its subclasses: one set per catalog. */
export function withSubclasses(cls: SchemaClass): ClassSet {
  let cached = setsOfClasses.get(cls)
  if (cached === undefined) {
    cached = new ClassSet([cls, ...cls.subclasses])
    setsOfClasses.set(cls, cached)
  }
  return cached
}

/** All classes whose objects have an OID: one set per catalog. */
export function referenceableClasses({ root }: Catalog): ClassSet {
  let cached = referenceableOfRoots.get(root)
  if (cached === undefined) {
    cached = new ClassSet(root.subclasses)
    referenceableOfRoots.set(root, cached)
  }
  return cached
}
