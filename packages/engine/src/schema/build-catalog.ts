/** Builds the look-ups of a catalog from its state. */
import { AshlarError, assert } from '../errors.ts'
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
import { shownText } from './request-body.ts'

export function emptyCatalogState(): CatalogState {
  return {
    counters: { classOrShape: firstClassNumber, attribute: 1, index: 1 },
    classes: [],
    shapes: [],
    indexes: [],
  }
}

const digits = /^\d{1,15}$/

/** `version`: the stamp under which the state was committed. */
export function buildCatalog(state: CatalogState, version: Uint8Array): Catalog {
  const shapes = new Map<ShapeNumber, Shape>(state.shapes.map((shape) => [shape.number, shape]))
  const byNumber = linkClasses(state, shapes)
  const classes = [...byNumber.values()].sort((one, other) => one.number - other.number)
  const byName = new Map(classes.map((cls) => [cls.name, cls]))
  const attributes = new Map<AttributeNumber, Attribute>()
  for (const { definition } of classes) {
    for (const attribute of definition.attributes) attributes.set(attribute.number, attribute)
  }
  const named = state.indexes.filter(({ replaces }) => replaces === undefined)
  const indexesByName = new Map(named.map((index) => [index.name, index]))
  const indexesByNumber = new Map<IndexNumber, IndexDefinition>(state.indexes.map((index) => [index.number, index]))
  return {
    version,
    state,
    classes,
    indexes: named,
    classByNumber: (number) => byNumber.get(number),
    classByName: (name) => byName.get(name),
    findClass: (text) => (digits.test(text) ? byNumber.get(Number(text) as ClassNumber) : byName.get(text)),
    shape: (number) => shapes.get(number),
    shapesSince: ({ classNumber, number }) => {
      const later = state.shapes.filter((shape) => shape.classNumber === classNumber && shape.number >= number)
      return later.sort((one, other) => one.number - other.number)
    },
    attribute: (number) => attributes.get(number),
    indexByName: (name) => indexesByName.get(name),
    indexByNumber: (number) => indexesByNumber.get(number),
  }
}

function linkClasses(state: CatalogState, shapes: ReadonlyMap<ShapeNumber, Shape>): Map<ClassNumber, SchemaClass> {
  const definitions = new Map<ClassNumber, ClassDefinition>()
  for (const definition of state.classes) if (!definition.isDeleted) definitions.set(definition.number, definition)
  const linked = new Map<ClassNumber, LinkedClass>()
  const kept = state.indexes.filter((index) => index.state !== 'failed')
  const link = (definition: ClassDefinition): LinkedClass => {
    const known = linked.get(definition.number)
    if (known !== undefined) return known
    const superDefinition = definition.superClass === null ? undefined : definitions.get(definition.superClass)
    const superClass = superDefinition === undefined ? null : link(superDefinition)
    const shape = shapes.get(definition.shapeNumber)
    assert(shape !== undefined, `class ${definition.name} has its shape ${definition.shapeNumber}`)
    const cls = new LinkedClass(definition, superClass, shape, kept)
    linked.set(definition.number, cls)
    return cls
  }
  for (const definition of definitions.values()) link(definition)
  for (const cls of [...linked.values()].sort((one, other) => one.number - other.number)) cls.enterInSuperClasses()
  return linked
}

class LinkedClass implements SchemaClass {
  readonly definition: ClassDefinition
  readonly number: ClassNumber
  readonly name: string
  readonly namespace: string | null
  readonly isReferenceable: boolean
  readonly superClass: LinkedClass | null
  readonly subclasses: SchemaClass[] = []
  readonly shape: Shape
  readonly attributes: readonly ClassAttribute[]
  readonly indexes: readonly IndexDefinition[]
  /** The class itself first, then its superclasses, nearest first. */
  private readonly lineage: readonly LinkedClass[]
  private readonly byName = new Map<string, ClassAttribute>()

  constructor(
    definition: ClassDefinition,
    superClass: LinkedClass | null,
    shape: Shape,
    indexes: readonly IndexDefinition[],
  ) {
    this.definition = definition
    this.number = definition.number
    this.name = definition.name
    this.namespace = namespaceOf(definition.name)
    this.isReferenceable = definition.isReferenceable
    this.superClass = superClass
    this.shape = shape
    this.lineage = [this, ...(superClass?.lineage ?? [])]
    this.attributes = this.collectAttributes()
    for (const attribute of this.attributes) if (!attribute.isHidden) this.byName.set(attribute.name, attribute)
    this.indexes = indexes.filter(({ indexedClass }) => this.isOrInherits(indexedClass))
  }

  isOrInherits(ancestor: ClassNumber): boolean {
    return this.lineage.some(({ number }) => number === ancestor)
  }

  findAttribute(name: string): ClassAttribute | undefined {
    const separator = name.lastIndexOf('::')
    if (separator < 0) return this.byName.get(name)
    const qualified = this.findInLineage(name.slice(0, separator), name)
    const seen = qualified?.byName.get(name.slice(separator + 2))
    return seen && this.attributes.find(({ number }) => number === seen.number)
  }

  enterInSuperClasses(): void {
    for (const ancestor of this.lineage.slice(1)) ancestor.subclasses.push(this)
  }

  /** By full name, or by a simple name that only one of them has. */
  private findInLineage(name: string, asWritten: string): LinkedClass | undefined {
    const exact = this.lineage.find((cls) => cls.name === name)
    if (exact !== undefined) return exact
    const simple = this.lineage.filter((cls) => simpleNameOf(cls.name) === name)
    if (simple.length <= 1) return simple[0]
    throw new AshlarError(
      'AmbiguousAttribute',
      `Class ${this.name}: in '${shownText(asWritten)}', ${name} may be ${simple.map((cls) => cls.name).join(' or ')}; use the full name.`,
    )
  }

  private collectAttributes(): ClassAttribute[] {
    const inherited = this.superClass?.attributes ?? []
    const ownNames = new Set(this.definition.attributes.map(({ name }) => name))
    const shown = inherited.map((attribute): ClassAttribute => {
      if (attribute.isHidden || !ownNames.has(attribute.name)) return attribute
      return { ...attribute, isHidden: true, outputName: `${attribute.declaringClass.name}::${attribute.name}` }
    })
    const own = this.definition.attributes.map((attribute): ClassAttribute => {
      return { ...attribute, declaringClass: this, isHidden: false, outputName: attribute.name }
    })
    return [...shown, ...own]
  }
}
