/** How the processes of a server ask each other, and the messages between a primary and its workers. */

import type { Worker as Child } from 'node:cluster'
import type { Config } from '../config/config.ts'
import type { ReadMetric } from '../metrics/metric.ts'
import type { ReadersRecord } from '../statements/aborted-replies.ts'
import type { StatementRecord, Whose } from '../statements/statement.ts'
import type { RunRecord } from '../tools/tool-runs.ts'

export interface Peers {
  /** Start of the first process, in milliseconds of the clock; absent for a single process. */
  readonly upSince?: number
  /** Asks all other processes. */
  gather<About extends keyof Answers>(
    question: Question & { readonly about: About },
  ): Promise<readonly Answers[About][]>
  /** Stops all of them, this process too. */
  stopAll?(): void
  /** `answer`: returns the answers of this process to a question of others. */
  onGather(answer: (question: Question) => readonly Answer[]): void
}

export const noPeers: Peers = {
  gather: async () => [],
  onGather: () => undefined,
}

/** A question, and what one worker answers: any number of these. */
export interface Answers {
  /** The runs of tools that it knows of. */
  readonly runs: RunRecord
  /** Statements running in the process. */
  readonly statements: StatementRecord
  readonly readers: ReadersRecord
  /** The metrics of one process are one answer. */
  readonly metrics: readonly ReadMetric[]
  /** The answer of the process that stops the statement. */
  readonly stop: true
}

export type Question =
  | { readonly about: 'runs' }
  /** `whose`: of that caller alone. */
  | { readonly about: 'statements'; readonly whose: Whose | undefined }
  | { readonly about: 'readers' }
  | { readonly about: 'metrics' }
  | { readonly about: 'stop'; readonly statement: string; readonly whose: Whose | undefined }

export type Answer = Answers[keyof Answers]

export type ToWorker =
  /** `upSince`: when the server started, in milliseconds of the clock. */
  | { readonly kind: 'start'; readonly config: Config; readonly upSince: number }
  | { readonly kind: 'stop' }
  /** Tells the worker to read files such as the certificate again. */
  | { readonly kind: 'reload' }
  | { readonly kind: 'asked'; readonly id: number; readonly question: Question }
  | { readonly kind: 'answered'; readonly id: number; readonly answers: readonly Answer[] }

export type ToPrimary =
  /** Sent when the process can receive messages; earlier ones would be lost. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly url: string; readonly stores: readonly StoreSummary[] }
  /** A request asks to stop the server. */
  | { readonly kind: 'stopAll' }
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question }
  | { readonly kind: 'answer'; readonly id: number; readonly answers: readonly Answer[] }

/** A federated database in the line at the start. */
export interface StoreSummary {
  readonly alias: string
  readonly kind: string
  readonly location: string
}

/** Does nothing if the worker has disconnected. */
export function sendToWorker(child: Child, message: ToWorker): void {
  if (child.isConnected()) child.send(message, undefined, () => undefined)
}
