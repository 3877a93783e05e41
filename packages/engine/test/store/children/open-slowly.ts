/**
 * Child: does what LMDB does when it opens a store, held at the dangerous point: alone in the gate it reads the transaction
 * number, says so, waits for a line, and writes the number that it has read.
 */
import { once } from 'node:events'
import { openGate } from '../../../src/store/lmdb/gate.ts'
import { processDirectory } from '../../../src/store/lmdb/live-processes.ts'
import { setTransactionNumber, transactionNumber } from './lock-table.ts'

const [directory = ''] = process.argv.slice(2)
const gate = openGate(processDirectory(directory))
if (!(await gate.enterAlone(60_000))) throw new Error('The gate is not to be had.')
const number = transactionNumber(directory)
process.stdout.write('number read\n')
await once(process.stdin, 'data')
setTransactionNumber(directory, number)
gate.leave()
process.stdout.write('number written\n')
process.stdin.destroy()
