/** Builds the look-ups of a catalog from its state. */
import { AshlarError, assert, truncateForMessage } from '../errors.ts'
import { firstClassNumber } from '../limits.ts'
import type { AttributeNumber, ClassNumber, ShapeNumber } from '../types/type-spec.ts'
import type { Catalog, ClassAttribute, SchemaClass } from './catalog.ts'
import type {
  Attribute,
  CatalogState,
  ClassDefinition,
  IndexDefinition,
  IndexNumber,
  Shape,
} from './class-definition.ts'
import { namespaceOf, simpleNameOf } from './names.ts'
import { pairedState } from './pairing.ts'
import { RootClass, rootClassNumber } from './root-class.ts'

export function emptyCatalogState(): CatalogState {
  return {
    counters: { classOrShape: firstClassNumber, attribute: 1, index: 1 },
    classes: [],
    shapes: [],
    indexes: [],
    sequences: [],
  }
}

const digits = /^\d{1,15}$/

/** `version`: the commit ID under which the state was committed. */
export function buildCatalog(state: CatalogState, version: Uint8Array): Catalog {
  const shapes = new Map<ShapeNumber, Shape>(state.shapes.map((shape) => [shape.number, shape]))
  const byNumber = linkClasses(state, shapes)
  const classes = [...byNumber.values()].sort((one, other) => one.number - other.number)
  const byName = new Map(classes.map((cls) => [cls.name, cls]))
  const attributes = lazily(() => attributesByNumber(classes))
  const named = state.indexes.filter(({ replaces }) => replaces === undefined)
  const indexesByName = lazily(() => new Map(named.map((index) => [index.name, index])))
  const sequencesByName = lazily(() => new Map(state.sequences.map((sequence) => [sequence.name, sequence])))
  const shapesByClass = lazily(() =>
    byClass(
      state.shapes,
      ({ classNumber }) => classNumber,
      (one, other) => one.number - other.number,
    ),
  )
  const indexesByNumber = lazily(() => {
    return new Map<IndexNumber, IndexDefinition>(state.indexes.map((index) => [index.number, index]))
  })
  const root = new RootClass(classes)
  const isPairing = state.classes.some(({ arriving }) => arriving !== undefined)
  return {
    writers: isPairing ? lazily(() => buildCatalog(pairedState(state), version)) : undefined,
    version,
    state,
    classes,
    root,
    indexes: named,
    classByNumber: (number) => (number === rootClassNumber ? root : byNumber.get(number)),
    classByName: (name) => byName.get(name),
    findClass: (text) => (digits.test(text) ? byNumber.get(Number(text) as ClassNumber) : byName.get(text)),
    shape: (number) => shapes.get(number),
    shapesOf: (classNumber) => shapesByClass().get(classNumber) ?? [],
    shapesSince: ({ classNumber, number }) => {
      return (shapesByClass().get(classNumber) ?? []).filter((shape) => shape.number >= number)
    },
    attribute: (number) => attributes().get(number),
    indexByName: (name) => indexesByName().get(name),
    indexByNumber: (number) => indexesByNumber().get(number),
    sequenceByName: (name) => sequencesByName().get(name),
  }
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function attributesByNumber(classes: readonly SchemaClass[]): ReadonlyMap<AttributeNumber, Attribute> {
  const attributes = new Map<AttributeNumber, Attribute>()
  for (const { definition } of classes) {
    for (const attribute of definition.attributes) attributes.set(attribute.number, attribute)
  }
  return attributes
}

function byClass<T>(
  parts: readonly T[],
  classOf: (part: T) => ClassNumber,
  compare?: (one: T, other: T) => number,
): ReadonlyMap<ClassNumber, readonly T[]> {
  const grouped = new Map<ClassNumber, T[]>()
  for (const part of parts) {
    const group = grouped.get(classOf(part))
    if (group === undefined) grouped.set(classOf(part), [part])
    else group.push(part)
  }
  if (compare !== undefined) for (const group of grouped.values()) group.sort(compare)
  return grouped
}

function linkClasses(state: CatalogState, shapes: ReadonlyMap<ShapeNumber, Shape>): Map<ClassNumber, SchemaClass> {
  const definitions = new Map<ClassNumber, ClassDefinition>()
  for (const definition of state.classes) if (!definition.isDeleted) definitions.set(definition.number, definition)
  const linked = new Map<ClassNumber, LinkedClass>()
  const usable = state.indexes.filter((index) => index.state !== 'failed')
  const indexes = new ClassIndexes(usable)
  const link = (definition: ClassDefinition): LinkedClass => {
    const existing = linked.get(definition.number)
    if (existing !== undefined) return existing
    const superDefinition = definition.superClass === null ? undefined : definitions.get(definition.superClass)
    const superClass = superDefinition === undefined ? null : link(superDefinition)
    const shape = shapes.get(definition.shapeNumber)
    assert(shape !== undefined, `class ${definition.name} has its shape ${definition.shapeNumber}`)
    const cls = new LinkedClass(definition, superClass, shape, indexes)
    linked.set(definition.number, cls)
    return cls
  }
  for (const definition of definitions.values()) link(definition)
  for (const cls of [...linked.values()].sort((one, other) => one.number - other.number)) cls.enterInSuperClasses()
  return linked
}

/** The indexes that cover a class, in the order of all indexes, found without visiting those of other classes. */
class ClassIndexes {
  private readonly order = new Map<IndexDefinition, number>()
  private readonly own: ReadonlyMap<ClassNumber, readonly IndexDefinition[]>

  constructor(indexes: readonly IndexDefinition[]) {
    for (const [position, index] of indexes.entries()) this.order.set(index, position)
    this.own = byClass(indexes, ({ indexedClass }) => indexedClass)
  }

  of(number: ClassNumber, inherited: readonly IndexDefinition[]): readonly IndexDefinition[] {
    const own = this.own.get(number)
    if (own === undefined) return inherited
    if (inherited.length === 0) return own
    const position = (index: IndexDefinition): number => this.order.get(index) ?? 0
    return [...inherited, ...own].sort((one, other) => position(one) - position(other))
  }
}

/** Created for each class on every change of the catalog, so expensive members are lazy. */
class LinkedClass implements SchemaClass {
  readonly definition: ClassDefinition
  readonly number: ClassNumber
  readonly name: string
  readonly isReferenceable: boolean
  readonly superClass: LinkedClass | null
  readonly subclasses: SchemaClass[] = []
  readonly shape: Shape
  readonly indexes: readonly IndexDefinition[]
  private declared: ReadonlyMap<string, ClassAttribute> | undefined
  private all: readonly ClassAttribute[] | undefined

  constructor(definition: ClassDefinition, superClass: LinkedClass | null, shape: Shape, indexes: ClassIndexes) {
    this.definition = definition
    this.number = definition.number
    this.name = definition.name
    this.isReferenceable = definition.isReferenceable
    this.superClass = superClass
    this.shape = shape
    this.indexes = indexes.of(definition.number, superClass?.indexes ?? [])
  }

  get namespace(): string | null {
    return namespaceOf(this.name)
  }

  /** By name. */
  private get own(): ReadonlyMap<string, ClassAttribute> {
    this.declared ??= new Map(
      this.definition.attributes.map((attribute): [string, ClassAttribute] => {
        const { name } = attribute
        return [name, { ...attribute, declaringClass: this, isHidden: false, outputName: name }]
      }),
    )
    return this.declared
  }

  /** There may be thousands of classes with a thousand inherited attributes each, so the list is lazy. */
  get attributes(): readonly ClassAttribute[] {
    this.all ??= this.collectAttributes()
    return this.all
  }

  isOrInherits(ancestor: ClassNumber): boolean {
    if (ancestor === rootClassNumber) return this.isReferenceable
    for (let cls: LinkedClass | null = this; cls !== null; cls = cls.superClass) {
      if (cls.number === ancestor) return true
    }
    return false
  }

  findAttribute(name: string): ClassAttribute | undefined {
    const separator = name.lastIndexOf('::')
    if (separator < 0) return this.findNearest(name)
    const qualified = this.findInLineage(name.slice(0, separator), name)
    const seen = qualified?.findNearest(name.slice(separator + 2))
    return seen && this.attributes.find(({ number }) => number === seen.number)
  }

  /** An attribute that is not hidden is the same object in all classes that inherit it. */
  private findNearest(name: string): ClassAttribute | undefined {
    for (let cls: LinkedClass | null = this; cls !== null; cls = cls.superClass) {
      const attribute = cls.own.get(name)
      if (attribute !== undefined) return attribute
    }
    return undefined
  }

  enterInSuperClasses(): void {
    for (let cls = this.superClass; cls !== null; cls = cls.superClass) cls.subclasses.push(this)
  }

  /** By full name, or by a simple name that is unique among them. */
  private findInLineage(name: string, asWritten: string): LinkedClass | undefined {
    const lineage: LinkedClass[] = []
    for (let cls: LinkedClass | null = this; cls !== null; cls = cls.superClass) {
      if (cls.name === name) return cls
      lineage.push(cls)
    }
    const simple = lineage.filter((cls) => simpleNameOf(cls.name) === name)
    if (simple.length <= 1) return simple[0]
    throw new AshlarError(
      'AmbiguousAttribute',
      `Class ${this.name}: in '${truncateForMessage(asWritten)}', ${name} may be ${simple.map((cls) => cls.name).join(' or ')}; use the full name.`,
    )
  }

  private collectAttributes(): readonly ClassAttribute[] {
    const inherited = this.superClass?.attributes ?? []
    if (this.own.size === 0) return inherited
    const marked = inherited.map((attribute): ClassAttribute => {
      if (attribute.isHidden || !this.own.has(attribute.name)) return attribute
      return { ...attribute, isHidden: true, outputName: `${attribute.declaringClass.name}::${attribute.name}` }
    })
    return [...marked, ...this.own.values()]
  }
}
