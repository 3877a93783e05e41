/** The commit function in the database: what it does, and its versions. */
import { commitSql } from './commit-sql.ts'
import type { Tables } from './tables.ts'

/** The error of a commit whose connection was declared dead meanwhile: nothing of it was done. */
export const fencedSqlState = 'ASH01'

/**
 * Of its body, to be increased with every change of that: a store whose function has a lower version gets this one when it is opened.
 * The parameters, what is locked and in which order, and what is noted stay as they are within a version of the tables, so that servers which know
 * different versions use whichever is there, at the same time.
 */
export const commitFunctionVersion = 8

/** By so much each call takes the sequence of numbers further: a call has no more commits. */
export const numbersOfCall = 128
/** Of the row of the sequence: none so far is 0. */
export const lastGivenNumber = `CASE WHEN is_called THEN last_value + ${numbersOfCall - 1} ELSE 0 END::text`

/** In the body; the first version has no such line. */
export const commitFunctionMark = '-- version '

/**
 * Makes several commits, each wholly or not at all, that have no key in common which one of them changes or keeps others from
 * changing. Keys come in order of placement and key, each once: all locks are taken in that order, so that calls never wait for
 * each other in a circle. Each key is locked as weakly as keeps others from changing what is required of it. Then rows that
 * are required to be absent are inserted, which keeps others from inserting them; one without a value is only to be absent. Who
 * inserts waits for others who insert only, and they go in order too. Then preconditions are looked at in the order sent, what
 * losing commits have inserted is deleted again, so that no error is written to the server's log, and the changes of the others
 * are made; what is put or deleted without any precondition is neither locked nor looked at before. READ COMMITTED is needed: a
 * snapshot taken before a lock was waited for would show stale values. Owners are the numbers of commits, from 1. Returns the
 * positions of preconditions that do not hold, the first of each commit that failed; 0 stands for that of the `versionKey`,
 * `p_catalog`, which all require alike. `p_proof` is the placement beside which the call is noted as done.
 */
export function commitFunction(tables: Tables): string {
  return commitSql(tables, {
    version: `${commitFunctionMark}${commitFunctionVersion}`,
    numbers: numbersOf(tables),
    numbers_of_call: String(numbersOfCall),
    fenced: fencedSqlState,
  })
}

/** The sequence of the numbers that calls give. */
export function numbersOf({ schema }: Tables): string {
  return `${schema}.appended`
}
