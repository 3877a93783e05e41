/** What the primary and its workers tell each other. */
import type { Worker as Child } from 'node:cluster'
import type { Config } from '../config/config.ts'
import type { RunRecord } from '../tools/tool-runs.ts'

export type ToWorker =
  /** `upSince`: when the server started, in milliseconds of the clock. */
  | { readonly kind: 'start'; readonly config: Config; readonly upSince: number }
  | { readonly kind: 'stop' }
  /** Which runs of tools it knows, for another worker. */
  | { readonly kind: 'askRuns'; readonly id: number }
  /** Those of all others. */
  | { readonly kind: 'runsElsewhere'; readonly id: number; readonly runs: readonly RunRecord[] }

export type ToPrimary =
  /** From now on it hears what it is told; what was sent before would be lost. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly url: string; readonly stores: readonly ServedStore[] }
  /** It was asked to stop the server. */
  | { readonly kind: 'stopAll' }
  | { readonly kind: 'askRuns'; readonly id: number }
  | { readonly kind: 'runs'; readonly id: number; readonly runs: readonly RunRecord[] }

/** What the line at the start tells of a federated database. */
export interface ServedStore {
  readonly alias: string
  readonly kind: string
  readonly location: string
}

/** One that is gone needs to be told nothing. */
export function tellWorker(child: Child, message: ToWorker): void {
  if (child.isConnected()) child.send(message, undefined, () => undefined)
}
