/** Makes scheduled backups of all federated databases, and caches the state of each. Every process checks; only one of them makes a backup. */
import { backUpIfDue, type FederatedDatabase, keepLogFor, listBackups, type Manifest } from '@ashlar/engine'
import { backupCheckIntervalMs, backupCheckIntervalMsMin } from '../limits.ts'
import { type BackupSettings, backupsOf } from './backup-settings.ts'

export interface BackupState {
  readonly fd: string
  readonly lastBackup?: Pick<Manifest, 'name' | 'kind' | 'at'>
  /** Why this process failed to make the last due backup; undefined after a success. */
  readonly failure?: string
}

export interface ScheduleListener {
  onBackup(fd: string, name: string, removed: readonly string[]): void
  onFailure(fd: string, message: string): void
}

export class BackupSchedule {
  readonly settings: BackupSettings
  private readonly fds: readonly FederatedDatabase[]
  private readonly listener: ScheduleListener
  private readonly stopping = new AbortController()
  private readonly stateByAlias = new Map<string, BackupState>()
  private timer: NodeJS.Timeout | undefined
  private looking: Promise<void> = Promise.resolve()

  constructor(settings: BackupSettings, fds: readonly FederatedDatabase[], listener: ScheduleListener) {
    this.settings = settings
    this.fds = fds
    this.listener = listener
  }

  start(): void {
    this.checkAfter(0)
  }

  /** Aborts a backup in progress. */
  async stop(): Promise<void> {
    clearTimeout(this.timer)
    this.stopping.abort(new Error('the server is stopping'))
    await this.looking
  }

  /** Interval between backups of any kind; undefined without scheduled backups. */
  get intervalSeconds(): number | undefined {
    const { everyMs, incrementalEveryMs = everyMs } = this.settings
    return everyMs && Math.min(everyMs, incrementalEveryMs ?? everyMs) / 1_000
  }

  states(): readonly BackupState[] {
    return this.fds.map(({ alias }) => this.stateByAlias.get(alias) ?? { fd: alias })
  }

  /** Adds jitter, so that processes started together check at different times. */
  private checkAfter(ms: number): void {
    this.timer = setTimeout(() => {
      this.looking = this.checkDue().finally(() => {
        if (!this.stopping.signal.aborted) this.checkAfter(this.pauseMs() * (0.5 + Math.random()))
      })
    }, ms).unref()
  }

  private pauseMs(): number {
    const { everyMs = backupCheckIntervalMs, incrementalEveryMs = everyMs } = this.settings
    const often = Math.min(everyMs, incrementalEveryMs) / 4
    return Math.max(backupCheckIntervalMsMin, Math.min(backupCheckIntervalMs, often))
  }

  /** Makes backups one after another, to leave most of the disk's throughput to requests. */
  private async checkDue(): Promise<void> {
    for (const fd of this.fds) {
      if (this.stopping.signal.aborted) return
      await this.checkFd(fd)
    }
  }

  private async checkFd(fd: FederatedDatabase): Promise<void> {
    const directory = backupsOf(this.settings, fd.alias)
    try {
      // Do this before a backup that may take long: earlier backups would be unknown until its end.
      if (!this.stateByAlias.has(fd.alias)) this.note(fd.alias, await stateOf(fd.alias, directory))
      await this.makeDue(fd, directory)
      this.note(fd.alias, await stateOf(fd.alias, directory))
    } catch (error) {
      if (this.stopping.signal.aborted) return
      const { message } = error as Error
      this.note(fd.alias, { fd: fd.alias, ...this.stateByAlias.get(fd.alias), failure: message })
    }
  }

  /** Logs a failure once, though each check retries. */
  private note(alias: string, state: BackupState): void {
    const before = this.stateByAlias.get(alias)
    this.stateByAlias.set(alias, state)
    const { failure } = state
    if (failure !== undefined && failure !== before?.failure) this.listener.onFailure(alias, failure)
  }

  private async makeDue(fd: FederatedDatabase, directory: string): Promise<void> {
    const { everyMs, incrementalEveryMs, keepMs } = this.settings
    if (everyMs === undefined) return
    const { signal } = this.stopping
    const made = await backUpIfDue(fd.store, directory, { everyMs, incrementalEveryMs }, { keepMs, signal })
    if (made === undefined) return
    this.listener.onBackup(fd.alias, made.backup.name, made.removed)
    if (incrementalEveryMs !== undefined) await keepLogFor(fd.subscription('incremental backups'), made.backup)
  }
}

async function stateOf(fd: string, directory: string): Promise<BackupState> {
  const { all, damaged } = await listBackups(directory)
  const [failure] = damaged
  const state = failure === undefined ? { fd } : { fd, failure }
  const latest = all.at(-1)
  if (latest === undefined) return state
  const { name, kind, at } = latest
  return { ...state, lastBackup: { name, kind, at } }
}
