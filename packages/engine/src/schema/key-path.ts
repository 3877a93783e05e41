/** Resolves key attributes by name: attributes of the indexed class, and those inside embedded objects (contract 6.1). */
import { AshlarError, type CommandPlace, truncateForMessage } from '../errors.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { Catalog, ClassAttribute, SchemaClass } from './catalog.ts'
import { commandError } from './command-error.ts'
import { didYouMean } from './names.ts'

export interface ResolvedPath {
  /** Never empty. */
  readonly path: readonly AttributeNumber[]
  readonly last: ClassAttribute
}

/** `name`, `embedded.name`, `Super::name`, and nested combinations of them. Throws UnknownAttribute, AmbiguousAttribute. */
export function resolveKeyPath(catalog: Catalog, cls: SchemaClass, name: string, place: CommandPlace): ResolvedPath {
  const path: AttributeNumber[] = []
  let owner = cls
  let rest = name
  for (;;) {
    const { attribute, after } = firstStep(owner, rest, place)
    path.push(attribute.number)
    if (after === undefined) return { path, last: attribute }
    const { spec } = attribute
    const embedded = spec.logicalType === 'object' ? catalog.classByNumber(spec.class) : undefined
    if (embedded === undefined) {
      throw commandError(
        'UnknownAttribute',
        `Class ${owner.name}: in '${truncateForMessage(name)}', ${attribute.name} is no embedded object.`,
        place,
      )
    }
    owner = embedded
    rest = after
  }
}

/** A name that a request can use: hidden attributes are qualified by the class that declares them. */
export function keyPathName(path: readonly AttributeNumber[], cls: SchemaClass | undefined, catalog: Catalog): string {
  let owner = cls
  const names = path.map((number) => {
    const attribute = owner?.attributes.find((candidate) => candidate.number === number)
    owner = attribute?.spec.logicalType === 'object' ? catalog.classByNumber(attribute.spec.class) : undefined
    return attribute?.outputName ?? String(number)
  })
  return names.join('.')
}

interface Step {
  readonly attribute: ClassAttribute
  readonly after: string | undefined
}

/** A dot leads into an embedded object, or is part of a class name before `::`; the longer reading is tried first. */
function firstStep(owner: SchemaClass, text: string, place: CommandPlace): Step {
  const qualifier = text.indexOf('::')
  const candidates = qualifier < 0 ? [text.indexOf('.')] : [text.indexOf('.', qualifier), text.indexOf('.')]
  for (const dot of candidates) {
    const step = dot < 0 ? text : text.slice(0, dot)
    const attribute = findAttribute(owner, step, place)
    if (attribute !== undefined) return { attribute, after: dot < 0 ? undefined : text.slice(dot + 1) }
  }
  const attributeName = qualifier < 0 ? (text.split('.', 1)[0] as string) : text
  const names = owner.attributes.map((attribute) => attribute.outputName)
  throw commandError(
    'UnknownAttribute',
    `Class ${owner.name} has no attribute '${truncateForMessage(attributeName)}'.${didYouMean(attributeName, names)}`,
    place,
  )
}

function findAttribute(owner: SchemaClass, name: string, place: CommandPlace): ClassAttribute | undefined {
  try {
    return owner.findAttribute(name)
  } catch (error) {
    if (error instanceof AshlarError) throw commandError(error.type, error.message, place)
    throw error
  }
}
