/** The meaning of the parameters of the commit function. */

/**
 * What a key is to a commit, as bits. `mayBeMade`: it need not be there, and is then made. `continues`: one statement locks it
 * together with the key before it.
 */
export const lockFlags = {
  absent: 1,
  revision: 2,
  put: 4,
  delete: 8,
  rangeLock: 16,
  mayBeMade: 32,
  continues: 64,
} as const

/** What a call of the function has to do, as bits: each spares a statement where it is not needed. */
export const procedureFlags = {
  /** It changes the schema: it is alone. */
  exclusive: 1,
  /** All locks are of one strength, and are taken by one statement. */
  lockPresent: 2,
  lockRevision: 4,
  lockPut: 8,
  lockDelete: 16,
  put: 32,
  delete: 64,
  /** Some keys are only to be absent. */
  absentOnly: 128,
  blindPut: 256,
  blindDelete: 512,
  /** The table is distributed: all keys are among those that are locked, and each row is found by its placement and key alone. */
  byRow: 1_024,
  /** As byRow, but rows of one placement are changed by one statement. */
  byPlacement: 2_048,
  /** What Citus has prepared and not yet committed is brought to its end first: no lock tells of it once its coordinator was killed. */
  recover: 4_096,
  /** Some of what is put is appended: its keys have numbers that the function replaces. */
  append: 8_192,
  /**
   * There is one commit. Each of its new rows is required to be absent, in their order and after the preconditions that are sent: these, and the owners
   * of new and unconditional rows, are left out.
   */
  newAreAbsent: 16_384,
} as const

export const preconditionKind = { absent: 0, present: 1, revision: 2 } as const
