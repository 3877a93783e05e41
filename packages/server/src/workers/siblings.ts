/** The other processes that answer on the same port. */
import type { RunRecord } from '../tools/tool-runs.ts'

export interface Siblings {
  /** When the first of them started, in milliseconds of the clock; absent where there are none. */
  readonly upSince?: number
  /** The runs of tools that they know of. */
  toolRuns(): Promise<readonly RunRecord[]>
  /** Stops all of them, this process too. */
  stopAll?(): void
  /** `ownRuns`: what this process tells them when they ask. */
  answerWith(ownRuns: () => readonly RunRecord[]): void
}

export const noSiblings: Siblings = {
  toolRuns: async () => [],
  answerWith: () => undefined,
}
