/** Transactions of commands, and the messages of their operations. */
import {
  type AshlarClient,
  AshlarRequestError,
  type TransactionOperation,
  type TransactionResult,
} from '@ashlar/client'
import { CommandError } from '../command-error.ts'
import { exitCodeOfStatus } from '../exit-codes.ts'

/** Runs all operations or none. The error names no operation by its number, which the user of a command has not given. */
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

/** Returns the message of an operation of a transaction without its beginning, which has the number of the operation. */
export function withoutOperation(message: string): string {
  return message.replace(/^While executing operation \d+, encountered: /, '')
}
