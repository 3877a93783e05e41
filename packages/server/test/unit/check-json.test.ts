/** Checks of bodies against a validator that is generally used (Ajv), for the schemas of all operations. */
import { AjvCompiler } from '@fastify/ajv-compiler'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { operations } from '../../src/operations/table.ts'
import { compileCheck } from '../../src/wire/check-json.ts'
import type { Schema } from '../../src/wire/json-schema.ts'

const bodies = operations.flatMap(({ body }) => (body === undefined ? [] : [body]))

const customOptions = { coerceTypes: false, removeAdditional: false, useDefaults: false, unicode: false } as const
const compileByAjv = AjvCompiler()({}, { customOptions: { ...customOptions, logger: false } })

interface AjvError {
  readonly keyword: string
  readonly instancePath: string
  readonly params: { readonly missingProperty?: string; readonly additionalProperty?: string }
}

/** The first failure that Ajv reports, in the form of `compileCheck`. */
function failureByAjv(schema: Schema): (value: unknown) => unknown {
  const check = compileByAjv({ schema })
  return (value) => {
    if (check(value)) return undefined
    const [{ keyword, instancePath, params }] = check.errors as unknown as [AjvError]
    const field = params.missingProperty ?? params.additionalProperty
    return { keyword, pointer: instancePath, ...(field !== undefined && { field }) }
  }
}

function failureOf(schema: Schema): (value: unknown) => unknown {
  const check = compileCheck(schema)
  return (value) => {
    const failure = check(value)
    if (failure === undefined) return undefined
    const { keyword, field, place } = failure
    const pointer = place.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
    return { keyword, pointer, ...(field !== undefined && { field }) }
  }
}

/** Mostly what the schema admits, with something else here and there. */
function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 12, arbitrary: admittedBy(schema) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  )
}

function admittedBy(schema: Schema): fc.Arbitrary<unknown> {
  const { anyOf, items, properties, patternProperties } = schema as Readonly<Record<string, Schema & Schema[]>>
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...(schema.enum as unknown[]))
  if (anyOf !== undefined) return fc.oneof(...[...anyOf].map(valuesOf))
  if (items !== undefined) return fc.array(valuesOf(items), { maxLength: 3 })
  if (properties !== undefined) {
    const fields = Object.entries(properties).map(([name, field]) => [name, valuesOf(field as Schema)] as const)
    const requiredKeys = (schema.required ?? []) as string[]
    const known = fc.record(Object.fromEntries(fields), { requiredKeys })
    const strange = fc.dictionary(fc.constantFrom('other', 'a/b~c', ...Object.keys(properties)), fc.jsonValue(), {
      maxKeys: 2,
    })
    return fc.oneof(
      { weight: 6, arbitrary: known },
      { weight: 1, arbitrary: fc.tuple(known, strange).map(([one, other]) => ({ ...(one as object), ...other })) },
    )
  }
  if (patternProperties !== undefined) {
    const [values] = Object.values(patternProperties) as [Schema]
    return fc.dictionary(fc.oneof(fc.string(), fc.constant('a\nb')), valuesOf(values), { maxKeys: 3 })
  }
  const plain: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    string: fc.oneof(fc.string(), fc.constant('1000000')),
    integer: fc.oneof(fc.integer(), fc.double()),
    boolean: fc.boolean(),
    null: fc.constant(null),
    object: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }),
  }
  return plain[schema.type as string] ?? fc.jsonValue({ maxDepth: 2 })
}

it('what is wrong with a body, and where, is what Ajv says', () => {
  expect(bodies.length).toBeGreaterThan(10)
  for (const schema of bodies) {
    const [own, byAjv] = [failureOf(schema), failureByAjv(schema)]
    fc.assert(
      fc.property(valuesOf(schema), (value) => {
        expect(own(value)).toEqual(byAjv(value))
      }),
      { numRuns: 100 },
    )
  }
})

it('a keyword that would not be looked at is refused', () => {
  expect(() => compileCheck({ type: 'string', maxLength: 3 } as unknown as Schema)).toThrow(/maxLength/)
  expect(() => compileCheck({ type: 'text' } as unknown as Schema)).toThrow(/text/)
})

it.each([
  [{ type: 'string', minLength: 1 }, '', 'must not be empty'],
  [{ type: 'string' }, 1, 'must be a string'],
  [{ type: 'integer' }, 1.5, 'must be an integer'],
  [{ type: 'boolean' }, 'x', 'must be true or false'],
  [{ enum: ['a', 'b', 'c'] }, 'd', 'must be "a", "b" or "c"'],
  [{ anyOf: [{ const: 'ashlar' }, { const: 'objectivity' }] }, '', 'must be "ashlar" or "objectivity"'],
])('a value that does not fit %j is refused in plain words', (schema, value, message) => {
  expect(compileCheck(schema)(value)).toMatchObject({ message })
})
