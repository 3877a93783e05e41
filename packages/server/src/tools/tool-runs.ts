/** Runs of tools: active ones with their progress, and the most recent ones that have ended. */
import { AshlarError, type CancelSignal, type FederatedDatabase } from '@ashlar/engine'
import type { BackupSettings } from '../backups/backup-settings.ts'
import type { ServerLimits } from '../limits.ts'
import type { Flags, Tool } from './tool.ts'

export interface ToolReply {
  readonly returnCode: number
  readonly toolOutput: string
  readonly toolError: string
}

export interface RunRecord extends Partial<ToolReply> {
  readonly tool: string
  readonly fdAlias: string
  readonly startedAt: string
  readonly state: 'running' | 'ended'
  readonly done: number
  readonly total?: number
}

const endedRunsMax = 20

export class ToolRuns {
  private records: RunRecord[] = []
  private readonly inProgress = new Set<Promise<unknown>>()
  private readonly stopping = new AbortController()
  private readonly limits: Pick<ServerLimits, 'backgroundRunsMax'>
  private readonly onFault: (error: unknown) => void
  private readonly backups: BackupSettings | undefined

  /** `onFault`: receives failures of runs that are not awaited. `backups`: the directory of backups, if configured. */
  constructor(
    limits: Pick<ServerLimits, 'backgroundRunsMax'>,
    onFault: (error: unknown) => void,
    backups?: BackupSettings,
  ) {
    this.limits = limits
    this.onFault = onFault
    this.backups = backups
  }

  all(): readonly RunRecord[] {
    return this.records
  }

  /** `note`: precedes the output. Throws internal errors, OutcomeUnknown, and the signal's reason; returns errors of the tool as its result. */
  async run(tool: Tool, fd: FederatedDatabase, flags: Flags, signal: CancelSignal, note?: string): Promise<ToolReply> {
    const noted = (output: string): string => [...(note === undefined ? [] : [note]), output].join('\n')
    let record: RunRecord = {
      tool: tool.name,
      fdAlias: fd.alias,
      startedAt: new Date().toISOString(),
      state: 'running',
      done: 0,
    }
    this.records.push(record)
    const change = (changed: Partial<RunRecord>): void => {
      const next: RunRecord = { ...record, ...changed }
      this.records = this.records.map((one) => (one === record ? next : one))
      record = next
    }
    try {
      const report = (done: number, total?: number): void => change(total === undefined ? { done } : { done, total })
      const { output, error = '' } = await tool.run(fd, flags, { signal, report, backups: this.backups })
      const reply = { returnCode: error === '' ? 0 : 1, toolOutput: noted(output), toolError: error }
      change({ state: 'ended', ...reply })
      return reply
    } catch (error) {
      const toolError = error instanceof AshlarError ? error.message : 'The run was stopped, or failed.'
      const reply = { returnCode: 1, toolOutput: note ?? '', toolError }
      change({ state: 'ended', ...reply })
      if (error instanceof AshlarError && error.kind !== 'outcomeUnknown') return reply
      throw error
    } finally {
      this.forgetOld()
    }
  }

  /** Starts a tool that continues after the reply, until it ends or the server stops. Throws ServerBusy if too many are running. */
  start(tool: Tool, fd: FederatedDatabase, flags: Flags, note?: string): void {
    const { backgroundRunsMax } = this.limits
    if (this.inProgress.size >= backgroundRunsMax) {
      const message = `${backgroundRunsMax} runs of tools already go on in the background, the maximum (backgroundRunsMax).`
      throw new AshlarError('ServerBusy', message)
    }
    const { signal } = this.stopping
    const running = this.run(tool, fd, flags, signal, note)
      .catch((error: unknown) => {
        if (!signal.aborted) this.onFault(error)
      })
      .finally(() => this.inProgress.delete(running))
    this.inProgress.add(running)
  }

  async stop(): Promise<void> {
    this.stopping.abort(new Error('the server is stopping'))
    await Promise.all(this.inProgress)
  }

  private forgetOld(): void {
    const ended = this.records.filter(({ state }) => state === 'ended')
    const old = new Set(ended.slice(0, Math.max(0, ended.length - endedRunsMax)))
    this.records = this.records.filter((record) => !old.has(record))
  }
}
