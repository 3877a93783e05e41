/** Converts the type of an attribute in a batch from its definition to the normal form and compares it with an existing one. */
import { isDeepStrictEqual } from 'node:util'
import { AshlarError, type CommandPlace, type ErrorType, truncateForMessage } from '../errors.ts'
import { defineType, describeType } from '../types/index.ts'
import { type DefineContext, type DescribeContext, ValueError } from '../types/logical-type.ts'
import type { NameField, TypeDefinition } from '../types/type-definition.ts'
import type { TypeSpec } from '../types/type-spec.ts'
import { classIsEmbedded } from './check-embedding.ts'
import { commandError } from './command-error.ts'
import type { AttributeDescription } from './commands.ts'
import { didYouMean } from './names.ts'
import { allAttributes, type ClassDraft, isConverted, type SchemaBuilder } from './schema-builder.ts'

/** `place`: of the description. Throws the errors of `defineType` as AshlarErrors; UnknownClass, UnknownAttribute, ClassIsEmbedded. */
export function defineAttribute(
  builder: SchemaBuilder,
  owner: ClassDraft,
  { attributeName, type }: AttributeDescription,
  place: CommandPlace,
): TypeSpec {
  const embedded = embeddedName(type)
  const embeddedClass = embedded === undefined ? undefined : builder.find(embedded)
  if (embeddedClass !== undefined && isConverted(embeddedClass)) {
    throw classIsEmbedded(embeddedClass, owner, attributeName)
  }
  const what = attributeOf(owner.name, attributeName)
  try {
    return defineType(type, defineContext(builder, what, type, place))
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw definitionError(error.type, what, error.message, [...place, ...error.path])
  }
}

/** The subject of messages about definitions. */
export function attributeOf(className: string, attributeName: string): string {
  return `Class ${className}, attribute ${attributeName}`
}

/** `what`: class and attribute. `words`: the fault of the definition at that place. */
export function definitionError(type: ErrorType, what: string, words: string, place: CommandPlace): AshlarError {
  return new AshlarError(type, `${what}: ${words}.`, [{ place, message: words }])
}

/** Checks that an attribute listed again has the same definition. Throws AttributeExists, naming both. */
export function checkSameDefinition(
  builder: SchemaBuilder,
  owner: ClassDraft,
  attributeName: string,
  place: CommandPlace,
  requested: TypeSpec,
): void {
  const present = owner.attributes.get(attributeName)?.spec as TypeSpec
  if (isDeepStrictEqual(present, requested)) return
  const [one, other] = [formatTypeForMessage(builder, present), formatTypeForMessage(builder, requested)]
  throw new AshlarError(
    'AttributeExists',
    `Class ${owner.name}: attribute ${attributeName} exists as ${one}, not as ${other}.`,
    [{ place, message: `exists as ${one}` }],
  )
}

/** A type in messages, for example `integer signed b32`. */
export function formatTypeForMessage(builder: SchemaBuilder, spec: TypeSpec): string {
  const context: DescribeContext = {
    className: (number) => builder.get(number).name,
    attributeName: (number) => builder.declared(number)?.attribute.name ?? String(number),
    attributeNameIn: (_cls, number) => builder.declared(number)?.attribute.name ?? String(number),
  }
  return wordsOf(describeType(spec, context))
}

/** For example `list variable of (reference Fleet.Vehicle inverse owner)`. */
function wordsOf(definition: TypeDefinition): string {
  const words = Object.entries(definition).map(([field, value]) => {
    if (field === 'elementSpecification') return `of (${wordsOf(value as TypeDefinition)})`
    if (field === 'keySpecification') return `by (${wordsOf(value as TypeDefinition)})`
    if (field === 'inverseAttribute') return `inverse ${value}`
    if (field === 'edgeClass') return `over ${value}`
    if (field === 'edgeAttribute') return `by ${value}`
    return String(value)
  })
  return words.join(' ')
}

function defineContext(builder: SchemaBuilder, what: string, type: TypeDefinition, place: CommandPlace): DefineContext {
  return {
    resolveClass: (text) =>
      builder.resolve(text, what, [...place, ...stepsTo(type, ['referencedClass', 'class', 'edgeClass'], text)]),
    resolveAttribute(classNumber, name, field) {
      const cls = builder.get(classNumber)
      const attribute = builder.findAttribute(cls, name)
      if (attribute !== undefined) return attribute.number
      const names = allAttributes(cls).map((candidate) => candidate.name)
      const advice = field === 'inverseAttribute' ? ' An inverse that is new is described in the same request.' : ''
      throw commandError(
        'UnknownAttribute',
        `${what}: class ${cls.name} has no attribute '${truncateForMessage(name)}'.${didYouMean(name, names)}${advice}`,
        [...place, ...stepsTo(type, [field], name)],
      )
    },
  }
}

/** The path in the definition to the field that contains the text. */
function stepsTo(type: TypeDefinition, fields: readonly NameField[], text: string): string[] {
  const own = fields.find((field) => type[field] === text)
  if (own !== undefined) return [own]
  for (const nested of ['keySpecification', 'elementSpecification'] as const) {
    const inner = fields.find((field) => type[nested]?.[field] === text)
    if (inner !== undefined) return [nested, inner]
  }
  return []
}

/** The class to embed, singly or as elements; undefined if the definition embeds nothing. */
function embeddedName(type: TypeDefinition): string | undefined {
  const holder = [type, type.elementSpecification].find((one) => one?.logicalType?.toLowerCase() === 'object')
  return holder?.class ?? undefined
}
