/**
 * Checks and then serves damaged copies of a store, one after another, and tells a line of JSON for each step: LMDB's own
 * code may end this process in between.
 */
import { readFileSync, writeSync } from 'node:fs'
import { checkStore } from '../../../src/verify/check-store.ts'
import { openHarbour } from '../harbour-store.ts'
import { compareAll, type Expected } from '../read-harbour.ts'

const [expectedFile = '', ...directories] = process.argv.slice(2)
const expected = JSON.parse(readFileSync(expectedFile, 'utf8')) as Expected

function tell(line: object): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

async function problemsOf(directory: string): Promise<number> {
  try {
    return (await checkStore(`lmdb:${directory}`)).problems.length
  } catch {
    // It cannot even be opened.
    return 1
  }
}

async function serve(directory: string): Promise<object> {
  let fd: Awaited<ReturnType<typeof openHarbour>>
  try {
    fd = await openHarbour(directory)
  } catch (error) {
    return { notOpened: (error as Error).message }
  }
  const served = await compareAll(fd, expected)
  // Counters and the like are written at the end: that may fail too.
  await fd.close().catch(() => undefined)
  return { served }
}

for (const directory of directories) {
  tell({ directory, problems: await problemsOf(directory) })
  tell({ directory, ...(await serve(directory)) })
}
process.exit(0)
