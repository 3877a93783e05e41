/** The properties of the attributes and classes of a batch: from their definitions to the normal form, and compared with what exists. */
import { isDeepStrictEqual } from 'node:util'
import { AshlarError, type CommandPlace, type ErrorType } from '../errors.ts'
import { formatForMessage, ValueError } from '../types/logical-type.ts'
import type { TypeSpec } from '../types/type-spec.ts'
import type { AttributeDescription, ClassDescription } from './commands.ts'
import { attributeOf, definitionError } from './define-attribute.ts'
import { type ExpressionNames, withPlaces, withTexts } from './expression.ts'
import { defineClassProperties } from './properties/class-properties.ts'
import { defineProperties, type GivenProperties, type PropertiesOfAttribute } from './properties/index.ts'
import type { ClassDraft, DraftAttribute, SchemaBuilder } from './schema-builder.ts'

const nothing: GivenProperties = {}

/** Undefined where the description says nothing beside the type. Throws InvalidDefinition. */
export function definePropertiesOf(
  owner: ClassDraft,
  spec: TypeSpec,
  { attributeName, properties = nothing, elementProperties = nothing }: AttributeDescription,
  place: CommandPlace,
): PropertiesOfAttribute | undefined {
  const defined = placed(attributeOf(owner.name, attributeName), place, () =>
    defineProperties(spec, !owner.isReferenceable, properties, elementProperties),
  )
  return defined && { ...defined, own: withPlaces(defined.own, place) }
}

/** An attribute listed again agrees with what exists in each field that it gives. Throws AttributeExists. */
export function checkSameProperties(
  builder: SchemaBuilder,
  owner: ClassDraft,
  attribute: DraftAttribute,
  description: AttributeDescription,
  place: CommandPlace,
): void {
  const defined = definePropertiesOf(owner, attribute.spec as TypeSpec, description, place)
  const what = `Class ${owner.name}: attribute ${attribute.name} exists`
  const { properties = nothing, elementProperties = nothing } = description
  const names = namesOf(builder)
  const { spec } = attribute
  const [own, present] = [withTexts(defined?.own, names, spec), withTexts(attribute.properties?.own, names, spec)]
  checkAgreement('AttributeExists', what, properties, own, present, place)
  const inner = [...place, 'elementSpecification']
  checkAgreement('AttributeExists', what, elementProperties, defined?.element, attribute.properties?.element, inner)
}

/** A new class takes the properties of its description; an existing one must have those that it gives. Throws InvalidDefinition, ClassExists. */
export function setClassProperties(
  builder: SchemaBuilder,
  draft: ClassDraft,
  { properties }: ClassDescription,
  place: CommandPlace,
): void {
  if (properties === undefined) return
  const defined = placed(`Class ${draft.name}`, place, () =>
    defineClassProperties(properties, (name) => builder.findAttribute(draft, name)?.number),
  )
  if (draft.existing === undefined) {
    draft.properties = defined && withPlaces(defined, place)
    return
  }
  const names = namesOf(builder)
  const [wanted, present] = [withTexts(defined, names), withTexts(draft.properties, names)]
  checkAgreement('ClassExists', `Class ${draft.name} exists`, properties, wanted, present, place)
}

function namesOf(builder: SchemaBuilder): ExpressionNames {
  return {
    attribute: (number) => builder.declared(number)?.attribute.name,
    className: (number) => builder.get(number).name,
  }
}

function checkAgreement(
  type: ErrorType,
  what: string,
  given: GivenProperties,
  defined: GivenProperties | undefined,
  present: GivenProperties | undefined,
  place: CommandPlace,
): void {
  for (const field of Object.keys(given)) {
    const [one, other] = [present?.[field], defined?.[field]]
    if (given[field] === null || isDeepStrictEqual(one, other)) continue
    const words = one === undefined ? `without ${field}` : `with ${field} ${formatForMessage(one)}`
    const message = `${what} ${words}, not ${formatForMessage(other ?? given[field])}.`
    throw new AshlarError(type, message, [{ place: [...place, field], message: `exists ${words}` }])
  }
}

/** Gives a ValueError its place in the command. */
function placed<T>(what: string, place: CommandPlace, define: () => T): T {
  try {
    return define()
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw definitionError(error.type, what, error.message, [...place, ...error.path])
  }
}
