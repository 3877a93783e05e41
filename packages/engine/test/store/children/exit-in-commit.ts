/**
 * Child: opens the store in a directory; at the first line it begins a commit and ends, the way it is told to, in the middle of it: `holding`
 * LMDB's write lock, or `waiting` for it; by `exit` or because something `throws`.
 */
import { once } from 'node:events'
import { EntryChecks } from '../../../src/store/lmdb/entry-checks.ts'
import { openGroupCommit } from '../../../src/store/lmdb/group-commit.ts'
import { openEnvironment } from '../../../src/store/lmdb/open-environment.ts'
import { commitOf, put } from '../bytes.ts'

const [directory = '', when, how] = process.argv.slice(2)
const opened = await openEnvironment(directory, false)

function end(): void {
  if (how === 'exit') process.exit(3)
  throw new Error('broken on purpose')
}

/** Asked within the write transaction. */
const files = { check: () => (when === 'holding' ? end() : undefined), checkWritten: () => undefined }
const group = openGroupCommit({ ...opened, files, checks: new EntryChecks('checked'), location: directory })
process.stdout.write('open\n')
await once(process.stdin, 'data')
process.stdin.pause()
void group.commit(commitOf([put('child', '1')]))
// By then it waits.
if (when === 'waiting') setTimeout(end, 300)
