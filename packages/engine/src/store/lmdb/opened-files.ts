/** Tells whether the files of an open store are still those at their place, or were deleted or replaced meanwhile. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarError, fatalFailure } from '../../errors.ts'
import type { Gate } from './gate.ts'

const names = ['data.mdb', 'lock.mdb'] as const

const gateProblem =
  "The store's file processes/gate is not the one that was opened: it was moved, deleted or replaced while the store was open, so that " +
  'commits are not kept apart from those who open the store. Stop every process that uses the store, and start them again.'

export class OpenedFiles {
  private readonly directory: string
  private readonly gate: Pick<Gate, 'isInPlace'>
  private readonly identities: readonly (string | undefined)[]

  /** To be made right after the store was opened. */
  constructor(directory: string, gate: Pick<Gate, 'isInPlace'>) {
    this.directory = directory
    this.gate = gate
    this.identities = names.map((name) => identity(join(directory, name)))
  }

  /** A sentence that clients may see; undefined where all is as it was. Costs a few microseconds. */
  problem(): string | undefined {
    for (const [position, name] of names.entries()) {
      const found = identity(join(this.directory, name))
      if (found === this.identities[position]) continue
      const what = found === undefined ? 'is no longer there' : 'is not the file that was opened'
      return `The store's file ${name} ${what}: it was moved, deleted or replaced while the store was open. Put it back, or stop the server and restore a backup.`
    }
    return this.gate.isInPlace() ? undefined : gateProblem
  }

  /** Before a commit. Throws StoreUnavailable: nothing was done. */
  check(): void {
    const problem = this.problem()
    if (problem !== undefined) throw fatalFailure(problem)
  }

  /** After a commit, whose changes would be gone with the file. Throws OutcomeUnknown. */
  checkWritten(): void {
    const problem = this.problem()
    if (problem !== undefined)
      throw new AshlarError('OutcomeUnknown', `${problem} It is not known whether the change was kept.`)
  }
}

function identity(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`
}
