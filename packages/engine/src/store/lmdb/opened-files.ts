/** Detects whether the files of an open store are still those at their paths, or were deleted or replaced. */
import { join } from 'node:path'
import { AshlarError, fatalFailure } from '../../errors.ts'
import type { Gate } from './gate.ts'
import { haveAllMoved, identityOf, replacementPaths } from './replaced-file.ts'

const names = ['data.mdb', 'lock.mdb'] as const

const gateProblem =
  "The store's file processes/gate is not the one that was opened: it was moved, deleted or replaced while the store was open, so that " +
  'commits are not kept apart from those who open the store. Stop every process that uses the store, and start them again.'

/** The store was compacted, and commits cannot go on yet: for this process, or another one, has still to open the new file. Nothing was done. */
export class ReplacementUnderWay extends Error {}

export class OpenedFiles {
  private readonly directory: string
  private readonly gate: Pick<Gate, 'isInPlace'>
  /** Their paths are put together once: they are looked at before and after each commit. */
  private readonly files: readonly {
    readonly name: string
    readonly path: string
    readonly identity: string | undefined
  }[]
  /** No process reads a file that this one has replaced: so it stays. */
  private isOnlyOne = false

  /** To be made right after the store was opened. */
  constructor(directory: string, gate: Pick<Gate, 'isInPlace'>) {
    this.directory = directory
    this.gate = gate
    this.files = names.map((name) => {
      const path = join(directory, name)
      return { name, path, identity: identityOf(path) }
    })
  }

  /** By a compaction: the file that is open is the one before, and what is in its place holds the same. */
  isReplaced(): boolean {
    const { data, dataBefore } = replacementPaths(this.directory)
    const opened = this.files[0]?.identity
    return opened !== undefined && identityOf(dataBefore) === opened && identityOf(data) !== opened
  }

  /** A sentence that clients may see; undefined where all is as it was, or this process has only to open it again. Costs a few microseconds. */
  problem(): string | undefined {
    const problem = this.difference()
    return problem === undefined || this.isReplaced() ? undefined : problem
  }

  private difference(): string | undefined {
    for (const { name, path, identity } of this.files) {
      const found = identityOf(path)
      if (found === identity) continue
      const what = found === undefined ? 'is no longer there' : 'is not the file that was opened'
      return `The store's file ${name} ${what}: it was moved, deleted or replaced while the store was open. Put it back, or stop the server and restore a backup.`
    }
    return this.gate.isInPlace() ? undefined : gateProblem
  }

  /** Before a commit. Throws StoreUnavailable, or ReplacementUnderWay: nothing was done. */
  check(): void {
    const problem = this.difference()
    if (problem !== undefined) throw this.isReplaced() ? new ReplacementUnderWay() : fatalFailure(problem)
    if (!this.isOnlyOne && !haveAllMoved(this.directory)) throw new ReplacementUnderWay()
    this.isOnlyOne = true
  }

  /** After a commit, whose changes would be gone with the file. Throws OutcomeUnknown. */
  checkWritten(): void {
    const problem = this.difference()
    if (problem !== undefined)
      throw new AshlarError('OutcomeUnknown', `${problem} It is not known whether the change was kept.`)
  }
}
