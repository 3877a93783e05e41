/**
 * Child: for each line `<directory> <commits>` opens the store there as a program does that knows nothing of the gate: sets
 * the transaction number back by so many commits, and says so. Ends with its input.
 */
import { createInterface } from 'node:readline'
import { setTransactionNumber, transactionNumber } from './lock-table.ts'

for await (const line of createInterface({ input: process.stdin })) {
  const [directory = '', commits = '1'] = line.split(' ')
  setTransactionNumber(directory, transactionNumber(directory) - BigInt(commits))
  process.stdout.write('set back\n')
}
