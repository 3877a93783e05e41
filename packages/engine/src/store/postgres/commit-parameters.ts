/** The parameters of the commit function, and their meaning. */

/** In the order of the function, whose names of them begin with `p_`. Arrays of one group have an element for each row, precondition or range. */
export const parameterTypes = {
  /** The placement beside which the call is noted as done, the connection, and the number of the call on it. */
  proof: 'int4',
  slot: 'int8',
  number: 'int8',
  /** `procedureFlags`. */
  steps: 'int4',
  /** The prefix of the `versionKey` that all commits of the call require. */
  catalog: 'bytea',
  /** Keys that are locked: what each is to its commit (`lockFlags`), the bytes of its longest revision, its new value, and its commit. */
  placements: 'int4[]',
  keys: 'bytea[]',
  wants: 'int2[]',
  lengths: 'int4[]',
  values: 'bytea[]',
  owners: 'int4[]',
  /** Keys that are required to be absent; those without a value are not written. */
  new_placements: 'int4[]',
  new_keys: 'bytea[]',
  new_values: 'bytea[]',
  new_owners: 'int4[]',
  /** Keys that are written or, without a value, deleted, whatever is there. */
  blind_placements: 'int4[]',
  blind_keys: 'bytea[]',
  blind_values: 'bytea[]',
  blind_owners: 'int4[]',
  /** Preconditions of keys: `preconditionKind`, which of the locked and new keys, the revision, the position, and whose they are. */
  kinds: 'int2[]',
  subjects: 'int4[]',
  prefixes: 'bytea[]',
  positions: 'int4[]',
  expecters: 'int4[]',
  /**
   * Preconditions of ranges: first and last placement, bounds, and the keys that are there, in hexadecimal digits. Of ranges that are required to be unchanged, instead
   * of keys: `=`, the bytes of values that count, `:`, the content in hexadecimal digits. If it has several placements or parts, it begins with `#`, and all parts but the last one have `+`
   * instead of the content, which is that of all together.
   */
  range_positions: 'int4[]',
  range_owners: 'int4[]',
  range_first: 'int4[]',
  range_last: 'int4[]',
  range_from: 'bytea[]',
  range_to: 'bytea[]',
  range_holds: 'text[]',
} as const

type ParameterName = keyof typeof parameterTypes

/** What commits come to, whichever connection sends them. */
export type CommitParameters = Record<Exclude<ParameterName, 'proof' | 'slot' | 'number'>, unknown>

export const parameterNames = Object.keys(parameterTypes) as readonly ParameterName[]

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
  /** What Citus has prepared and not yet committed is brought to its end first: no lock on rows that are not visible yet tells of it once its coordinator was killed. */
  recover: 4_096,
  /** Some of what is put is appended: its keys have numbers that the function replaces. */
  append: 8_192,
  /**
   * There is one commit. Each of its new rows is required to be absent, in their order and after the preconditions that are sent: these, and the owners
   * of new and unconditional rows, are left out.
   */
  newAreAbsent: 16_384,
  /** Ranges are required to be unchanged: all other calls are kept out, since they do not tell which ranges they change. */
  unchangedRanges: 32_768,
} as const

export const preconditionKind = { absent: 0, present: 1, revision: 2 } as const
