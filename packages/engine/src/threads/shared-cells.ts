/** Memory that the main thread and one statement thread share: the flag that cancels a statement, and its progress. */

export interface SharedCells {
  /** `[0]`: 1 if the statement is cancelled. `[1]`: incremented with each answer to a `Taking`. */
  readonly flags: Int32Array<SharedArrayBuffer>
  /** Written by the thread alone: see `progressCells`. */
  readonly progress: Float64Array<SharedArrayBuffer>
}

export const cancelFlag = 0
export const answerFlag = 1

export const progressCells = { rows: 0, touched: 1, workedMs: 2, bytesHeld: 3 } as const

export function newSharedCells(): SharedCells {
  return {
    flags: new Int32Array(new SharedArrayBuffer(8)),
    progress: new Float64Array(new SharedArrayBuffer(8 * Object.keys(progressCells).length)),
  }
}
