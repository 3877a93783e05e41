/** Forwards questions of a worker to all workers through the primary, which returns their answers together. */
import type { Worker as Child } from 'node:cluster'
import { type PeerReply, type Question, sendToWorker } from './peers.ts'

/** A worker without an answer after this time is left out. */
const answerMsMax = 1_000

interface PendingRequest {
  readonly sender: Child
  /** The number that the requesting worker has assigned. */
  readonly id: number
  readonly pending: Set<Child>
  readonly answers: PeerReply[]
}

export class GatherRequests {
  private readonly inProgress = new Map<number, PendingRequest>()
  private lastId = 0

  start(sender: Child, id: number, question: Question, others: readonly Child[]): void {
    const own = ++this.lastId
    this.inProgress.set(own, { sender, id, pending: new Set(others), answers: [] })
    for (const child of others) sendToWorker(child, { kind: 'asked', id: own, question })
    if (others.length === 0) this.finish(own)
    else setTimeout(() => this.finish(own), answerMsMax).unref()
  }

  addAnswers(child: Child, own: number, answers: readonly PeerReply[]): void {
    this.inProgress.get(own)?.answers.push(...answers)
    this.stopWaitingFor(child, own)
  }

  /** Call when the worker has ended. */
  removeWorker(child: Child): void {
    for (const own of [...this.inProgress.keys()]) this.stopWaitingFor(child, own)
  }

  private stopWaitingFor(child: Child, own: number): void {
    const pending = this.inProgress.get(own)?.pending
    if (pending?.delete(child) === true && pending.size === 0) this.finish(own)
  }

  private finish(own: number): void {
    const request = this.inProgress.get(own)
    if (request === undefined) return
    this.inProgress.delete(own)
    sendToWorker(request.sender, { kind: 'answered', id: request.id, answers: request.answers })
  }
}
