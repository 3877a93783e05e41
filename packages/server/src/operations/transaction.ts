/** The operation that carries out several others as one commit (REST interface, section 7). */
import { onceOf } from '../idempotency/run-once.ts'
import { OperationFinder } from '../transaction/find-operation.ts'
import { runOperations } from '../transaction/run-operations.ts'
import type { FdOperation, Operation, OperationReply } from './operation.ts'
import { TransactionBody, TransactionReply } from './wire-schemas.ts'

/** For people: the body is not checked yet. */
function operationsOf(body: unknown): string {
  return Array.isArray(body) ? `${body.length} operations` : ''
}

/** `others`: what may be part of a transaction, and what may not but is known. */
export function transactionOperation(others: readonly Operation[]): FdOperation {
  let finder: OperationFinder | undefined
  const self: FdOperation = {
    scope: 'fd',
    method: 'POST',
    path: '/v1/transaction',
    summary: 'Carry out several operations as one transaction',
    description:
      'All are committed together, or none is. Each sees what those before it did. A failure has the status and type of the operation that failed.',
    tag: 'Transactions',
    status: 200,
    body: TransactionBody,
    isBodyCheckedByEngine: true,
    reply: TransactionReply,
    standsAlone: true,
    statement: { kind: 'transaction', text: operationsOf },
    keepsReply: true,
    errors: [
      ...new Set(others.flatMap(({ errors }) => errors)),
      'LimitExceeded',
      'ResourceNotFound',
      'MethodNotAllowed',
    ],
    async run(_database, request) {
      finder ??= new OperationFinder([...others, self])
      const toReply = (body: Buffer): OperationReply => ({ body })
      return toReply(await runOperations(request, finder, onceOf(request, 200, toReply)))
    },
  }
  return self
}
