/** Checks request bodies against the schemas of their operations, and formats errors. */
import { suggestNames } from '@ashlar/engine'
import {
  makeProblem,
  missingBody,
  nameCharactersMax,
  namesListedMax,
  type Problem,
  pointerTo,
  quoteNames,
} from '../errors/problem.ts'
import { BodyValidationError } from '../errors/request-errors.ts'
import { compileCheck, type SchemaCheck, type SchemaFailure } from '../wire/check-json.ts'
import type { Schema } from '../wire/json-schema.ts'

/** Compiled on first use, and shared by the servers of a process. */
const checks = new WeakMap<Schema, SchemaCheck>()

/** Does not convert, remove or complete values. Throws BodyValidationError. */
export function validateBody(schema: Schema, body: unknown): void {
  const failure = checkOf(schema)(body)
  if (failure !== undefined) throw new BodyValidationError(problemOf(failure, body, schema, ''))
}

/** Checks each element of an array. Throws BodyValidationError. */
export function validateEach(schema: Schema, elements: readonly unknown[]): void {
  const check = checkOf(schema)
  for (const [position, element] of elements.entries()) {
    const failure = check(element)
    if (failure === undefined) continue
    throw new BodyValidationError(problemOf(failure, element, schema, pointerTo([position])))
  }
}

function checkOf(schema: Schema): SchemaCheck {
  let check = checks.get(schema)
  if (check === undefined) {
    check = compileCheck(schema)
    checks.set(schema, check)
  }
  return check
}

/** Reports the place of an error, and unknown fields by name. `at`: a pointer to the checked value. */
function problemOf(
  { keyword, message: rule, field, place }: SchemaFailure,
  body: unknown,
  schema: Schema,
  at: string,
): Problem {
  if (body === undefined) return missingBody((schema as { readonly required?: readonly string[] }).required)
  if (keyword === 'additionalProperties') return fromUnknownFields(body, schema, at)
  const pointer = at + pointerTo(place)
  const where = pointer === '' ? 'The body' : pointer
  const message = field === undefined ? `${where} ${rule}.` : `${where} needs the field '${field}'.`
  return makeProblem('MalformedRequest', message, [{ pointer, message }])
}

function fromUnknownFields(body: unknown, schema: unknown, at: string): Problem {
  const schemaFields = Object.keys((schema as { readonly properties?: object } | undefined)?.properties ?? {})
  const names = Object.keys(body as object).filter((name) => !schemaFields.includes(name))
  const what = `the field${names.length === 1 ? '' : 's'} ${quoteNames(names)}`
  const ending = suggestNames(names[0] ?? '', schemaFields, 'field')
  // A common mistake: attributes of an object as fields of the body.
  const advice =
    schemaFields.includes('attributes') && !ending.endsWith('?') ? ' Put attributes inside "attributes".' : ''
  const message = `${at === '' ? 'The body' : at} may not have ${what}${ending}${advice}`
  const details = names.slice(0, namesListedMax).map((name) => {
    // A long name is omitted: a truncated one would not be a valid place.
    const pointer = at + pointerTo(name.length > nameCharactersMax ? [] : [name])
    return { pointer, message: 'is not a field of the operation' }
  })
  return makeProblem('UnknownField', message, details)
}
