/** `checks`: expressions over the objects of a class, none of which may be false (contract 10.6). */
import { formatForMessage, ValueError } from '../../types/logical-type.ts'
import { defineExpression, type SchemaExpression } from '../expression.ts'
import { invalidProperty } from './attribute-property.ts'
import { defineText } from './texts.ts'

/** Of one class, however many descriptions they come in. */
export const checksMax = 100
const nameForm = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

/** `isValidated` is shown, and ignored in definitions. */
const checkFields = ['name', 'expression', 'message', 'isValidated']

export interface Check {
  readonly name: string
  readonly expression: SchemaExpression
  /** Replaces the expression in error messages. */
  readonly message?: string
  /** Objects older than the check may violate it: only writes are checked. */
  readonly isValidated?: false
}

/** Returns undefined for an empty list. Throws ValueError. */
export function defineChecks(input: unknown): readonly Check[] | undefined {
  if (!Array.isArray(input) || input.length > checksMax) {
    const actual = Array.isArray(input) ? `${input.length}` : formatForMessage(input)
    throw invalidProperty('checks', `must be an array of at most ${checksMax} checks, not ${actual}`)
  }
  const checks = input.map((one: unknown, i) => {
    try {
      return defineCheck(one)
    } catch (error) {
      if (error instanceof ValueError) {
        error.path.unshift('checks', i)
        error.message = `check ${nameOf(one) ?? i + 1}: ${error.message}`
      }
      throw error
    }
  })
  const names = new Set<string>()
  for (const { name } of checks) {
    if (names.has(name)) throw invalidProperty('checks', `has two checks of the name ${name}`)
    names.add(name)
  }
  return checks.length === 0 ? undefined : checks
}

function nameOf(input: unknown): string | undefined {
  const name = (input as { readonly name?: unknown } | null)?.name
  return typeof name === 'string' && nameForm.test(name) ? name : undefined
}

function defineCheck(input: unknown): Check {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw checkError(`it must be an object with name and expression, not ${formatForMessage(input)}`, [])
  }
  const unknown = Object.keys(input).find((field) => !checkFields.includes(field))
  if (unknown !== undefined)
    throw checkError(`it has no field '${unknown}'; its fields are name, expression and message`, [unknown])
  const { name, expression, message } = input as Readonly<Record<string, unknown>>
  if (nameOf(input) === undefined) {
    const form = 'letters, digits and _, beginning with a letter or _, at most 128'
    throw checkError(`its name must be ${form}, not ${formatForMessage(name)}`, ['name'])
  }
  const text = message === undefined || message === null ? undefined : defineText('message', message)
  return {
    name: name as string,
    expression: defineExpression('expression', expression),
    ...(text === undefined ? {} : { message: text }),
  }
}

function checkError(message: string, path: (string | number)[]): ValueError {
  const error = new ValueError('InvalidDefinition', message)
  error.path = path
  return error
}
