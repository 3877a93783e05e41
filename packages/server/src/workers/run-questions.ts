/** Questions of workers about the runs of tools that the others know of, passed on and answered once by the primary. */
import type { Worker as Child } from 'node:cluster'
import type { RunRecord } from '../tools/tool-runs.ts'
import { tellWorker } from './messages.ts'

/** Who does not answer for so long is left out of what is told of all. */
const answerMsMax = 1_000

interface Question {
  readonly asker: Child
  /** Of the question, as its asker has it. */
  readonly id: number
  readonly waitedFor: Set<Child>
  readonly runs: RunRecord[]
}

export class RunQuestions {
  private readonly questions = new Map<number, Question>()
  private asked = 0

  ask(asker: Child, id: number, others: readonly Child[]): void {
    const own = ++this.asked
    this.questions.set(own, { asker, id, waitedFor: new Set(others), runs: [] })
    for (const child of others) tellWorker(child, { kind: 'askRuns', id: own })
    if (others.length === 0) this.conclude(own)
    else setTimeout(() => this.conclude(own), answerMsMax).unref()
  }

  answer(child: Child, own: number, runs: readonly RunRecord[]): void {
    this.questions.get(own)?.runs.push(...runs)
    this.giveUp(child, own)
  }

  /** The worker is no more. */
  forget(child: Child): void {
    for (const own of [...this.questions.keys()]) this.giveUp(child, own)
  }

  private giveUp(child: Child, own: number): void {
    const waitedFor = this.questions.get(own)?.waitedFor
    if (waitedFor?.delete(child) === true && waitedFor.size === 0) this.conclude(own)
  }

  private conclude(own: number): void {
    const question = this.questions.get(own)
    if (question === undefined) return
    this.questions.delete(own)
    tellWorker(question.asker, { kind: 'runsElsewhere', id: question.id, runs: question.runs })
  }
}
