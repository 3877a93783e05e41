/** Transactions of commands, and messages of their operations. */
import {
  type AshlarClient,
  AshlarRequestError,
  type TransactionOperation,
  type TransactionResult,
} from '@ashlar/client'
import { CommandError } from '../errors/command-error.ts'
import { exitCodeOfStatus } from '../errors/exit-codes.ts'

/** Runs all operations or none. The error omits the number of the operation, which the user of the command does not know. */
export async function executeAtomically(
  client: AshlarClient,
  operations: readonly TransactionOperation[],
): Promise<readonly TransactionResult[]> {
  try {
    return await client.runTransaction(operations)
  } catch (error) {
    if (!(error instanceof AshlarRequestError) || error.operation === undefined) throw error
    const { status, type, message } = error
    throw new CommandError(exitCodeOfStatus(status), withoutOperation(message), [], { type, status })
  }
}

/** Removes the number of the operation from the beginning of its message. */
export function withoutOperation(message: string): string {
  return message.replace(/^While executing operation \d+, encountered: /, '')
}
