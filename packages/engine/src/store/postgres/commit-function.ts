/** The commit function in the database: its steps, and its versions. */
import { appendedKeyBytes, appendNumberBytes, appendPrefixBytes } from '../append.ts'
import { lockFlags, preconditionKind, procedureFlags as steps } from './commit-parameters.ts'
import { aboveAllKeys, byStrength, checkKeys, contentText, entryContent, signature } from './commit-sql.ts'
import type { Tables } from './tables.ts'

/** The SQLSTATE of a commit whose connection was fenced meanwhile: nothing of it was done. */
export const fencedSqlState = 'ASH01'

/**
 * Must be increased with every change of a body: opening a store whose function has a lower version replaces it. Parameters, lock order and
 * recorded outcomes stay the same within a version of the tables, so that servers of different versions can use the function concurrently, whichever
 * version it has.
 */
export const commitFunctionVersion = 9

/** Each call increments the sequence of numbers by this much: no call has more commits. */
export const numbersOfCall = 128
/** From the row of the sequence; 0 if there are none. */
export const lastAssignedNumber = `CASE WHEN is_called THEN last_value + ${numbersOfCall - 1} ELSE 0 END::text`

/** Precedes the version in the body; the first version has no such line. */
export const commitFunctionMark = '-- version '

/** The sequence of commit numbers. */
export function numbersOf(schema: string): string {
  return `${schema}.appended`
}

/** From this number on, probably new rows are inserted as such, all or none: the server then searches and logs each key once instead of twice. */
const manyRows = 256

const { put, absent, rangeLock } = lockFlags
const removed = lockFlags.delete

/**
 * Executes several commits, each atomically, that have no key in common which one of them changes or locks against changes.
 * Keys are distinct and ordered by placement and key: all locks are acquired in that order, so that calls never deadlock. Each key is locked as
 * weakly as its preconditions and changes permit. Then rows required to be absent are inserted, which excludes concurrent insertions; a key without a
 * value is only required to be absent. Insertions wait only for other insertions, in the same order.
 * Then preconditions are checked in the order sent, insertions of failed commits are deleted again, so that no error is written to the server's log,
 * and the changes of the remaining commits are made; unconditional changes are neither locked nor read before. READ COMMITTED is required: a snapshot
 * taken before waiting for a lock would show stale values.
 * Owners are the numbers of commits, from 1. Returns the positions of violated preconditions, the first of each failed commit; 0 denotes that of
 * the `versionKey`, `p_catalog`, which all commits share.
 */
export function commitFunction({ schema, keys }: Tables): string {
  const kv = `${schema}.kv`
  const appended = `(p = ${keys.appendPlacement} AND ${hasPlaceholder})`
  return `
CREATE SEQUENCE IF NOT EXISTS ${numbersOf(schema)} INCREMENT ${numbersOfCall} START ${numbersOfCall};
CREATE OR REPLACE FUNCTION ${signature(schema)} AS $body$
${commitFunctionMark}${commitFunctionVersion}
DECLARE
  r record;
  locked int4 := coalesce(array_length(p_keys, 1), 0);
  is_there bool[] := array_fill(false, ARRAY[locked]);
  is_own bool[] := array_fill(false, ARRAY[locked]);
  heads bytea[];
  own bytea[] := '{}';
  is_all_new bool := true;
  is_new_own bool[];
  run_start int4 := 1;
  run_end int4;
  wants int4;
  one_placement int4;
  one_key bytea;
  v bytea;
  found_it bool;
  lost int4[] := '{}';
  losers int4[] := '{}';
  first_number int8;
BEGIN
  ${lockCatalog(schema)}
  ${checkVersion(kv, keys.versionKey)}
  ${lockKeys(kv)}
  ${insertNew(kv)}
  ${checkKeys('NOT is_new_own[r.s - locked]', `s <= locked OR NOT is_all_new OR k <> ${preconditionKind.absent}`)}
  ${checkNewRows}
  ${checkRanges(kv)}
  ${undoFailed(kv)}
  ${changeLocked(kv)}
  ${changeBlind(kv, appended)}
  ${append(kv, numbersOf(schema), appended)}
  ${recordProof(`${schema}.slot`)}
  RETURN lost;
END $body$;
`
}

/** No other number has its highest bit set, and other keys have different lengths. */
const hasPlaceholder = String.raw`length(k) = ${appendedKeyBytes} AND substr(k, ${appendPrefixBytes + 1}, 1) >= '\x80'::bytea`

/** Uses a hash table: as a separate condition, `IN` would be a join, which the server plans for few rows. */
const isOwn = '((k IN (SELECT unnest(own))) IS TRUE)'

/** Arrays as rows: `unnest` of several arrays as a table would first copy them to a temporary table. */
const newRows = '(SELECT unnest(p_new_placements), unnest(p_new_keys), unnest(p_new_values)) AS u(p, k, x)'
const blindRows =
  '(SELECT unnest(p_blind_placements), unnest(p_blind_keys), unnest(p_blind_values), unnest(p_blind_owners)) AS u(p, k, x, c)'

export function lockCatalog(schema: string): string {
  return `
  IF p_steps & ${steps.exclusive} <> 0 THEN
    LOCK TABLE ${schema}.catalog_lock IN ACCESS EXCLUSIVE MODE;
  ELSIF p_steps & ${steps.unchangedRanges} <> 0 THEN
    LOCK TABLE ${schema}.catalog_lock IN SHARE ROW EXCLUSIVE MODE;
  ELSE
    LOCK TABLE ${schema}.catalog_lock IN ROW EXCLUSIVE MODE;
  END IF;`
}

/** `table`: the one with the first placement. */
export function checkVersion(table: string, versionKey: Uint8Array): string {
  const key = Buffer.from(versionKey).toString('hex')
  return String.raw`
  IF p_catalog IS NOT NULL THEN
    SELECT value INTO v FROM ${table} WHERE placement = 0 AND key = '\x${key}'::bytea;
    IF v IS NULL OR substr(v, 1, length(p_catalog)) <> p_catalog THEN
      RETURN ARRAY[0];
    END IF;
  END IF;`
}

/** Adjacent keys with the same lock are one statement, which locks them in their order. A row that may be absent is inserted first. */
function lockKeys(kv: string): string {
  const lockRun = (strength: string): string => `
      IF run_end = run_start THEN
        SELECT value INTO v FROM ${kv} WHERE placement = one_placement AND key = one_key FOR ${strength};
        is_there[run_start] := FOUND;
        heads[run_start] := substr(v, 1, greatest(p_lengths[run_start], 0));
      ELSE
        FOR r IN SELECT u.i, substr(kv.value, 1, greatest(u.n, 0)) AS head
          FROM unnest(p_placements[run_start:run_end], p_keys[run_start:run_end], p_lengths[run_start:run_end]) WITH ORDINALITY AS u(p, k, n, i)
          JOIN ${kv} AS kv ON kv.placement = u.p AND kv.key = u.k ORDER BY u.i FOR ${strength} OF kv
        LOOP
          is_there[run_start + r.i - 1] := true;
          heads[run_start + r.i - 1] := r.head;
        END LOOP;
      END IF;`
  return `
  WHILE run_start <= locked LOOP
    wants := p_wants[run_start];
    one_placement := p_placements[run_start];
    one_key := p_keys[run_start];
    run_end := run_start;
    WHILE run_end < locked AND p_wants[run_end + 1] & ${lockFlags.continues} <> 0 LOOP
      run_end := run_end + 1;
    END LOOP;
    IF wants & ${absent} <> 0 OR wants & ${put | rangeLock} = ${put | rangeLock} THEN
      -- WHERE false leaves an existing row unchanged, but locks it.
      INSERT INTO ${kv} AS kv VALUES (one_placement, one_key, coalesce(p_values[run_start], ''::bytea))
        ON CONFLICT (placement, key) DO UPDATE SET value = kv.value WHERE false;
      is_own[run_start] := FOUND;
    END IF;
    IF is_own[run_start] THEN
      own := own || one_key;
    ELSIF ${byStrength('wants', lockRun)}
    run_start := run_end + 1;
  END LOOP;`
}

/** A caught error is not written to the server's log, but all rows are then inserted again: too costly for what few rows would gain. */
function insertNew(kv: string): string {
  const insert = `INSERT INTO ${kv} SELECT p, k, coalesce(x, ''::bytea) FROM ${newRows}`
  const insertSome = `
      WITH inserted AS (
        ${insert} ON CONFLICT DO NOTHING RETURNING key
      )
      SELECT own || coalesce(array_agg(key), '{}'), count(*) = array_length(p_new_keys, 1) INTO own, is_all_new FROM inserted;`
  return `
  -- The rows of one large commit are sent without owners.
  IF p_steps & ${steps.newAreAbsent} <> 0 THEN
    p_new_owners := array_fill(1, ARRAY[coalesce(array_length(p_new_keys, 1), 0)]);
    p_blind_owners := array_fill(1, ARRAY[coalesce(array_length(p_blind_keys, 1), 0)]);
  END IF;
  IF array_length(p_new_keys, 1) >= ${manyRows} THEN
    BEGIN
      ${insert};
      own := own || p_new_keys;
    EXCEPTION WHEN unique_violation THEN
      ${insertSome}
    END;
  ELSIF array_length(p_new_keys, 1) > 0 THEN
    ${insertSome}
  END IF;
  IF NOT is_all_new THEN
    SELECT array_agg(${isOwn} ORDER BY i) INTO is_new_own FROM unnest(p_new_keys) WITH ORDINALITY AS u(k, i);
  END IF;`
}

const checkNewRows = `
  -- The preconditions of the new rows of one large commit are not sent individually.
  IF p_steps & ${steps.newAreAbsent} <> 0 AND NOT is_all_new AND losers = '{}' THEN
    lost := ARRAY[coalesce(array_length(p_positions, 1), 0) + array_position(is_new_own, false)];
    losers := '{1}';
  END IF;`

/** The first range of each commit that is not as required. It may precede a key precondition that has already failed. */
function checkRanges(kv: string): string {
  const from = '(u.f, u.a)'
  const to = `(u.l, coalesce(u.b, ${aboveAllKeys}))`
  return `
  IF array_length(p_range_positions, 1) > 0 THEN
    FOR r IN
      SELECT min(i) AS i, c FROM (
        SELECT i, c, CASE
          WHEN bool_and(is_content) THEN ${contentText("string_agg(found.content, ''::bytea ORDER BY n)")}
            = string_agg(rtrim(split_part(h, ':', 2), '+'), '' ORDER BY n)
          ELSE string_agg(found.keys, ';' ORDER BY n) = string_agg(h, ';' ORDER BY n) END AS holds
        FROM (
          SELECT *, left(h, 1) IN ('#', '=') AS is_content
            FROM unnest(p_range_positions, p_range_owners, p_range_first, p_range_last, p_range_from, p_range_to, p_range_holds)
              WITH ORDINALITY AS part(i, c, f, l, a, b, h, n)
        ) AS u
        CROSS JOIN LATERAL (
          SELECT coalesce(string_agg(CASE WHEN u.is_content THEN ${entryContent("substr(split_part(u.h, ':', 1), 2)::int4")} END, ''::bytea ORDER BY key), '') AS content,
              coalesce(string_agg(CASE WHEN NOT u.is_content THEN encode(key, 'hex') END, ',' ORDER BY key), '') AS keys
            FROM ${kv} WHERE (placement, key) >= ${from} AND (placement, key) < ${to}
              AND key >= u.a AND key < coalesce(u.b, ${aboveAllKeys}) AND NOT key = ANY (own)
        ) AS found
        GROUP BY i, c
      ) AS checked WHERE NOT holds GROUP BY c
    LOOP
      IF r.c = ANY (losers) THEN
        lost[array_position(losers, r.c)] := least(r.i, lost[array_position(losers, r.c)]);
      ELSE
        lost := lost || r.i;
        losers := losers || r.c;
      END IF;
    END LOOP;
  END IF;`
}

function undoFailed(kv: string): string {
  return `
  IF losers <> '{}' THEN
    DELETE FROM ${kv} USING unnest(p_placements, p_keys, is_own, p_owners) AS u(p, k, o, c)
      WHERE placement = p AND key = k AND o AND c = ANY (losers);
    IF array_length(p_new_keys, 1) > 0 THEN
      DELETE FROM ${kv} USING unnest(p_new_placements, p_new_keys, p_new_owners) AS u(p, k, c)
        WHERE placement = p AND key = k AND c = ANY (losers) AND ${isOwn};
    END IF;
  END IF;`
}

/** Rows inserted by locking already have their values. */
function changeLocked(kv: string): string {
  return `
  IF p_steps & ${steps.put} <> 0 THEN
    UPDATE ${kv} SET value = x FROM unnest(p_placements, p_keys, p_wants, p_values, p_owners, is_own) AS u(p, k, w, x, c, o)
      WHERE placement = p AND key = k AND w & ${put} <> 0 AND NOT o AND NOT c = ANY (losers);
  END IF;
  IF p_steps & ${steps.delete} <> 0 THEN
    DELETE FROM ${kv} USING unnest(p_placements, p_keys, p_wants, p_owners, is_own) AS u(p, k, w, c, o)
      WHERE placement = p AND key = k AND (w & ${removed} <> 0 OR o AND w & ${put} = 0) AND NOT c = ANY (losers);
  END IF;
  IF p_steps & ${steps.absentOnly} <> 0 THEN
    DELETE FROM ${kv} USING unnest(p_new_placements, p_new_keys, p_new_values, p_new_owners) AS u(p, k, x, c)
      WHERE placement = p AND key = k AND x IS NULL AND NOT c = ANY (losers);
  END IF;`
}

function changeBlind(kv: string, appended: string): string {
  const insert = `INSERT INTO ${kv} SELECT p, k, x FROM ${blindRows} WHERE x IS NOT NULL AND NOT c = ANY (losers) AND NOT ${appended}`
  const insertOrUpdate = `${insert} ON CONFLICT (placement, key) DO UPDATE SET value = excluded.value`
  return `
  IF p_steps & ${steps.blindDelete} <> 0 THEN
    DELETE FROM ${kv} USING unnest(p_blind_placements, p_blind_keys, p_blind_values, p_blind_owners) AS u(p, k, x, c)
      WHERE placement = p AND key = k AND x IS NULL AND NOT c = ANY (losers);
  END IF;
  IF p_steps & ${steps.blindPut} <> 0 AND array_length(p_blind_keys, 1) >= ${manyRows} THEN
    BEGIN
      ${insert};
    EXCEPTION WHEN unique_violation THEN
      ${insertOrUpdate};
    END;
  ELSIF p_steps & ${steps.blindPut} <> 0 THEN
    ${insertOrUpdate};
  END IF;`
}

/** The number is assigned last: commits that change one of the same keys wait for the end of this one, and get greater numbers. */
function append(kv: string, numbers: string, appended: string): string {
  return `
  IF p_steps & ${steps.append} <> 0 THEN
    first_number := nextval('${numbers}');
    INSERT INTO ${kv}
      SELECT p, overlay(k PLACING int8send(first_number + c) FROM ${appendPrefixBytes + 1} FOR ${appendNumberBytes}), x
        FROM unnest(p_blind_placements, p_blind_keys, p_blind_values, p_blind_owners) AS u(p, k, x, c)
        WHERE x IS NOT NULL AND NOT c = ANY (losers) AND ${appended};
  END IF;`
}

/** Affects no row if the connection is fenced. */
export function recordProof(slot: string): string {
  return `
  UPDATE ${slot} SET last = p_number, failed = lost, at = now()
    WHERE placement = p_proof AND slot = p_slot AND NOT is_fenced;
  IF NOT FOUND THEN
    INSERT INTO ${slot} VALUES (p_proof, p_slot, p_number, lost, false, now()) ON CONFLICT DO NOTHING;
  END IF;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the connection was taken for dead' USING ERRCODE = '${fencedSqlState}';
  END IF;`
}
