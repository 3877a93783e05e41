/** The operation that carries out several others as one commit (REST interface, section 7). */

import { OperationFinder } from '../dispatch/find-operation.ts'
import type { FdOperation, Operation, OperationReply } from '../dispatch/operation.ts'
import { onceOf } from '../dispatch/run-once.ts'
import { runOperations } from '../dispatch/transaction/run-operations.ts'
import { TransactionBody, TransactionReply } from '../wire/wire-schemas.ts'

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
    isTransactional: false,
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
