/** Child: holds the file of a process as one of another container would: with a given number and namespace; ends with its input. */
import { once } from 'node:events'
import { join } from 'node:path'
import { openLockFile } from '../../../src/store/lmdb/file-lock.ts'
import { processDirectory } from '../../../src/store/lmdb/live-processes.ts'

const [directory = '', pid = '', namespace = ''] = process.argv.slice(2)
const file = openLockFile(join(processDirectory(directory), pid))
file.write(namespace)
file.tryLock('exclusive')
process.stdout.write('joined\n')
process.stdin.resume()
await once(process.stdin, 'end')
