/** The parameters of the commit function. */

/** In order; the function prefixes their names with `p_`. Arrays of one group have an element for each row, precondition or range. */
export const parameterTypes = {
  /** The placement whose slot table records the call, the connection, and the number of the call on it. */
  proof: 'int4',
  slot: 'int8',
  number: 'int8',
  /** `procedureFlags`. */
  steps: 'int4',
  /** The prefix of the `versionKey` that all commits of the call require. */
  catalog: 'bytea',
  /** Locked keys: their use by the commit (`lockFlags`), the length of the longest revision required, the new value, and the commit. */
  placements: 'int4[]',
  keys: 'bytea[]',
  wants: 'int2[]',
  lengths: 'int4[]',
  values: 'bytea[]',
  owners: 'int4[]',
  /** Keys required to be absent; those without a value are not written. */
  new_placements: 'int4[]',
  new_keys: 'bytea[]',
  new_values: 'bytea[]',
  new_owners: 'int4[]',
  /** Keys written or, without a value, deleted unconditionally. */
  blind_placements: 'int4[]',
  blind_keys: 'bytea[]',
  blind_values: 'bytea[]',
  blind_owners: 'int4[]',
  /** Preconditions of keys: `preconditionKind`, the index among the locked and new keys, the revision, the position, and the commit. */
  kinds: 'int2[]',
  subjects: 'int4[]',
  prefixes: 'bytea[]',
  positions: 'int4[]',
  expecters: 'int4[]',
  /**
   * Preconditions of ranges: first and last placement, bounds, and the existing keys in hexadecimal digits. For ranges required to be unchanged,
   * instead of keys: `=`, the number of significant bytes of values, `:`, and the content in hexadecimal digits. If there are several placements or
   * parts, the text begins with `#`, and all parts but the last one have `+` instead of the content, which is that of all parts together.
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

/** The parameters that do not depend on the connection. */
export type CommitParameters = Record<Exclude<ParameterName, 'proof' | 'slot' | 'number'>, unknown>

export const parameterNames = Object.keys(parameterTypes) as readonly ParameterName[]

/**
 * The use of a key, as bits. `continues`: locked by one statement together with the preceding key. `mayBeMade`: on Citus, keys of such a statement that
 * are absent are created.
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

/** The tasks of a call of the function, as bits: each unset bit saves a statement. Earlier versions have also sent 2, 4, 8, 16 and 2,048. */
export const procedureFlags = {
  /** The call changes the schema, and excludes all other calls. */
  exclusive: 1,
  put: 32,
  delete: 64,
  /** Some keys are only required to be absent. */
  absentOnly: 128,
  blindPut: 256,
  blindDelete: 512,
  /** The table is distributed and foreign: rows are changed one by one, since others that are in the same placement would be locked too. */
  byRow: 1_024,
  /** Transactions prepared by Citus are completed first: if its coordinator was killed, no lock reveals their invisible rows. */
  recover: 4_096,
  /** Some of the puts are appended: their keys contain placeholders, which the function replaces by numbers. */
  append: 8_192,
  /**
   * There is one commit of packed rows, and each of its new rows is required to be absent. These preconditions, which follow the sent ones in the order
   * of rows, and the owners of new and unconditional rows are omitted.
   */
  newAreAbsent: 16_384,
  /** Ranges are required to be unchanged: all other calls are excluded, since they do not declare which ranges they change. */
  unchangedRanges: 32_768,
} as const

export const preconditionKind = { absent: 0, present: 1, revision: 2 } as const
