/** Parameters of a bulk load (contract 2.2.9). */
import { AshlarError, type BulkSettings } from '@ashlar/engine'
import { booleanParam, type OperationRequest } from '../../dispatch/operation.ts'
import { quoteNames } from '../../errors/problem.ts'
import { Type } from '../../wire/json-schema.ts'

export interface BulkParameters extends BulkSettings {
  readonly isAtomic: boolean
}

export const bulkQueryParameters = {
  onError: {
    description: 'For NDJSON: `stop` (the default) ends at the first failing line, `skip` skips failing lines.',
    schema: Type.Union([Type.Literal('stop'), Type.Literal('skip')]),
  },
  atomic: { description: 'For NDJSON: all lines are one atomic commit.', schema: Type.Boolean() },
  upsertOn: {
    description: 'For NDJSON: a unique index; an object whose key exists already is updated instead of created.',
    schema: Type.String(),
  },
} as const

/** Throws MalformedValue. */
export function bulkParametersOf(request: OperationRequest): BulkParameters {
  const { onError = 'stop', upsertOn } = request.query
  if (onError !== 'stop' && onError !== 'skip') {
    throw new AshlarError('MalformedValue', 'The parameter onError must be specified once, as stop or skip.')
  }
  if (upsertOn !== undefined && (typeof upsertOn !== 'string' || upsertOn === '')) {
    throw new AshlarError(
      'MalformedValue',
      'The parameter upsertOn must be specified once, as the name of a unique index.',
    )
  }
  const isAtomic = booleanParam(request, 'atomic')
  if (isAtomic && onError === 'skip') {
    throw new AshlarError('MalformedValue', 'atomic=true does all lines or none: onError=skip contradicts it.')
  }
  return { onError, upsertOn, isAtomic }
}

/** Refuses parameters of bulk loads for other bodies. Throws MalformedRequest. */
export function refuseBulkParameters({ query }: OperationRequest): void {
  const names = Object.keys(bulkQueryParameters).filter((name) => query[name] !== undefined)
  if (names.length === 0) return
  const message = `The parameter ${quoteNames(names)} belongs to bodies of lines, application/x-ndjson.`
  throw new AshlarError('MalformedRequest', message)
}
