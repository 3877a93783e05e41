/**
 * Child: commits the entry `half`, and then is where LMDB is just before it ends a commit: it holds the write lock, the data file has the change, and the lock table the number
 * of the commit before. Says so, and stays there until it is killed.
 */
import { writeSync } from 'node:fs'
import { EntryChecks } from '../../../src/store/lmdb/entry-checks.ts'
import { openGroupCommit } from '../../../src/store/lmdb/group-commit.ts'
import { openEnvironment } from '../../../src/store/lmdb/open-environment.ts'
import { commitOf, put } from '../bytes.ts'
import { setTransactionNumber, transactionNumber } from './lock-table.ts'

const [directory = ''] = process.argv.slice(2)
const opened = await openEnvironment(directory, false)
let isCommitted = false

/** Asked within the write transaction. */
function check(): void {
  if (!isCommitted) return
  setTransactionNumber(directory, transactionNumber(directory) - 1n)
  writeSync(process.stdout.fd, 'half\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

const files = { check, checkWritten: () => undefined }
const { environment, gate, note } = opened
const group = openGroupCommit({
  environment,
  gate,
  note,
  files,
  checks: new EntryChecks('checked'),
  location: directory,
})
await group.commit(commitOf([put('half', '1')]))
isCommitted = true
void group.commit(commitOf([put('next', '1')]))
