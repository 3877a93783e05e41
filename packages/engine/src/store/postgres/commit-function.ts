/** The commit function in the database: its specification and its versions. */
import { commitSql } from './commit-sql.ts'
import type { Tables } from './tables.ts'

/** The SQLSTATE of a commit whose connection was fenced meanwhile: nothing of it was done. */
export const fencedSqlState = 'ASH01'

/**
 * Must be increased with every change of the body: opening a store whose function has a lower version replaces it. Parameters, lock order and
 * recorded outcomes stay the same within a version of the tables, so that servers of different versions can use the function concurrently, whichever
 * version it has.
 */
export const commitFunctionVersion = 8

/** Each call increments the sequence of numbers by this much: no call has more commits. */
export const numbersOfCall = 128
/** From the row of the sequence; 0 if there are none. */
export const lastAssignedNumber = `CASE WHEN is_called THEN last_value + ${numbersOfCall - 1} ELSE 0 END::text`

/** Precedes the version in the body; the first version has no such line. */
export const commitFunctionMark = '-- version '

/**
 * Executes several commits, each atomically, that have no key in common which one of them changes or locks against changes.
 * Keys are distinct and ordered by placement and key: all locks are acquired in that order, so that calls never deadlock. Each key is locked as
 * weakly as its preconditions and changes permit. Then rows required to be absent are inserted, which excludes concurrent insertions; a key without a
 * value is only required to be absent. Insertions wait only for other insertions, in the same order.
 * Then preconditions are checked in the order sent, insertions of failed commits are deleted again, so that no error is written to the server's log,
 * and the changes of the remaining commits are made; unconditional changes are neither locked nor read before. READ COMMITTED is required: a snapshot
 * taken before waiting for a lock would show stale values.
 * Owners are the numbers of commits, from 1. Returns the positions of violated preconditions, the first of each failed commit; 0 denotes that of
 * the `versionKey`, `p_catalog`, which all commits share. `p_proof` is the placement in whose slot table the call is recorded as done.
 */
export function commitFunction(tables: Tables): string {
  return commitSql(tables, {
    version: `${commitFunctionMark}${commitFunctionVersion}`,
    numbers: numbersOf(tables),
    numbers_of_call: String(numbersOfCall),
    fenced: fencedSqlState,
  })
}

/** The sequence of commit numbers. */
export function numbersOf({ schema }: Tables): string {
  return `${schema}.appended`
}
