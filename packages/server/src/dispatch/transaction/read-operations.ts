/** Strict parsing of a transaction's body (contract 7). */
import { AshlarError, type ErrorDetail } from '@ashlar/engine'
import { makeProblem, quoteNames } from '../../errors/problem.ts'
import { BodyValidationError } from '../../errors/request-errors.ts'
import type { Limits } from '../../limits.ts'
import { isEntityTags } from '../entity-tags.ts'

export interface RequestedOperation {
  /** Starts at 1. */
  readonly number: number
  readonly method: string
  readonly uri: string
  readonly body: unknown
  readonly keepsResult: boolean
  readonly id: string | undefined
  /** Conditions by the header names of single requests. */
  readonly conditions: Readonly<Record<string, string>>
}

const conditionHeaders = { ifMatch: 'if-match', ifNoneMatch: 'if-none-match' } as const

const fields = new Set(['method', 'uri', 'body', 'result', 'id', ...Object.keys(conditionHeaders)])
const noConditions: Readonly<Record<string, string>> = Object.freeze({})
const idPattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/** Throws MalformedRequest, MalformedValue, UnknownField, LimitExceeded, and BodyValidationError with HeadersTooLarge. */
export function readOperations(
  body: unknown,
  {
    transactionOperationsMax: operationsMax,
    requestHeaderBytesMax,
  }: Pick<Limits, 'transactionOperationsMax' | 'requestHeaderBytesMax'>,
): RequestedOperation[] {
  if (!Array.isArray(body)) throw malformedOperation('The body is an array of operations.', [])
  if (body.length > operationsMax) {
    const message = `A transaction has at most ${operationsMax} operations, not ${body.length} (transactionOperationsMax).`
    throw new AshlarError('LimitExceeded', message)
  }
  const ids = new Set<string>()
  return body.map((value: unknown, position) => {
    const operation = readOperation(value, position)
    const { id } = operation
    checkHead(operation, requestHeaderBytesMax)
    if (id !== undefined && ids.has(id))
      throw malformedOperation(`Two operations have the id '${id}'.`, [position, 'id'])
    if (id !== undefined) ids.add(id)
    return operation
  })
}

/** Limits URI and conditions like the headers of a request. */
function checkHead({ number, uri, conditions }: RequestedOperation, bytesMax: number): void {
  let bytes = Buffer.byteLength(uri)
  for (const header in conditions) bytes += Buffer.byteLength(conditions[header] as string)
  if (bytes <= bytesMax) return
  const message = `Operation ${number}: uri and conditions take more than ${bytesMax} bytes (requestHeaderBytesMax).`
  throw new BodyValidationError(makeProblem('HeadersTooLarge', message, [{ pointer: `/${number - 1}`, message }]))
}

function readOperation(value: unknown, position: number): RequestedOperation {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformedOperation(`Operation ${position + 1} is an object with method and uri.`, [position])
  }
  const operation = value as Readonly<Record<string, unknown>>
  for (const name in operation) if (!fields.has(name)) throw unknownFields(operation, position)
  return {
    number: position + 1,
    method: requiredText(operation.method, 'method', position),
    uri: requiredText(operation.uri, 'uri', position),
    body: operation.body,
    keepsResult: resultOf(operation.result, position) === 'keep',
    id: operation.id === undefined ? undefined : idOf(operation.id, position),
    conditions: conditionsOf(operation, position),
  }
}

function unknownFields(operation: object, position: number): AshlarError {
  const unknown = Object.keys(operation).filter((name) => !fields.has(name))
  const message = `Operation ${position + 1} has no field ${quoteNames(unknown)}.`
  return new AshlarError('UnknownField', message, [{ place: [position], message }])
}

function conditionsOf(
  operation: Readonly<Record<string, unknown>>,
  position: number,
): Readonly<Record<string, string>> {
  if (operation.ifMatch === undefined && operation.ifNoneMatch === undefined) return noConditions
  const conditions: Record<string, string> = {}
  for (const [field, header] of Object.entries(conditionHeaders)) {
    const value = operation[field]
    if (value === undefined) continue
    if (typeof value !== 'string' || !isEntityTags(value)) {
      const message = `Operation ${position + 1}: ${field} is * or entity tags in double quotes, with commas between them.`
      throw malformedOperation(message, [position, field])
    }
    conditions[header] = value
  }
  return conditions
}

function requiredText(value: unknown, field: string, position: number): string {
  if (typeof value === 'string' && value !== '') return value
  throw malformedOperation(`Operation ${position + 1} needs ${field}, a string.`, [position, field])
}

function resultOf(value: unknown, position: number): string {
  const result = value === undefined ? 'keep' : typeof value === 'string' ? value.toLowerCase() : ''
  if (result === 'keep' || result === 'dispose') return result
  throw malformedOperation(`Operation ${position + 1}: result is keep or dispose.`, [position, 'result'])
}

function idOf(value: unknown, position: number): string {
  if (typeof value === 'string' && idPattern.test(value)) return value
  throw malformedOperation(`Operation ${position + 1}: id is a name of letters, digits, _ and -, at most 64 of them.`, [
    position,
    'id',
  ])
}

export function malformedOperation(message: string, place: ErrorDetail['place']): AshlarError {
  return new AshlarError('MalformedRequest', message, [{ place, message }])
}
