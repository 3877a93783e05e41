/**
 * The folder for the temporary files of a run of the tests, and of the processes that they start: nothing that they leave behind outlives the run. Tests
 * that are ended early, and processes that are killed, cannot remove what they have made.
 */
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { isOurs, removeLeftovers } from './postgres-leftovers.ts'
import { isGone, markOf } from './process-mark.ts'

const prefix = 'ashlar-tests.'

/** Files that others keep there from run to run: the cache of tsx, and the runner's own. */
const ofOthers = /^(tsx-\d+|node-compile-cache|[\w-]{21})$/

/** As many names as tell which test it is. */
const namesMax = 20

let folder = ''
let outer: string | undefined

/** Every project runs this; processes started from now on have the folder in their environment. */
export function setup(project: TestProject): void {
  if (!project.isRootProject()) return
  const parent = tmpdir()
  for (const name of readdirSync(parent)) {
    const mark = name.startsWith(prefix) ? name.slice(prefix.length).split('.')[0] : undefined
    const left = join(parent, name)
    if (mark === undefined || !isGone(mark) || !isOurs(left)) continue
    // Ends what still serves its data.
    removeLeftovers(left)
    rmSync(left, { recursive: true, force: true })
  }
  outer = process.env.TMPDIR
  folder = mkdtempSync(join(parent, `${prefix}${markOf(process.pid)}.`))
  // A PostgreSQL that is run as another user has its data below, and so have stores that another user opens.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
}

export function teardown(): void {
  if (!existsSync(folder)) return
  const left = readdirSync(folder).filter((name) => !ofOthers.test(name))
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  if (outer === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = outer
  if (left.length === 0) return
  const more = left.length > namesMax ? [`and ${left.length - namesMax} more`] : []
  process.stderr.write(`\nTests left temporary files behind: ${[...left.slice(0, namesMax), ...more].join(', ')}\n`)
}
