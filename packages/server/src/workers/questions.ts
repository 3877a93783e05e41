/** What a worker asks of all others, passed on by the primary, which answers it once. */
import type { Worker as Child } from 'node:cluster'
import type { ReadersRecord } from '../statements/readers.ts'
import type { StatementRecord } from '../statements/statement.ts'
import type { RunRecord } from '../tools/tool-runs.ts'
import { tellWorker } from './messages.ts'

/** A question, and what one worker answers: any number of these. */
export interface Answers {
  /** The runs of tools that it knows of. */
  readonly runs: RunRecord
  /** The statements under way. */
  readonly statements: StatementRecord
  readonly readers: ReadersRecord
  /** The statement that is to be stopped, where it has it. */
  readonly stop: true
}

export type Question =
  | { readonly about: 'runs' }
  | { readonly about: 'statements' }
  | { readonly about: 'readers' }
  | { readonly about: 'stop'; readonly statement: string }

export type Answer = Answers[keyof Answers]

/** Who does not answer for so long is left out of what is told of all. */
const answerMsMax = 1_000

interface Asked {
  readonly asker: Child
  /** Of the question, as its asker has it. */
  readonly id: number
  readonly waitedFor: Set<Child>
  readonly answers: Answer[]
}

export class Questions {
  private readonly underWay = new Map<number, Asked>()
  private asked = 0

  ask(asker: Child, id: number, question: Question, others: readonly Child[]): void {
    const own = ++this.asked
    this.underWay.set(own, { asker, id, waitedFor: new Set(others), answers: [] })
    for (const child of others) tellWorker(child, { kind: 'asked', id: own, question })
    if (others.length === 0) this.conclude(own)
    else setTimeout(() => this.conclude(own), answerMsMax).unref()
  }

  answer(child: Child, own: number, answers: readonly Answer[]): void {
    this.underWay.get(own)?.answers.push(...answers)
    this.giveUp(child, own)
  }

  /** The worker is no more. */
  forget(child: Child): void {
    for (const own of [...this.underWay.keys()]) this.giveUp(child, own)
  }

  private giveUp(child: Child, own: number): void {
    const waitedFor = this.underWay.get(own)?.waitedFor
    if (waitedFor?.delete(child) === true && waitedFor.size === 0) this.conclude(own)
  }

  private conclude(own: number): void {
    const asked = this.underWay.get(own)
    if (asked === undefined) return
    this.underWay.delete(own)
    tellWorker(asked.asker, { kind: 'answered', id: asked.id, answers: asked.answers })
  }
}
