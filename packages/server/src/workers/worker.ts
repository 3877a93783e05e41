/** One of several processes that serve the same federated databases on one port; the primary starts and stops it. */

import type { Config } from '../config/config.ts'
import type { RunningServer } from '../start-server.ts'
import type { RunRecord } from '../tools/tool-runs.ts'
import type { ToPrimary, ToWorker } from './messages.ts'
import type { Siblings } from './siblings.ts'

export class Worker implements Siblings {
  private readonly questions = new Map<number, (runs: readonly RunRecord[]) => void>()
  /** When the server started, in milliseconds of the clock. */
  upSince = performance.timeOrigin
  private asked = 0
  private ownRuns: () => readonly RunRecord[] = () => []

  /** Resolves with what it is to serve. */
  configured(): Promise<Config> {
    return new Promise((resolve) => {
      process.on('message', (message: ToWorker) => {
        if (message.kind === 'start') {
          this.upSince = message.upSince
          resolve(message.config)
        }
        if (message.kind === 'askRuns') tell({ kind: 'runs', id: message.id, runs: this.ownRuns() })
        if (message.kind !== 'runsElsewhere') return
        this.questions.get(message.id)?.(message.runs)
        this.questions.delete(message.id)
      })
      tell({ kind: 'ready' })
    })
  }

  /** Tells the primary that it serves; from then on it stops when the primary says so, or is no more. */
  serves({ url, federatedDatabases, stop }: RunningServer): void {
    process.on('message', (message: ToWorker) => {
      if (message.kind === 'stop') void stop()
    })
    const stores = federatedDatabases.map(({ alias, store: { facts } }) => {
      return { alias, kind: facts.kind, location: facts.location }
    })
    tell({ kind: 'listening', url, stores })
  }

  stopAll(): void {
    tell({ kind: 'stopAll' })
  }

  toolRuns(): Promise<readonly RunRecord[]> {
    const id = ++this.asked
    return new Promise((resolve) => {
      this.questions.set(id, resolve)
      tell({ kind: 'askRuns', id })
    })
  }

  answerWith(ownRuns: () => readonly RunRecord[]): void {
    this.ownRuns = ownRuns
  }
}

/** A primary that is gone takes its workers along: what could not be told does not matter any more. */
function tell(message: ToPrimary): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined)
}
