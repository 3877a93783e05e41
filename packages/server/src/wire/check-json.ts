/**
 * Checks JSON values against the schemas of the wire by combining small functions: with a library that compiles schemas, a new server takes 80 ms
 * until its first body is checked.
 */
import type { Schema } from './json-schema.ts'

/** The first error of a value, in this order: its type, the keywords of the type, the content. */
export interface SchemaFailure {
  readonly keyword: string
  /** The violated rule; empty for an unknown field. */
  readonly message: string
  readonly field?: string
  readonly place: readonly (string | number)[]
}

export type SchemaCheck = (value: unknown) => SchemaFailure | undefined

type Keywords = Readonly<Record<string, unknown>>
type JsonObject = Readonly<Record<string, unknown>>

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
}

const nouns: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
  array: 'an array',
  object: 'an object',
}

/** Keywords that restrict values; the rest only describe them. */
const checkOf: Readonly<Record<string, (keywords: Keywords) => SchemaCheck>> = {
  minLength: ({ minLength }) => {
    const failure = failed(
      'minLength',
      minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`,
    )
    // Counts UTF-16 units: counting characters would walk through a long text.
    return (value) => (typeof value === 'string' && value.length < Number(minLength) ? failure : undefined)
  },
  pattern: ({ pattern }) => {
    const [expression, failure] = [
      new RegExp(String(pattern), 'u'),
      failed('pattern', `must match the pattern ${pattern}`),
    ]
    return (value) => (typeof value === 'string' && !expression.test(value) ? failure : undefined)
  },
  const: (keywords) => {
    const failure = failed('const', `must be ${JSON.stringify(keywords.const)}`)
    return (value) => (value === keywords.const ? undefined : failure)
  },
  enum: (keywords) => {
    const [words, failure] = [
      new Set(keywords.enum as unknown[]),
      failed('enum', `must be ${oneOf(keywords.enum as unknown[])}`),
    ]
    return (value) => (words.has(value) ? undefined : failure)
  },
  anyOf: ({ anyOf }) => {
    const alternatives = anyOf as Keywords[]
    const checks = alternatives.map(compileCheck)
    const words = alternatives.map((alternative) => alternative.const)
    const wordsFailure = words.includes(undefined) ? undefined : failed('const', `must be ${oneOf(words)}`)
    return (value) => {
      let first: SchemaFailure | undefined
      for (const check of checks) {
        const failure = check(value)
        if (failure === undefined) return undefined
        first ??= failure
      }
      return first?.keyword === 'const' ? (wordsFailure ?? first) : first
    }
  },
  items: ({ items }) => {
    const check = compileCheck(items as Keywords)
    return (value) => {
      if (!Array.isArray(value)) return undefined
      for (let at = 0; at < value.length; at++) {
        const failure = check(value[at])
        if (failure !== undefined) return within(at, failure)
      }
      return undefined
    }
  },
  required: ({ required }) => {
    const names = required as readonly string[]
    return objectCheck((value) => {
      for (const field of names)
        if (value[field] === undefined) return { ...failed('required', 'needs a field'), field }
      return undefined
    })
  },
  additionalProperties: ({ additionalProperties, properties = {} }) => {
    if (additionalProperties !== false) throw new Error('further fields are refused, or may be anything')
    const allowed = new Set(Object.keys(properties as object))
    return objectCheck((value) => {
      for (const field in value) if (!allowed.has(field)) return { ...failed('additionalProperties', ''), field }
      return undefined
    })
  },
  properties: ({ properties }) => {
    const names = Object.keys(properties as object)
    const checks = names.map((name) =>
      compileCheck((properties as Readonly<Record<string, Keywords>>)[name] as Keywords),
    )
    return objectCheck((value) => {
      for (let at = 0; at < names.length; at++) {
        const name = names[at] as string
        const field = value[name]
        const failure = field === undefined ? undefined : (checks[at] as SchemaCheck)(field)
        if (failure !== undefined) return within(name, failure)
      }
      return undefined
    })
  },
  patternProperties: ({ patternProperties }) => {
    const checks = Object.entries(patternProperties as Readonly<Record<string, Keywords>>)
      .filter(([, schema]) => schema.type !== undefined || keywordsOf(schema).length > 0)
      .map(([pattern, schema]) => [new RegExp(pattern, 'u'), compileCheck(schema)] as const)
    return objectCheck((value) => {
      for (const [expression, check] of checks) {
        for (const name in value) {
          const failure = expression.test(name) ? check(value[name]) : undefined
          if (failure !== undefined) return within(name, failure)
        }
      }
      return undefined
    })
  },
}

const keywordsInOrder = Object.keys(checkOf)
const describing = new Set(['type', 'description', 'deprecated'])

/** Throws on an unknown keyword, which would be ignored otherwise. */
export function compileCheck(schema: Schema): SchemaCheck {
  const unknown = Object.keys(schema).find((keyword) => !describing.has(keyword) && !(keyword in checkOf))
  const { type } = schema
  const hasType = type === undefined ? undefined : types[type as string]
  if (unknown !== undefined || (type !== undefined && hasType === undefined)) {
    throw new Error(`a schema says what nobody checks: ${unknown ?? type}`)
  }
  const typeFailure = failed('type', `must be ${nouns[type as string]}`)
  const checks = keywordsOf(schema).map((keyword) => (checkOf[keyword] as (keywords: Keywords) => SchemaCheck)(schema))
  const [only] = checks
  if (only === undefined)
    return hasType === undefined ? () => undefined : (value) => (hasType(value) ? undefined : typeFailure)
  return (value) => {
    if (hasType !== undefined && !hasType(value)) return typeFailure
    for (let at = 0; at < checks.length; at++) {
      const failure = (checks[at] as SchemaCheck)(value)
      if (failure !== undefined) return failure
    }
    return undefined
  }
}

function keywordsOf(schema: Keywords): string[] {
  return keywordsInOrder.filter((keyword) => keyword in schema)
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectCheck(check: (value: JsonObject) => SchemaFailure | undefined): SchemaCheck {
  return (value) => (isObject(value) ? check(value) : undefined)
}

function oneOf(values: readonly unknown[]): string {
  const texts = values.map((value) => JSON.stringify(value))
  return texts.length === 1 ? texts.join() : `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`
}

function failed(keyword: string, message: string): SchemaFailure {
  return { keyword, message, place: [] }
}

function within(step: string | number, failure: SchemaFailure): SchemaFailure {
  return { ...failure, place: [step, ...failure.place] }
}
