/** The operation that executes several operations as one commit (contract 7). */

import type { FdOperation, Operation } from '../dispatch/operation.ts'
import { onceOf } from '../dispatch/stored-reply.ts'
import { runOperations } from '../dispatch/transaction/run-operations.ts'
import { UnparsedBody } from '../json/unparsed-body.ts'
import { Type } from '../wire/json-schema.ts'
import { IsolationLevel, TransactionOperation, TransactionResult } from '../wire/wire-schemas.ts'

/** Formats the unchecked body for the list of statements. */
function operationsOf(body: unknown): string {
  if (body instanceof UnparsedBody) return `operations in ${body.bytes.length} bytes`
  return Array.isArray(body) ? `${body.length} operations` : ''
}

/** Gets all other operations, whose errors a transaction may return. */
export function transactionOperation(others: readonly Operation[]): FdOperation {
  return {
    scope: 'fd',
    method: 'POST',
    path: '/v1/transaction',
    // The permissions of each step are checked separately.
    needs: 'read',
    summary: 'Run several operations as one transaction',
    description:
      'The transaction is atomic, and each operation sees the changes of those before it. An error has the status and type of the operation that failed.',
    tag: 'Transactions',
    queryParameters: {
      isolation: { description: 'Default: the isolation level of the federated database.', schema: IsolationLevel },
    },
    status: 200,
    body: Type.Array(TransactionOperation),
    isBodyCheckedByEngine: true,
    reply: Type.Array(TransactionResult),
    isTransactional: false,
    statement: { kind: 'transaction', text: operationsOf },
    keepsReply: true,
    hasSteps: true,
    errors: [
      ...new Set(others.flatMap(({ errors }) => errors)),
      'LimitExceeded',
      'ResourceNotFound',
      'MethodNotAllowed',
    ],
    async run(_database, request) {
      const once = onceOf(request, 200, (body: Buffer) => ({ body }))
      return { body: await runOperations(request, once) }
    },
  }
}
