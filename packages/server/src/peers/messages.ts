/** What the primary and its workers tell each other. */
import type { Worker as Child } from 'node:cluster'
import type { Config } from '../config/config.ts'
import type { Answer, Question } from './question.ts'

export type ToWorker =
  /** `upSince`: when the server started, in milliseconds of the clock. */
  | { readonly kind: 'start'; readonly config: Config; readonly upSince: number }
  | { readonly kind: 'stop' }
  /** Files are to be read again: the certificate and the like. */
  | { readonly kind: 'reload' }
  /** By another worker. */
  | { readonly kind: 'asked'; readonly id: number; readonly question: Question }
  /** By all others. */
  | { readonly kind: 'answered'; readonly id: number; readonly answers: readonly Answer[] }

export type ToPrimary =
  /** From now on it hears what it is told; what was sent before would be lost. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly url: string; readonly stores: readonly StoreSummary[] }
  /** It was asked to stop the server. */
  | { readonly kind: 'stopAll' }
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question }
  | { readonly kind: 'answer'; readonly id: number; readonly answers: readonly Answer[] }

/** What the line at the start tells of a federated database. */
export interface StoreSummary {
  readonly alias: string
  readonly kind: string
  readonly location: string
}

/** Does nothing where the worker has disconnected. */
export function sendToWorker(child: Child, message: ToWorker): void {
  if (child.isConnected()) child.send(message, undefined, () => undefined)
}
