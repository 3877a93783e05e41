/** Raw JSON texts of bodies with values of type json, which preserve the order of members and the digits of numbers; parsed values do not. */
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { inField } from '../types/definition-fields.ts'
import { JsonFragment } from '../types/json-text.ts'
import { compactJson, JsonValue } from '../types/json-value.ts'

type Attributes = Readonly<Record<string, unknown>>

/** A text or a part of it, located lazily, since most objects do not need it. */
export class JsonSource {
  private readonly find: () => JsonFragment | undefined
  private isFound = false
  private found: JsonFragment | undefined

  constructor(find: () => JsonFragment | undefined) {
    this.find = find
  }

  /** `bytes`: UTF-8 that was parsed successfully. */
  static of(bytes: Uint8Array): JsonSource {
    return new JsonSource(() => {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
      return new JsonFragment(text.startsWith(byteOrderMark) ? text.slice(1) : text)
    })
  }

  static fromText(text: string): JsonSource {
    return new JsonSource(() => new JsonFragment(text))
  }

  get text(): JsonFragment | undefined {
    if (!this.isFound) {
      this.found = this.find()
      this.isFound = true
    }
    return this.found
  }

  at(step: string | number): JsonSource {
    return new JsonSource(() => (typeof step === 'string' ? this.text?.field(step) : this.text?.element(step)))
  }

  /** The same text with strings that are values replaced. */
  replacing(replace: (text: string) => string): JsonSource {
    return new JsonSource(() => this.text?.replacing(replace))
  }
}

const byteOrderMark = '\ufeff'

/** Texts by parsed value: attributes of an object, parameters of a query, or an array of bodies. */
const texts = new WeakMap<object, JsonSource>()

/** Associates a body (an object, an array of objects, or a query) with its text. Returns the body. */
export function noteText<T>(body: T, text: JsonSource): T {
  if (typeof body !== 'object' || body === null) return body
  if (Array.isArray(body)) {
    texts.set(body, text)
    return body
  }
  for (const name of notedFields) {
    const value = (body as Readonly<Record<string, unknown>>)[name]
    if (typeof value === 'object' && value !== null) texts.set(value, text.at(name))
  }
  return body
}

const notedFields = ['attributes', 'parameters'] as const

export function noteTextOf(value: object, text: JsonSource): void {
  texts.set(value, text)
}

export function textOf(value: object): JsonSource | undefined {
  return texts.get(value)
}

/** Associates a copy with the text of its original, with strings replaced. */
export function carryText<T>(from: unknown, to: T, replace: (text: string) => string): T {
  const text = typeof from === 'object' && from !== null ? texts.get(from) : undefined
  if (text !== undefined) texts.set(to as object, text.replacing(replace))
  return to
}

/** Associates the attributes of one creation of an array with the corresponding part of the array's text. */
export function noteElementText(creations: readonly object[], position: number, attributes: Attributes): void {
  const text = texts.get(creations)
  if (text !== undefined) texts.set(attributes, text.at(position).at('attributes'))
}

/** The value of an attribute, in which values of type json are taken from the text if it is available. Throws ValueError. */
export function withJsonValues(
  format: ClassFormat,
  attribute: AttributeFormat,
  name: string,
  attributes: Attributes,
): unknown {
  const json = attributes[name]
  if (json === null || !format.holdsJsonIn(attribute)) return json
  const text = texts.get(attributes)?.text?.field(name)
  return text === undefined ? json : valueWithJson(format, attribute, json, text)
}

function valueWithJson(format: ClassFormat, attribute: AttributeFormat, json: unknown, text: JsonFragment): unknown {
  const { spec } = attribute.attribute
  if (spec.logicalType === 'json') return new JsonValue(compactJson(text))
  const embedded = format.embeddedIn(attribute)
  if (spec.logicalType !== 'list') return embedded === undefined ? json : partWithJson(embedded, json, text)
  const take = (one: unknown, i: number, part: JsonFragment | undefined): unknown => {
    if (one === null || part === undefined) return one
    if (embedded !== undefined) return inField(i, () => partWithJson(embedded, one, part))
    return inField(i, () => new JsonValue(compactJson(part)))
  }
  if (Array.isArray(json)) return json.map((one: unknown, i) => take(one, i, text.element(i)))
  const { elements } = json as { readonly elements?: unknown }
  if (!Array.isArray(elements)) return json
  const part = text.field('elements')
  return { ...(json as object), elements: elements.map((one: unknown, i) => take(one, i, part?.element(i))) }
}

function partWithJson(format: ClassFormat, json: unknown, text: JsonFragment): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json
  const fields: Record<string, unknown> = { ...json }
  for (const [name, value] of Object.entries(json)) {
    const attribute = format.attributeNamed(name)
    if (attribute === undefined || value === null || !format.holdsJsonIn(attribute)) continue
    const part = text.field(name)
    if (part !== undefined) fields[name] = inField(name, () => valueWithJson(format, attribute, value, part))
  }
  return fields
}
