/** Communication among the processes of a server, and the messages between primary and workers. */

import type { Worker as Child } from 'node:cluster'
import type { Config } from '../config/config.ts'
import type { ReadMetric } from '../metrics/metric.ts'
import type { ReadersRecord } from '../statements/aborted-replies.ts'
import type { StatementRecord, Whose } from '../statements/statement.ts'
import type { RunRecord } from '../tools/tool-runs.ts'

export interface Peers {
  /** Start of the first process, in milliseconds of the clock; absent for a single process. */
  readonly upSince?: number
  /** Collects the answers of all other processes. */
  gather<About extends keyof Answers>(
    question: Question & { readonly about: About },
  ): Promise<readonly Answers[About][]>
  /** Stops all processes of the server, including this one. */
  stopAll?(): void
  /** `answer`: returns the answers of this process to a question of another one. */
  onGather(answer: (question: Question) => readonly PeerReply[]): void
}

export const noPeers: Peers = {
  gather: async () => [],
  onGather: () => undefined,
}

/** The type of answer to each kind of question; a worker may return any number of answers. */
export interface Answers {
  /** Runs of tools known to the process. */
  readonly runs: RunRecord
  readonly statements: StatementRecord
  readonly readers: ReadersRecord
  /** One answer holds all metrics of a process. */
  readonly metrics: readonly ReadMetric[]
  /** Sent only by the process that stops the statement. */
  readonly stop: true
}

export type Question =
  | { readonly about: 'runs' }
  /** `whose`: restricts the list to one caller. */
  | { readonly about: 'statements'; readonly whose: Whose | undefined }
  | { readonly about: 'readers' }
  | { readonly about: 'metrics' }
  | { readonly about: 'stop'; readonly statement: string; readonly whose: Whose | undefined }

export type PeerReply = Answers[keyof Answers]

export type ToWorker =
  /** `upSince`: when the server started, in milliseconds of the clock. */
  | { readonly kind: 'start'; readonly config: Config; readonly upSince: number }
  | { readonly kind: 'stop' }
  /** Makes the worker reload files such as the certificate. */
  | { readonly kind: 'reload' }
  | { readonly kind: 'asked'; readonly id: number; readonly question: Question }
  | { readonly kind: 'answered'; readonly id: number; readonly answers: readonly PeerReply[] }

export type ToPrimary =
  /** Sent when the process can receive messages; earlier messages would be lost. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly url: string; readonly stores: readonly StoreSummary[] }
  /** Requested by a client that stops the server. */
  | { readonly kind: 'stopAll' }
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question }
  | { readonly kind: 'answer'; readonly id: number; readonly answers: readonly PeerReply[] }

/** A federated database in the log line of the start. */
export interface StoreSummary {
  readonly alias: string
  readonly kind: string
  readonly location: string
}

/** Does nothing if the worker has disconnected. */
export function sendToWorker(child: Child, message: ToWorker): void {
  if (child.isConnected()) child.send(message, undefined, () => undefined)
}
