/** Makes an open store follow a compaction by another process, by polling: often while a compaction is announced, rarely otherwise. */
import { existsSync, rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { compactionPollMs, compactionStepPollMs } from '../../limits.ts'
import { isLocked } from './file-lock.ts'
import { processDirectory, processFile } from './live-processes.ts'
import type { Environment } from './lmdb-js.ts'
import type { FormerEnvironment, OpenEnvironment } from './open-environment.ts'
import { makeFile, systemErrorCode } from './owned-files.ts'
import { endSharedRead } from './read-pins.ts'
import { haveAllMoved, replacementPaths } from './replaced-file.ts'

/** This file exists while the process polls often. */
export function readinessOf(processFile: string): string {
  return `${processFile}.ready`
}

export class ReplacementWatch {
  private readonly opened: OpenEnvironment
  private readonly isInUse: (former: Environment) => boolean
  private readonly warn: (message: string) => void
  private readonly directory: string
  private readonly readiness: string
  /** Environments of replaced files that are still being read. */
  private readonly formers = new Set<FormerEnvironment>()
  private timer: NodeJS.Timeout | undefined
  private following: Promise<void> | undefined
  private isReady = false
  private warned: string | undefined

  /** `isInUse`: whether a snapshot or a backup reads the environment. `warn` receives each reason why a compacted file cannot be opened once. */
  constructor(
    directory: string,
    opened: OpenEnvironment,
    isInUse: (former: Environment) => boolean,
    warn: (message: string) => void,
  ) {
    this.directory = directory
    this.opened = opened
    this.isInUse = isInUse
    this.warn = warn
    this.readiness = readinessOf(processFile(processDirectory(directory)))
    if (opened.gate.isWritable && process.platform !== 'win32') this.wait()
  }

  /** Opens the compacted file, or waits a moment for other processes to do so. Throws an `Error` for the operator. */
  follow(): Promise<void> {
    if (this.following === undefined && !this.opened.files.isReplaced()) return delay(compactionStepPollMs)
    this.following ??= this.followNow().finally(() => {
      this.following = undefined
    })
    return this.following
  }

  /** Closes the environments of replaced files; nothing may read from them any more. */
  async close(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    await this.following?.catch(() => undefined)
    this.setReady(false)
    await this.closeFormers(() => true)
  }

  private async followNow(): Promise<void> {
    const former = await this.opened.openReplacement()
    if (former !== undefined) this.formers.add(former)
  }

  private wait(): void {
    const ms = this.isReady ? compactionStepPollMs : compactionPollMs
    this.timer = setTimeout(() => void this.pollAndWarn(), ms).unref()
  }

  private async pollAndWarn(): Promise<void> {
    try {
      await this.poll()
      this.warned = undefined
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (reason !== this.warned)
        this.warn(`The store in ${this.directory} is compacted by another process, and ${reason}`)
      this.warned = reason
    }
    if (this.timer !== undefined) this.wait()
  }

  private async poll(): Promise<void> {
    const { announcement, dataBefore } = replacementPaths(this.directory)
    this.setReady(existsSync(announcement) && isCompacting(announcement))
    if (this.opened.files.isReplaced()) await this.follow()
    else if (existsSync(dataBefore)) haveAllMoved(this.directory)
    await this.closeFormers(({ environment }) => !this.isInUse(environment))
  }

  private setReady(isAnnounced: boolean): void {
    if (isAnnounced) makeFile(this.readiness)
    else if (this.isReady) rmSync(this.readiness, { force: true })
    this.isReady = isAnnounced
  }

  private async closeFormers(isSelected: (former: FormerEnvironment) => boolean): Promise<void> {
    for (const former of [...this.formers].filter(isSelected)) {
      this.formers.delete(former)
      // No process can open its lock table any more, so no gate is needed.
      endSharedRead(former.environment)
      await former.close()
    }
  }
}

/** Whether the announcing process still holds the lock; a killed one does not. */
function isCompacting(announcement: string): boolean {
  try {
    return isLocked(announcement)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return false
    throw error
  }
}
