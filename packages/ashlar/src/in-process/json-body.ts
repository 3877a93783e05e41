/** What a server would read of a value that is sent to it as JSON, without the text where that is possible. */
import { stringifyBody } from '@ashlar/client/in-process'
import { JsonSource, noteText } from '@ashlar/engine'
import { jsonLimitsOf, parseJson } from '@ashlar/server/in-process'
import { limits } from './limits.ts'

/** The form of a body, which decides its limits; see `jsonLimitsOf`. */
export interface BodyForm {
  readonly bodyIsObject?: boolean
  readonly takesArray?: boolean
  readonly isQuery?: boolean
}

const { jsonDepthMax, objectValuesMax } = limits

/** The value needs its text: for its limits, or for values that only a text has. */
const needsText = Symbol('needsText')

/** Returns a copy, which later changes of the value do not affect. Throws MalformedRequest, BodyTooLarge, RangeError for an invalid Date. */
export async function jsonBody<T>(body: T, form: BodyForm): Promise<T> {
  const copied = plainBody(body)
  if (copied !== undefined) return copied
  const bytes = Buffer.from(stringifyBody(body))
  const parsed = (await parseJson(bytes, jsonLimitsOf(limits, form, bytes))) as T
  return noteText(parsed, JsonSource.of(bytes))
}

/** Undefined if the value needs its text. */
function plainBody<T>(body: T): T | undefined {
  const counter = { values: 0 }
  const copied = copyOf(body, '', 0, counter)
  return copied === needsText ? undefined : (copied as T)
}

function copyOf(value: unknown, name: string, depth: number, counter: { values: number }): unknown {
  counter.values++
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      // A JSON text has neither NaN nor -0.
      return Number.isFinite(value) ? value + 0 : null
    case 'bigint':
      return integerOf(value)
    case 'object':
      return value === null ? null : copyOfObject(value, name, depth, counter)
    default:
      return undefined
  }
}

/** Longer numbers are read as doubles. */
const exactDigitsMax = 40

function integerOf(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) || String(value).length > exactDigitsMax ? number : value
}

function copyOfObject(value: object, name: string, depth: number, counter: { values: number }): unknown {
  if (depth >= jsonDepthMax || counter.values > objectValuesMax) return needsText
  if (Array.isArray(value)) {
    const elements: unknown[] = []
    for (let i = 0; i < value.length; i++) {
      const element = copyOf(value[i], String(i), depth + 1, counter)
      if (element === needsText) return needsText
      elements.push(element ?? null)
    }
    return elements
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return copyOfFields(value, depth, counter)
  if (!(value instanceof Date)) return needsText
  if (Number.isNaN(value.getTime())) throw new RangeError(`The value of '${name}' is an invalid Date.`)
  return value.toJSON()
}

function copyOfFields(value: object, depth: number, counter: { values: number }): unknown {
  if ('toJSON' in value) return needsText
  const fields: Record<string, unknown> = {}
  for (const name of Object.keys(value)) {
    // An assignment would set the prototype.
    if (name === '__proto__') return needsText
    const copied = copyOf((value as Readonly<Record<string, unknown>>)[name], name, depth + 1, counter)
    if (copied === needsText) return needsText
    if (copied !== undefined) fields[name] = copied
  }
  return fields
}
