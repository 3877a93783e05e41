/**
 * Makes an open store follow a compaction by another process: it polls from time to time, and often while a compaction
 * is announced.
 */
import { existsSync, rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { betweenCompactionLooksMs, compactionLooksMs } from '../../limits.ts'
import { isLocked } from './file-lock.ts'
import { ownProcessFile, processDirectory } from './live-processes.ts'
import type { Environment } from './lmdb-js.ts'
import type { FormerEnvironment, OpenEnvironment } from './open-environment.ts'
import { codeOf, makeFile } from './owned-files.ts'
import { endSharedRead } from './read-pins.ts'
import { haveAllMoved, replacementPaths } from './replaced-file.ts'

/** There while the process of the file looks often. */
export function readinessOf(processFile: string): string {
  return `${processFile}.ready`
}

export class ReplacementWatch {
  private readonly opened: OpenEnvironment
  private readonly isKept: (former: Environment) => boolean
  private readonly warn: (message: string) => void
  private readonly directory: string
  private readonly readiness: string
  /** What was open before a compaction, and is still read. */
  private readonly formers = new Set<FormerEnvironment>()
  private timer: NodeJS.Timeout | undefined
  private following: Promise<void> | undefined
  private isReady = false
  private warned: string | undefined

  /** `isKept`: whether a snapshot or a backup reads it. `warn` is told, once for each reason, why a compacted file cannot be opened. */
  constructor(
    directory: string,
    opened: OpenEnvironment,
    isKept: (former: Environment) => boolean,
    warn: (message: string) => void,
  ) {
    this.directory = directory
    this.opened = opened
    this.isKept = isKept
    this.warn = warn
    this.readiness = readinessOf(ownProcessFile(processDirectory(directory)))
    if (opened.gate.isWritable && process.platform !== 'win32') this.wait()
  }

  /** Opens the compacted file, or waits a moment for the others to do so. Throws an `Error` for the operator. */
  follow(): Promise<void> {
    if (this.following === undefined && !this.opened.files.isReplaced()) return delay(betweenCompactionLooksMs)
    this.following ??= this.followNow().finally(() => {
      this.following = undefined
    })
    return this.following
  }

  /** Resolves once what was open before a compaction is closed; nothing may read from it any more. */
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
    const ms = this.isReady ? betweenCompactionLooksMs : compactionLooksMs
    this.timer = setTimeout(() => void this.lookAndTell(), ms).unref()
  }

  private async lookAndTell(): Promise<void> {
    try {
      await this.look()
      this.warned = undefined
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (reason !== this.warned)
        this.warn(`The store in ${this.directory} is compacted by another process, and ${reason}`)
      this.warned = reason
    }
    if (this.timer !== undefined) this.wait()
  }

  private async look(): Promise<void> {
    const { announcement, dataBefore } = replacementPaths(this.directory)
    this.setReady(existsSync(announcement) && isUnderWay(announcement))
    if (this.opened.files.isReplaced()) await this.follow()
    else if (existsSync(dataBefore)) haveAllMoved(this.directory)
    await this.closeFormers(({ environment }) => !this.isKept(environment))
  }

  private setReady(isAnnounced: boolean): void {
    if (isAnnounced) makeFile(this.readiness)
    else if (this.isReady) rmSync(this.readiness, { force: true })
    this.isReady = isAnnounced
  }

  private async closeFormers(isMeant: (former: FormerEnvironment) => boolean): Promise<void> {
    for (const former of [...this.formers].filter(isMeant)) {
      this.formers.delete(former)
      // Nobody can open its lock table any more: so no gate is needed.
      endSharedRead(former.environment)
      await former.close()
    }
  }
}

/** Whoever announced it holds the file; one that was killed does not. */
function isUnderWay(announcement: string): boolean {
  try {
    return isLocked(announcement)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}
