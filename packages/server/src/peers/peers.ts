/** The other processes that answer on the same port. */
import type { Answer, Answers, Question } from './question.ts'

export interface Peers {
  /** When the first of them started, in milliseconds of the clock; absent where there are none. */
  readonly upSince?: number
  /** What all of them answer. */
  gather<About extends keyof Answers>(
    question: Question & { readonly about: About },
  ): Promise<readonly Answers[About][]>
  /** Stops all of them, this process too. */
  stopAll?(): void
  /** `answer`: what this process tells them when they ask. */
  onGather(answer: (question: Question) => readonly Answer[]): void
}

export const noPeers: Peers = {
  gather: async () => [],
  onGather: () => undefined,
}
