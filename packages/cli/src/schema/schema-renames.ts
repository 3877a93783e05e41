/** Applies requested renames to a schema, so that the remaining changes can be derived from it. */
import type { AttributeDefinition, TypeDefinition } from '@ashlar/client'
import { usageError } from '../errors/command-error.ts'
import type { SchemaClass, SchemaIndex, SchemaState } from './schema-state.ts'

/** `Fleet.Car=Fleet.Vehicle` for a class, `Fleet.Vehicle.mileage=distance` for an attribute. */
export type Renames = readonly string[]

export interface RenamedSchema {
  readonly schema: SchemaState
  readonly classes: readonly { readonly from: string; readonly to: string }[]
  /** Attribute renames, by the new class name. */
  readonly attributes: readonly { readonly className: string; readonly from: string; readonly to: string }[]
  /** A sentence for each rename that is already done, for example by an interrupted command. */
  readonly done: readonly string[]
}

/** Renames classes before attributes, which may be given under either name of their class. Throws CommandError for unknown names. */
export function applyRenames(schema: SchemaState, renames: Renames): RenamedSchema {
  const classNames = new Set(schema.classes.map(({ className }) => className))
  const pairs = renames.map(pairOf)
  const classes = pairs.filter(({ from }) => classNames.has(from))
  const isDoneClass = ({ from, to }: Pair): boolean =>
    !classNames.has(from) && classNames.has(to) && !classNames.has(from.slice(0, Math.max(0, from.lastIndexOf('.'))))
  const doneClasses = pairs.filter(isDoneClass)
  const newNames = new Map([...classes, ...doneClasses].map(({ from, to }) => [from, to]))
  const named = (className: string): string => newNames.get(className) ?? className
  const moved = schema.classes.map((cls) => renamedClass(cls, named))
  const byName = new Map(moved.map((cls) => [cls.className, cls]))
  const done = doneClasses.map(({ from, to }) => `${from} is ${to} already.`)
  const attributes = pairs
    .filter((pair) => !classNames.has(pair.from) && !doneClasses.includes(pair))
    .flatMap(({ from, to }) => {
      const at = from.lastIndexOf('.')
      const className = named(from.slice(0, Math.max(0, at)))
      const attribute = from.slice(at + 1)
      const cls = byName.get(className)
      const has = (name: string): boolean =>
        cls?.attributes.some(({ attributeName }) => attributeName === name) === true
      if (has(attribute)) return [{ className, from: attribute, to }]
      if (!has(to)) throw usageError(`There is no class or attribute ${from} to rename.`)
      done.push(`${from} is ${className}.${to} already.`)
      return []
    })
  const attributeNamed = (className: string, name: string): string => {
    return attributes.find((one) => one.className === className && one.from === name)?.to ?? name
  }
  return {
    classes,
    attributes,
    done,
    schema: {
      classes: moved
        .map((cls) => withAttributeNames(cls, attributeNamed))
        .sort((one, other) => (one.className < other.className ? -1 : 1)),
      indexes: schema.indexes.map((index) => renamedIndex(index, named, byName, attributeNamed)),
      sequences: schema.sequences,
    },
  }
}

interface Pair {
  readonly from: string
  readonly to: string
}

function pairOf(rename: string): Pair {
  const [from = '', to = '', ...others] = rename.split('=')
  if (from === '' || to === '' || others.length > 0)
    throw usageError(`${rename} is not a rename, which is written old=new.`)
  return { from, to }
}

function renamedClass(cls: SchemaClass, named: (className: string) => string): SchemaClass {
  return {
    ...cls,
    className: named(cls.className),
    superClass: cls.superClass === null ? null : named(cls.superClass),
    attributes: cls.attributes.map((attribute) => ({ ...attribute, ...renamedType(attribute, named) })),
  }
}

function renamedType(type: TypeDefinition, named: (className: string) => string): Partial<TypeDefinition> {
  return {
    ...(type.referencedClass !== undefined && { referencedClass: named(type.referencedClass) }),
    ...(type.edgeClass !== undefined && { edgeClass: named(type.edgeClass) }),
    ...(type.class !== undefined && { class: named(type.class) }),
    ...(type.elementSpecification !== undefined && {
      elementSpecification: { ...type.elementSpecification, ...renamedType(type.elementSpecification, named) },
    }),
  }
}

type AttributeNamed = (className: string, name: string) => string

function withAttributeNames(cls: SchemaClass, attributeNamed: AttributeNamed): SchemaClass {
  const withInverse = (type: TypeDefinition): Partial<TypeDefinition> => {
    const { referencedClass = '', inverseAttribute, edgeClass = '', edgeAttribute, elementSpecification } = type
    return {
      ...(inverseAttribute !== undefined && { inverseAttribute: attributeNamed(referencedClass, inverseAttribute) }),
      ...(edgeAttribute !== undefined && { edgeAttribute: attributeNamed(edgeClass, edgeAttribute) }),
      ...(elementSpecification !== undefined && {
        elementSpecification: { ...elementSpecification, ...withInverse(elementSpecification) },
      }),
    }
  }
  return {
    ...cls,
    attributes: cls.attributes.map((attribute): AttributeDefinition => {
      return {
        ...attribute,
        ...withInverse(attribute),
        attributeName: attributeNamed(cls.className, attribute.attributeName),
      }
    }),
  }
}

/** Renames the first attribute of each key, which may be inherited. */
function renamedIndex(
  index: SchemaIndex,
  named: (className: string) => string,
  classes: ReadonlyMap<string, SchemaClass>,
  attributeNamed: AttributeNamed,
): SchemaIndex {
  const indexedClass = named(index.indexedClass)
  const keys = index.keys.map((key) => {
    const [, first = '', rest = ''] = /^([^.:]*)(.*)$/s.exec(key) ?? []
    for (let name: string | null = indexedClass; name !== null; ) {
      const cls = classes.get(name)
      if (cls?.attributes.some(({ attributeName }) => attributeName === first) === true)
        return attributeNamed(cls.className, first) + rest
      name = cls?.superClass ?? null
    }
    return key
  })
  return { ...index, indexedClass, keys }
}
