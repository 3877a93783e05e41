/** Bodies of requests against the schemas of their operations, and the problem that Ajv's errors become. */
import { createRequire } from 'node:module'
import { endWithKnown, openTimeSlice } from '@ashlar/engine'
import type { BuildCompilerFromPool } from '@fastify/ajv-compiler'
import { makeProblem, missingBody, type Problem, pointerTo } from '../errors/problem.ts'
import { nameCharactersMax, namesListedMax, quoteNames } from '../errors/quote-names.ts'
import { BodyValidationError } from '../errors/request-errors.ts'
import type { Schema } from '../wire/json-schema.ts'

type Compile = ReturnType<BuildCompilerFromPool>
type Check = ReturnType<Compile>

/** Compiled when the first such body comes, since most servers see few kinds of bodies, and shared by the servers of one process. */
const checks = new WeakMap<Schema, Check>()
let compile: Compile | undefined

/** Throws BodyValidationError. */
export function validateBody(schema: Schema, body: unknown): void {
  const check = checkOf(schema)
  if (!check(body)) throw new BodyValidationError(fromAjvErrors(check.errors ?? [], body, schema, ''))
}

/** The same of each element of an array, with turns for others in between. */
export async function validateEach(schema: Schema, elements: readonly unknown[]): Promise<void> {
  const check = checkOf(schema)
  const slice = openTimeSlice()
  for (let position = 0; position < elements.length; position++) {
    const element = elements[position]
    if (!check(element)) {
      throw new BodyValidationError(fromAjvErrors(check.errors ?? [], element, schema, pointerTo([position])))
    }
    const pause = position % elementsBetweenLooks === 0 ? slice.yieldIfDue() : undefined
    if (pause !== undefined) await pause
  }
}

/** What is looked at of an element takes less than a microsecond, however many values it has. */
const elementsBetweenLooks = 256

function checkOf(schema: Schema): Check {
  let check = checks.get(schema)
  if (check === undefined) {
    compile ??= loadCompiler()
    check = compile({ schema })
    checks.set(schema, check)
  }
  return check
}

/**
 * A body is checked as it is: nothing is converted, left out or filled in. Texts have a length of 1 at least, if any: were they counted by characters, which Ajv warns that
 * they are not (`unicode`), one of 63 MiB would be gone through in one piece.
 */
const options = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  unicode: false,
  logger: false,
} as const

/** Ajv takes a while to load. */
function loadCompiler(): Compile {
  const { AjvCompiler } = createRequire(import.meta.url)('@fastify/ajv-compiler')
  const build = AjvCompiler() as BuildCompilerFromPool
  return build({}, { customOptions: options })
}

interface AjvError {
  readonly keyword?: string
  readonly instancePath?: string
  readonly message?: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** The first error found, named by its place; unknown fields by their names. `at`: a pointer to what is checked. */
function fromAjvErrors(errors: readonly AjvError[], body: unknown, schema: unknown, at: string): Problem {
  const [error] = errors
  const pointer = at + (error?.instancePath ?? '')
  const where = pointer === '' ? 'The body' : pointer
  if (body === undefined) return missingBody((schema as { readonly required?: readonly string[] }).required)
  if (error?.keyword === 'additionalProperties') return fromUnknownFields(body, schema, at)
  const missing = error?.keyword === 'required' ? error.params?.missingProperty : undefined
  const message =
    missing === undefined ? `${where} ${error?.message ?? 'is malformed'}.` : `${where} needs the field '${missing}'.`
  return makeProblem('MalformedRequest', message, [{ pointer, message }])
}

function fromUnknownFields(body: unknown, schema: unknown, at: string): Problem {
  const known = Object.keys((schema as { readonly properties?: object } | undefined)?.properties ?? {})
  const names = Object.keys(body as object).filter((name) => !known.includes(name))
  const what = `the field${names.length === 1 ? '' : 's'} ${quoteNames(names)}`
  const ending = endWithKnown(names[0] ?? '', known, 'field')
  // What newcomers send: the attributes of an object as the fields of the body.
  const advice = known.includes('attributes') && !ending.endsWith('?') ? ' Put attributes inside "attributes".' : ''
  const message = `${at === '' ? 'The body' : at} may not have ${what}${ending}${advice}`
  const details = names.slice(0, namesListedMax).map((name) => {
    // Not repeated in full, and a part of it is no place.
    const pointer = at + pointerTo(name.length > nameCharactersMax ? [] : [name])
    return { pointer, message: 'is not a field of the operation' }
  })
  return makeProblem('UnknownField', message, details)
}
