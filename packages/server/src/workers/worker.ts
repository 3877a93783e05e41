/** One of several processes that serve the same federated databases on one port; the primary starts and stops it. */

import type { Config } from '../config/config.ts'
import type { Answers, PeerReply, Peers, Question, ToPrimary, ToWorker } from '../peers/peers.ts'
import type { RunningServer } from '../start-server.ts'

export class Worker implements Peers {
  private readonly questions = new Map<number, (answers: readonly PeerReply[]) => void>()
  /** When the server started, in milliseconds of the clock. */
  upSince = performance.timeOrigin
  private lastId = 0
  private answer: (question: Question) => readonly PeerReply[] = () => []

  configured(): Promise<Config> {
    return new Promise((resolve) => {
      process.on('message', (message: ToWorker) => {
        if (message.kind === 'start') {
          this.upSince = message.upSince
          resolve(message.config)
        }
        if (message.kind === 'asked') {
          sendToPrimary({ kind: 'answer', id: message.id, answers: this.answer(message.question) })
        }
        if (message.kind !== 'answered') return
        this.questions.get(message.id)?.(message.answers)
        this.questions.delete(message.id)
      })
      sendToPrimary({ kind: 'ready' })
    })
  }

  /** Reports to the primary that the worker serves; it then stops on request of the primary, or when the primary is gone. */
  reportListening({ url, federatedDatabases, reload, stop }: RunningServer): void {
    process.on('message', (message: ToWorker) => {
      if (message.kind === 'stop') void stop()
      if (message.kind === 'reload') reload()
    })
    const stores = federatedDatabases.map(({ alias, store: { capabilities } }) => {
      return { alias, kind: capabilities.kind, location: capabilities.location }
    })
    sendToPrimary({ kind: 'listening', url, stores })
  }

  stopAll(): void {
    sendToPrimary({ kind: 'stopAll' })
  }

  gather<About extends keyof Answers>(
    question: Question & { readonly about: About },
  ): Promise<readonly Answers[About][]> {
    const id = ++this.lastId
    return new Promise((resolve) => {
      // Answers have the type of the question.
      this.questions.set(id, (answers) => resolve(answers as readonly Answers[About][]))
      sendToPrimary({ kind: 'ask', id, question })
    })
  }

  onGather(answer: (question: Question) => readonly PeerReply[]): void {
    this.answer = answer
  }
}

/** Ignores a closed channel: if the primary is gone, so are its workers. */
function sendToPrimary(message: ToPrimary): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined)
}
