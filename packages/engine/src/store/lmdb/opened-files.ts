/** Detects whether the files of an open store are still those at their paths, or were deleted or replaced. */
import { join } from 'node:path'
import { AshlarError, fatalFailure } from '../../errors.ts'
import type { Gate } from './gate.ts'
import { haveAllMoved, identityOf, replacementPaths } from './replaced-file.ts'

const names = ['data.mdb', 'lock.mdb'] as const

const gateProblem =
  "The store's file processes/gate is not the one that was opened: it was moved, deleted or replaced while the store was open, so that " +
  'commits are not kept apart from those who open the store. Stop every process that uses the store, and start them again.'

/** The store was compacted, and this or another process must open the new file before commits can continue. Nothing was done. */
export class ReplacementInProgress extends Error {}

export class OpenedFiles {
  private readonly directory: string
  private readonly gate: Pick<Gate, 'isInPlace'>
  /** Paths are computed once: the files are checked before and after each commit. */
  private readonly files: readonly {
    readonly name: string
    readonly path: string
    readonly identity: string | undefined
  }[]
  /** Whether no other process reads a replaced file; then this stays true. */
  private isOnlyOne = false

  /** Must be created right after the store was opened. */
  constructor(directory: string, gate: Pick<Gate, 'isInPlace'>) {
    this.directory = directory
    this.gate = gate
    this.files = names.map((name) => {
      const path = join(directory, name)
      return { name, path, identity: identityOf(path) }
    })
  }

  /** Whether a compaction has replaced the open file by one with the same content. */
  isReplaced(): boolean {
    const { data, dataBefore } = replacementPaths(this.directory)
    const opened = this.files[0]?.identity
    return opened !== undefined && identityOf(dataBefore) === opened && identityOf(data) !== opened
  }

  /** A sentence that clients may see; undefined if the files are unchanged, or were replaced by a compaction. Costs a few microseconds. */
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

  /** Must be called before a commit. Throws StoreUnavailable or ReplacementInProgress; nothing was done then. */
  check(): void {
    const problem = this.difference()
    if (problem !== undefined) throw this.isReplaced() ? new ReplacementInProgress() : fatalFailure(problem)
    if (!this.isOnlyOne && !haveAllMoved(this.directory)) throw new ReplacementInProgress()
    this.isOnlyOne = true
  }

  /** Must be called after a commit, which is lost if the file is. Throws OutcomeUnknown. */
  checkWritten(): void {
    const problem = this.difference()
    if (problem !== undefined)
      throw new AshlarError('OutcomeUnknown', `${problem} It is not known whether the change was kept.`)
  }
}
