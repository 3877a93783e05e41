/** Classes and namespaces as shown in replies (contract 5.2). */
import { AshlarError, truncateForMessage } from '../errors.ts'
import { describeType } from '../types/index.ts'
import type { DescribeContext } from '../types/logical-type.ts'
import type { TypeDefinition } from '../types/type-definition.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import type { Attribute, ClassDefinition } from './class-definition.ts'
import { namesIn } from './class-expressions.ts'
import { type ExpressionNames, withTexts } from './expression.ts'
import { didYouMean } from './names.ts'
import type { ClassProperties } from './properties/class-properties.ts'
import type { PropertiesInput } from './properties/index.ts'
import { isRootClass, rootClassName } from './root-class.ts'

export interface ClassRepresentation {
  readonly className: string
  readonly classNumber: string
  readonly shapeNumber: string
  readonly isReferenceable: boolean
  readonly isInternal: boolean
  readonly isDeleted: boolean
  readonly superClass: string | null
  /** Own attributes only, with explicit defaults of encoding and storage. */
  readonly attributes: readonly ({ readonly attributeName: string } & TypeDefinition & PropertiesInput)[]
}

export interface NamespaceRepresentation {
  readonly name: string | null
  readonly classes: readonly ClassRepresentation[]
}

/** By full name or class number. Throws ClassNotFound. */
export function readClass(catalog: Catalog, nameOrNumber: string): ClassRepresentation {
  const cls = catalog.findClass(nameOrNumber)
  if (cls !== undefined) return representClass(cls, catalog)
  const deleted = catalog.state.classes.find(({ number, isDeleted }) => isDeleted && String(number) === nameOrNumber)
  if (deleted !== undefined) return representDeleted(deleted, catalog)
  if (nameOrNumber === rootClassName) return representClass(catalog.root, catalog)
  const names = catalog.classes.map(({ name }) => name)
  const hint = didYouMean(nameOrNumber, names)
  throw new AshlarError('ClassNotFound', `There is no class '${truncateForMessage(nameOrNumber)}'.${hint}`)
}

/** The class at the time of its deletion, found only by number (contract 5.3.14). */
function representDeleted(definition: ClassDefinition, catalog: Catalog): ClassRepresentation {
  const superClass = catalog.state.classes.find(({ number }) => number === definition.superClass)
  return {
    ...representDefinition(definition, catalog),
    isDeleted: true,
    superClass: superClass?.name ?? null,
  }
}

const represented = new WeakMap<SchemaClass, ClassRepresentation>()

/** Cached: a class belongs to one catalog, and both are immutable. */
export function representClass(cls: SchemaClass, catalog: Catalog): ClassRepresentation {
  let representation = represented.get(cls)
  if (representation === undefined) {
    representation = { ...representDefinition(cls.definition, catalog), superClass: cls.superClass?.name ?? null }
    represented.set(cls, representation)
  }
  return representation
}

function representDefinition(definition: ClassDefinition, catalog: Catalog): ClassRepresentation {
  const context = describeContext(catalog)
  const names = namesIn(catalog)
  return {
    className: definition.name,
    classNumber: String(definition.number),
    shapeNumber: String(definition.shapeNumber),
    isReferenceable: definition.isReferenceable,
    isInternal: isRootClass(definition),
    isDeleted: false,
    superClass: null,
    attributes: definition.attributes.map((attribute) => ({
      attributeName: attribute.name,
      ...describeAttribute(attribute, context, names),
    })),
    ...describeClassProperties(definition.properties, catalog),
  }
}

/** The type definition and properties as shown in replies. */
export function describeAttribute(
  { spec, properties }: Pick<Attribute, 'spec' | 'properties'>,
  context: DescribeContext,
  names: ExpressionNames,
): TypeDefinition & PropertiesInput {
  const type = describeType(spec, context)
  if (properties === undefined) return type as TypeDefinition & PropertiesInput
  const element = { ...type.elementSpecification, ...properties.element }
  return {
    ...type,
    ...(Object.keys(properties.element).length === 0 ? {} : { elementSpecification: element }),
    ...withTexts(properties.own, names, spec),
    ...(properties.isValidated === false ? { isValidated: false } : {}),
  }
}

/** A deleted display attribute is omitted. */
function describeClassProperties(properties: ClassProperties | undefined, catalog: Catalog): PropertiesInput {
  const described = withTexts(properties, namesIn(catalog))
  if (properties?.displayAttribute === undefined) return described
  const { displayAttribute: _, ...others } = described
  const name = catalog.attribute(properties.displayAttribute)?.name
  return name === undefined ? others : { ...described, displayAttribute: name }
}

export function describeContext(catalog: Catalog): DescribeContext {
  return {
    className: (number) => catalog.classByNumber(number)?.name ?? String(number),
    attributeName: (number) => catalog.attribute(number)?.name ?? String(number),
    attributeNameIn(classNumber, number) {
      const own = catalog.classByNumber(classNumber)?.attributes.find((attribute) => attribute.number === number)
      return own?.outputName ?? String(number)
    },
  }
}

/** Null (the default namespace) first, then namespaces with at least one class, by name. */
export function listNamespaces(catalog: Catalog): (string | null)[] {
  const names = new Set<string>()
  for (const { namespace } of catalog.classes) if (namespace !== null) names.add(namespace)
  return [null, ...[...names].sort()]
}

/** The default namespace is addressed as `null` or `Default`, unless a namespace has that name. Throws NamespaceNotFound. */
export function readNamespace(catalog: Catalog, name: string): NamespaceRepresentation {
  const namespaces = listNamespaces(catalog)
  const isDefault = !namespaces.includes(name) && (name === 'null' || name === 'Default')
  const namespace = isDefault ? null : name
  if (!namespaces.includes(namespace)) {
    const hint = didYouMean(
      name,
      namespaces.filter((other) => other !== null),
    )
    throw new AshlarError('NamespaceNotFound', `There is no namespace '${name.slice(0, 60)}'.${hint}`)
  }
  const classes = catalog.classes.filter((cls) => cls.namespace === namespace)
  return { name: namespace, classes: classes.map((cls) => representClass(cls, catalog)) }
}
