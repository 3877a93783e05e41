/** The catalog as a caller sees it: classes and attributes without a grant are missing, as if they had been dropped. */
import { embeddedClassOf } from '../records/class-format.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog, ClassAttribute, ObjectPredicate, SchemaClass, StatementAction } from '../schema/catalog.ts'
import type { Attribute, ClassDefinition, IndexDefinition, KeyAttribute } from '../schema/class-definition.ts'
import { isExpression } from '../schema/expression.ts'
import type { ClassProperties } from '../schema/properties/class-properties.ts'
import type { PropertiesOfAttribute } from '../schema/properties/index.ts'
import type { StepwiseWork } from '../types/logical-type.ts'
import type { AttributeNumber, ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import { checkSchemaChange, isFullyVisible } from './check-schema-change.ts'
import { type ClassAccess, type ClassRule, referencesOf } from './class-access.ts'

/** Classes that are processed between two yields. */
const classesPerYield = 20

/**
 * Records keep their shapes: a missing attribute is treated like a dropped one. A class whose superclass is hidden inherits from the nearest
 * visible one, and declares the attributes in between itself.
 */
export function* restrictedCatalog(access: ClassAccess): StepwiseWork<Catalog> {
  const { catalog } = access
  const exposed = yield* exposedClasses(access)
  const classes: ClassDefinition[] = []
  for (const [i, cls] of catalog.classes.entries()) {
    if (i % classesPerYield === 0) yield
    if (exposed.has(cls.number)) classes.push(restrictedClass(cls, exposed, access))
  }
  const indexes = catalog.state.indexes.filter((index) => isIndexExposed(index, exposed, access))
  const restricted = buildCatalog({ ...catalog.state, classes, indexes }, catalog.version)
  return {
    ...restricted,
    predicatesOf: (requested) => predicatesOf(requested, access),
    permits: (requested, action) => permits(requested, action, access),
    permitsOnDatabase: (action) => access.allowsOnDatabase(action),
    checkChange: (next) => checkSchemaChange(access, restricted.state, next),
  }
}

/** Whether the action is allowed on the class or a subclass; objects are only created of the class itself. */
function permits({ number }: SchemaClass, action: StatementAction, access: ClassAccess): boolean {
  const cls = access.catalog.classByNumber(number)
  if (cls === undefined) return false
  const requested = action === 'create' ? [cls] : [cls, ...cls.subclasses]
  return requested.some((each) => access.allows(each, action))
}

/** The rules that all of the classes share; undefined where the visibility of their objects differs. */
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

function areSame(left: readonly ClassRule[], right: readonly ClassRule[]): boolean {
  return (
    left.length === right.length && left.every(({ text, cls }, i) => text === right[i]?.text && cls === right[i]?.cls)
  )
}

/** Classes with a grant, and classes that their attributes embed. */
function* exposedClasses(access: ClassAccess): StepwiseWork<ReadonlySet<ClassNumber>> {
  const { catalog } = access
  const exposed = new Set<ClassNumber>()
  const open: SchemaClass[] = []
  for (const [i, cls] of catalog.classes.entries()) {
    if (i % classesPerYield === 0) yield
    if (access.isGranted(cls)) open.push(cls)
  }
  let steps = 0
  for (let cls = open.pop(); cls !== undefined; cls = open.pop()) {
    if (++steps % classesPerYield === 0) yield
    if (exposed.has(cls.number)) continue
    exposed.add(cls.number)
    for (const { spec } of exposedAttributes(cls, access)) {
      const embedded = embeddedClassOf(spec)
      const embeddedClass = embedded === undefined ? undefined : catalog.classByNumber(embedded)
      if (embeddedClass !== undefined) open.push(embeddedClass)
    }
  }
  return exposed
}

function exposedAttributes(cls: SchemaClass, access: ClassAccess): readonly ClassAttribute[] {
  const exposed = access.attributesOf(cls)
  return cls.attributes.filter(({ number }) => exposed.has(number))
}

function restrictedClass(cls: SchemaClass, exposed: ReadonlySet<ClassNumber>, access: ClassAccess): ClassDefinition {
  let superClass = cls.superClass
  while (superClass !== null && !exposed.has(superClass.number)) superClass = superClass.superClass
  const inherited = superClass === null ? undefined : access.attributesOf(superClass)
  const names = new Set<string>()
  const declared: Attribute[] = []
  // Starts at the nearest class: of attributes with the same name, which hidden classes no longer distinguish, its attribute is kept.
  for (const attribute of exposedAttributes(cls, access).toReversed()) {
    if (inherited?.has(attribute.number) === true || names.has(attribute.name)) continue
    names.add(attribute.name)
    declared.push(restrictedAttribute(attribute, access))
  }
  const { arriving: _, pendingChecks: __, validation, properties, ...definition } = cls.definition
  const visible = properties === undefined ? {} : { properties: restrictedProperties(properties, cls, access) }
  // The failure of a change names objects, and what is hidden may be the reason for it.
  const includesValidation = validation !== undefined && access.allows(cls, 'define') && isFullyVisible(cls, access)
  return {
    ...definition,
    ...visible,
    ...(includesValidation ? { validation } : {}),
    superClass: superClass?.number ?? null,
    attributes: declared.reverse(),
  }
}

/** Without checks of what the caller does not know. */
function restrictedProperties(properties: ClassProperties, cls: SchemaClass, access: ClassAccess): ClassProperties {
  const { checks, ...others } = properties
  const visible = checks?.filter(({ expression }) => access.namesOnlyVisible(cls, expression)) ?? []
  return visible.length === 0 ? others : { ...properties, checks: visible }
}

function restrictedAttribute(attribute: ClassAttribute, access: ClassAccess): Attribute {
  const { number, name, spec, properties, declaringClass } = attribute
  const visible = properties === undefined ? {} : { properties: withoutHidden(properties, declaringClass, access) }
  return { number, name, spec: restrictedSpec(spec, access), ...visible }
}

/** Without expressions that name attributes that are hidden. */
function withoutHidden(
  properties: PropertiesOfAttribute,
  cls: SchemaClass,
  access: ClassAccess,
): PropertiesOfAttribute {
  const own = Object.entries(properties.own).filter(
    ([, value]) => !isExpression(value) || access.namesOnlyVisible(cls, value),
  )
  return { ...properties, own: Object.fromEntries(own) }
}

/** The type, without classes and attributes that are hidden. */
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
  const isEdgeExposed = !hasEdge || isAttributeExposed(edgeClass, edgeAttribute, access)
  if (referencedClass === spec.referencedClass && isEdgeExposed) return spec
  const edge = hasEdge && isEdgeExposed ? { edgeClass, edgeAttribute } : {}
  return { ...plain, ...edge, referencedClass }
}

function isAttributeExposed(classNumber: ClassNumber, attribute: AttributeNumber, access: ClassAccess): boolean {
  const cls = access.catalog.classByNumber(classNumber)
  return cls !== undefined && access.isGranted(cls) && access.attributesOf(cls).has(attribute)
}

/**
 * Excludes indexes on data that is hidden in some objects, as their order would reveal it. An unfinished or failed index serves no queries, and
 * reveals data of all objects: it is visible only to callers that may delete it.
 */
function isIndexExposed(index: IndexDefinition, exposed: ReadonlySet<ClassNumber>, access: ClassAccess): boolean {
  const cls = access.catalog.classByNumber(index.indexedClass)
  if (cls === undefined || !exposed.has(cls.number) || index.replaces !== undefined) return false
  if (index.state !== 'ready' && !(access.allows(cls, 'index') && isFullyVisible(cls, access))) return false
  return index.keyAttributes.every((key) => isKeyExposed(key, cls, access))
}

function isKeyExposed({ path }: KeyAttribute, indexed: SchemaClass, access: ClassAccess): boolean {
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
