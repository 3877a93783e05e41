/** Child: holds the file of a process as one of another container would: with a given number and namespace; ends with its input. */
import { once } from 'node:events'
import { join } from 'node:path'
import { openLockFile } from '../../../src/store/lmdb/file-lock.ts'
import { openGate } from '../../../src/store/lmdb/gate.ts'
import { processDirectory } from '../../../src/store/lmdb/live-processes.ts'

const [directory = '', name = ''] = process.argv.slice(2)
openGate(processDirectory(directory)).close()
const file = openLockFile(join(processDirectory(directory), name))
file.tryLock('exclusive')
process.stdout.write('joined\n')
process.stdin.resume()
await once(process.stdin, 'end')
