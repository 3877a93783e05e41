/** The catalog as a caller knows it: without what it has no grant for, as if that had been dropped. */
import { embeddedClassOf } from '../records/class-format.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog, ClassAttribute, ObjectPredicate, SchemaClass, StatementAction } from '../schema/catalog.ts'
import type { Attribute, ClassDefinition, IndexDefinition, KeyAttribute } from '../schema/class-definition.ts'
import type { ClassProperties } from '../schema/properties/class-properties.ts'
import type { Pieces } from '../types/logical-type.ts'
import type { AttributeNumber, ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import { checkSchemaChange, isWhole } from './check-schema-change.ts'
import { type ClassAccess, type ClassRule, referencesOf } from './class-access.ts'

/** Classes that are looked at between two turns for others. */
const classesAtOnce = 20

/**
 * Records keep the shapes that they have: an attribute that is missing here is one that a class lost. A class whose superclass is not known has
 * the superclass above that, and what it inherits from there as its own.
 */
export function* restrictedCatalog(access: ClassAccess): Pieces<Catalog> {
  const { catalog } = access
  const known = yield* knownClasses(access)
  const classes: ClassDefinition[] = []
  for (const [i, cls] of catalog.classes.entries()) {
    if (i % classesAtOnce === 0) yield
    if (known.has(cls.number)) classes.push(restrictedClass(cls, known, access))
  }
  const indexes = catalog.state.indexes.filter((index) => isIndexShown(index, known, access))
  const restricted = buildCatalog({ ...catalog.state, classes, indexes }, catalog.version)
  return {
    ...restricted,
    predicatesOf: (asked) => predicatesOf(asked, access),
    permits: (asked, action) => permits(asked, action, access),
    checkChange: (next) => checkSchemaChange(access, restricted.state, next),
  }
}

/** For the class or one of its subclasses; what is created is of the class itself. */
function permits({ number }: SchemaClass, action: StatementAction, access: ClassAccess): boolean {
  const cls = access.catalog.classByNumber(number)
  if (cls === undefined) return false
  const asked = action === 'create' ? [cls] : [cls, ...cls.subclasses]
  return asked.some((each) => access.allows(each, action))
}

/** The rules that all of the classes have in common, where no other shows objects of one of them. */
function predicatesOf(classes: readonly SchemaClass[], access: ClassAccess): readonly ObjectPredicate[] | undefined {
  let common: readonly ClassRule[] | undefined
  for (const { number } of classes) {
    const cls = access.catalog.classByNumber(number)
    const allowed = cls === undefined ? 'none' : access.objects(cls, 'read')
    if (allowed === 'none') continue
    if (allowed === 'all' || (common !== undefined && !areSame(common, allowed))) return undefined
    common = allowed
  }
  return common?.map(({ text, cls }) => ({ text, cls: cls.number }))
}

function areSame(some: readonly ClassRule[], others: readonly ClassRule[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ text, cls }, i) => text === others[i]?.text && cls === others[i]?.cls)
  )
}

/** Those with a grant, and those that attributes of them embed. */
function* knownClasses(access: ClassAccess): Pieces<ReadonlySet<ClassNumber>> {
  const { catalog } = access
  const known = new Set<ClassNumber>()
  const open: SchemaClass[] = []
  for (const [i, cls] of catalog.classes.entries()) {
    if (i % classesAtOnce === 0) yield
    if (access.isGranted(cls)) open.push(cls)
  }
  let steps = 0
  for (let cls = open.pop(); cls !== undefined; cls = open.pop()) {
    if (++steps % classesAtOnce === 0) yield
    if (known.has(cls.number)) continue
    known.add(cls.number)
    for (const { spec } of shownAttributes(cls, access)) {
      const embedded = embeddedClassOf(spec)
      const embeddedClass = embedded === undefined ? undefined : catalog.classByNumber(embedded)
      if (embeddedClass !== undefined) open.push(embeddedClass)
    }
  }
  return known
}

function shownAttributes(cls: SchemaClass, access: ClassAccess): readonly ClassAttribute[] {
  const shown = access.attributesOf(cls)
  return cls.attributes.filter(({ number }) => shown.has(number))
}

function restrictedClass(cls: SchemaClass, known: ReadonlySet<ClassNumber>, access: ClassAccess): ClassDefinition {
  let superClass = cls.superClass
  while (superClass !== null && !known.has(superClass.number)) superClass = superClass.superClass
  const inherited = superClass === null ? undefined : access.attributesOf(superClass)
  const names = new Set<string>()
  const own: Attribute[] = []
  // From the nearest: of two with one name, which no longer have classes of their own to tell them apart, that one stays.
  for (const attribute of shownAttributes(cls, access).toReversed()) {
    if (inherited?.has(attribute.number) === true || names.has(attribute.name)) continue
    names.add(attribute.name)
    own.push(restrictedAttribute(attribute, access))
  }
  const { arriving: _, properties, ...definition } = cls.definition
  const shown = properties === undefined ? {} : { properties: restrictedProperties(properties, cls, access) }
  return { ...definition, ...shown, superClass: superClass?.number ?? null, attributes: own.reverse() }
}

/** Without checks of what the caller does not know. */
function restrictedProperties(properties: ClassProperties, cls: SchemaClass, access: ClassAccess): ClassProperties {
  const { checks, ...others } = properties
  const shown = checks?.filter(({ expression }) => access.isOfShown(cls, expression)) ?? []
  return shown.length === 0 ? others : { ...properties, checks: shown }
}

function restrictedAttribute({ number, name, spec, properties }: ClassAttribute, access: ClassAccess): Attribute {
  const computed = properties?.own.computed
  const known = computed === undefined ? {} : { properties: { own: { computed }, element: {} } }
  return { number, name, spec: restrictedSpec(spec, access), ...known }
}

/** The same type, as far as its classes and attributes are known. */
export function restrictedSpec(spec: TypeSpec, access: ClassAccess): TypeSpec {
  if (referencesOf(spec).every((reference) => restrictedReference(reference, access) === reference)) return spec
  switch (spec.logicalType) {
    case 'reference':
      return restrictedReference(spec, access)
    case 'list':
    case 'set':
      return { ...spec, element: restrictedReference(spec.element as ReferenceSpec, access) }
    case 'map': {
      const { key, element } = spec
      const restrictedKey = key.logicalType === 'reference' ? restrictedReference(key, access) : key
      return { ...spec, key: restrictedKey, element: restrictedReference(element, access) }
    }
    default:
      return spec
  }
}

function restrictedReference(spec: ReferenceSpec, access: ClassAccess): ReferenceSpec {
  const { edgeClass, edgeAttribute, ...plain } = spec
  const referencedClass = access.referencedAs(spec.referencedClass) ?? spec.referencedClass
  const hasEdge = edgeClass !== undefined && edgeAttribute !== undefined
  const isEdgeKnown = !hasEdge || isKnownIn(edgeClass, edgeAttribute, access)
  if (referencedClass === spec.referencedClass && isEdgeKnown) return spec
  const edge = hasEdge && isEdgeKnown ? { edgeClass, edgeAttribute } : {}
  return { ...plain, ...edge, referencedClass }
}

function isKnownIn(classNumber: ClassNumber, attribute: AttributeNumber, access: ClassAccess): boolean {
  const cls = access.catalog.classByNumber(classNumber)
  return cls !== undefined && access.isGranted(cls) && access.attributesOf(cls).has(attribute)
}

/**
 * Not one that orders by what may be hidden in some objects: their entries would lie elsewhere. One that is being built, or could not be, serves no query, and tells of all
 * objects: it is there for those who may delete it.
 */
function isIndexShown(index: IndexDefinition, known: ReadonlySet<ClassNumber>, access: ClassAccess): boolean {
  const cls = access.catalog.classByNumber(index.indexedClass)
  if (cls === undefined || !known.has(cls.number) || index.replaces !== undefined) return false
  if (index.state !== 'ready' && !(access.allows(cls, 'index') && isWhole(cls, access))) return false
  return index.keyAttributes.every((key) => isKeyShown(key, cls, access))
}

function isKeyShown({ path }: KeyAttribute, indexed: SchemaClass, access: ClassAccess): boolean {
  let cls: SchemaClass | undefined = indexed
  for (const number of path) {
    const attribute: ClassAttribute | undefined = cls?.attributes.find((one) => one.number === number)
    if (cls === undefined || attribute === undefined || !access.attributesOf(cls).has(number)) return false
    const { spec } = attribute
    if (spec.logicalType === 'reference' && access.mayNameHidden(spec.referencedClass)) return false
    const embedded = embeddedClassOf(spec)
    cls = embedded === undefined ? undefined : access.catalog.classByNumber(embedded)
  }
  return true
}
