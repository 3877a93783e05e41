/** Dispatches a request to its operation, alone or in a transaction: parameters, body, federated database, authorization, execution. */
import { type AccessPolicy, type FederatedDatabase, suggestNames } from '@ashlar/engine'
import { missingBody, quoteNames } from '../errors/problem.ts'
import { BodyValidationError } from '../errors/request-errors.ts'
import { ServerError } from '../errors/server-errors.ts'
import { BodyLines } from '../json/body-lines.ts'
import { UnparsedBody } from '../json/unparsed-body.ts'
import { type Caller, everyone } from '../security/caller.ts'
import type { Need } from '../security/roles.ts'
import { authorize, requireAnything } from './authorize.ts'
import type { FdOperation, Operation, OperationReply, OperationRequest } from './operation.ts'
import { validateBody, validateEach } from './validate-body.ts'

/** How an operation on a federated database is executed: as a request, or as a step of a transaction. */
export interface Execution {
  /** The federated database that the request means. */
  resolve(operation: FdOperation): FederatedDatabase
  /** Executes the operation within its limits. `policy`: set if the caller's permission does not cover the whole federated database. */
  run(
    operation: FdOperation,
    fd: FederatedDatabase,
    policy: AccessPolicy | undefined,
  ): OperationReply | Promise<OperationReply>
}

/**
 * Returns the reply synchronously if the operation does, as a read by OID. Throws UnknownParameter, MalformedRequest, AuditLogUnavailable, and the
 * errors of `execution`, `authorize` and the operation.
 */
export function dispatch(
  operation: Operation,
  request: OperationRequest,
  execution: Execution,
): OperationReply | Promise<OperationReply> {
  const { needs } = operation
  const { caller } = request
  const policy = caller === everyone ? undefined : authorizeAhead(operation, caller, (one) => execution.resolve(one))
  if (typeof needs === 'string' && isChange(operation, needs)) request.beforeChange?.()
  checkParameters(operation, request.query)
  checkBody(operation, request)
  return dispatchChecked(operation, request, execution, policy)
}

/**
 * Authorizes a request before its body is read if possible, so that unauthorized bodies are not received. Returns the result of `authorize`, unless
 * it depends on the body. `resolve` finds the federated database if the body does not select it. Throws Unauthenticated, Forbidden, and the errors of
 * `resolve`.
 */
export function authorizeAhead(
  operation: Operation,
  caller: Caller,
  resolve: (operation: FdOperation) => FederatedDatabase,
): AccessPolicy | undefined {
  if (operation.scope === 'service') return authorize(caller, operation, undefined)
  if (operation.chooseFd !== undefined) return undefined
  const fd = resolve(operation)
  const { needs, isFdWide, hasSteps } = operation
  if (typeof needs === 'string') return authorize(caller, { needs, isFdWide, hasSteps }, fd)
  requireAnything(caller, fd)
  return undefined
}

function dispatchChecked(
  operation: Operation,
  request: OperationRequest,
  execution: Execution,
  policy: AccessPolicy | undefined,
): OperationReply | Promise<OperationReply> {
  const { caller } = request
  if (operation.scope === 'service') return operation.run(request)
  const fd = execution.resolve(operation)
  const { needs } = operation
  if (typeof needs === 'string') {
    // Otherwise it was authorized ahead.
    const late =
      operation.chooseFd === undefined ? policy : authorize(caller, { needs, isFdWide: operation.isFdWide }, fd)
    return execution.run(operation, fd, late)
  }
  const { beforeChange } = request
  if (caller === everyone && beforeChange === undefined) return execution.run(operation, fd, undefined)
  // Check this before the text is parsed.
  if (caller !== everyone) requireAnything(caller, fd)
  return needs(request, fd).then((all) => {
    const demand = { needs: all, isFdWide: operation.isFdWide }
    const byText = caller === everyone ? undefined : authorize(caller, demand, fd)
    if (beforeChange !== undefined && all.some((need) => isChange(operation, need))) request.beforeChange?.()
    return execution.run(operation, fd, byText)
  })
}

/** Returns true if the operation changes something, and thus is recorded in the audit log (contract 9.6.1). */
function isChange({ method }: Operation, need: Need): boolean {
  return method !== 'GET' && need !== 'read'
}

function checkParameters({ queryParameters = {} }: Operation, query: OperationRequest['query']): void {
  let unknown: string[] | undefined
  for (const name in query) {
    if (name === 'fdAlias' || Object.hasOwn(queryParameters, name)) continue
    unknown = [...(unknown ?? []), name]
  }
  if (unknown === undefined) return
  const advice = suggestNames(unknown[0] ?? '', ['fdAlias', ...Object.keys(queryParameters)], 'parameter')
  throw new ServerError(
    'UnknownParameter',
    `The operation has no parameter${unknown.length === 1 ? '' : 's'} ${quoteNames(unknown)}${advice}`,
  )
}

/** Throws BodyValidationError. */
export function checkBody(
  { body: schema, isBodyCheckedByEngine, takesArray }: Operation,
  { body }: Pick<OperationRequest, 'body'>,
): void {
  // Lines are checked one by one, and an unparsed body after it is parsed.
  if (schema === undefined || body instanceof BodyLines || body instanceof UnparsedBody) return
  if (takesArray === true && Array.isArray(body)) validateEach(schema, body)
  // The engine would treat a missing body as a value.
  else if (isBodyCheckedByEngine !== true) validateBody(schema, body)
  else if (body === undefined) throw new BodyValidationError(missingBody())
}
