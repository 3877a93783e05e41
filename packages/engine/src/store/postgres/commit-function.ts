/** The commit function in the database, and the meaning of its parameters. */
import { appendedKeyBytes, appendNumberBytes, appendPrefixBytes } from '../append.ts'
import { changeByPlacement, changeByRow, lockInOrder } from './commit-by-row.ts'
import { lockFlags, parameterNames, parameterTypes, preconditionKind, procedureFlags } from './commit-parameters.ts'
import { onTableOf, type Tables, tableOf } from './tables.ts'

/** The error of a commit whose connection was declared dead meanwhile: nothing of it was done. */
export const fencedSqlState = 'ASH01'

/**
 * Of its body, to be increased with every change of that: a store on one node whose function has a lower version gets this one when it is opened.
 * The parameters, what is locked and in which order, and what is noted stay as they are within a version of the tables, so that servers which know
 * different versions use whichever is there, at the same time.
 */
export const commitFunctionVersion = 6

/** From this version on, the function appends. */
export const appendingFunctionVersion = 3

/** By so much each call takes the sequence of numbers further: a call has no more commits. */
export const numbersOfCall = 128
/** Of the row of the sequence: none so far is 0. */
export const lastGivenNumber = `CASE WHEN is_called THEN last_value + ${numbersOfCall - 1} ELSE 0 END::text`

/** From this version on it knows `procedureFlags.newAreAbsent`. */
export const newAreAbsentVersion = 4

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
  const { schema } = tables
  return `
    CREATE SEQUENCE IF NOT EXISTS ${numbersOf(tables)} INCREMENT ${numbersOfCall} START ${numbersOfCall};
    CREATE OR REPLACE FUNCTION ${schema}.commit(
      ${parameterNames.map((name) => `p_${name} ${parameterTypes[name]}`).join(', ')}
    ) RETURNS int4[] LANGUAGE plpgsql AS $body$
    ${commitFunctionMark}${commitFunctionVersion}
    DECLARE
      r record;
      one record;
      is_there bool[];
      is_own bool[];
      heads bytea[];
      own bytea[] := '{}';
      made bytea[];
      locked int4 := coalesce(array_length(p_keys, 1), 0);
      is_all_new bool := true;
      v bytea;
      found_it bool;
      lost int4[] := '{}';
      losers int4[] := '{}';
      held text;
      held_after text;
      first_number int8;
    BEGIN
${noteOwners()}
      IF p_steps & ${procedureFlags.exclusive} <> 0 THEN
        LOCK TABLE ${schema}.catalog_lock IN ACCESS EXCLUSIVE MODE;
        IF p_steps & ${procedureFlags.recover} <> 0 THEN
          PERFORM recover_prepared_transactions();
        END IF;
      ELSE
        LOCK TABLE ${schema}.catalog_lock IN ROW EXCLUSIVE MODE;
      END IF;
      IF p_catalog IS NOT NULL THEN
        SELECT value INTO v FROM ${tableOf(tables, 0)} WHERE placement = 0 AND key = '\\x${Buffer.from(tables.keys.versionKey).toString('hex')}'::bytea;
        IF v IS NULL OR substr(v, 1, length(p_catalog)) <> p_catalog THEN
          RETURN ARRAY[0];
        END IF;
      END IF;
      IF locked > 0 THEN
${lockKeys(tables)}
      END IF;
      IF array_length(p_new_keys, 1) > 0 THEN
${insertNew(schema)}
      END IF;
      IF locked > 0 OR NOT is_all_new THEN
${checkKeys()}
      END IF;
${checkNew()}
${checkRanges(tables)}
${undoInserted(tables)}
${makeChanges(tables)}
${appendEntries(tables)}
${noteAsDone(tables)}
      IF NOT FOUND THEN
        RAISE EXCEPTION 'the connection was taken for dead' USING ERRCODE = '${fencedSqlState}';
      END IF;
      RETURN lost;
    END $body$;
  `
}

/** The sequence of the numbers that calls give. */
export function numbersOf({ schema }: Tables): string {
  return `${schema}.appended`
}

/** Whether the key `k`, in placement `p`, waits for its number: the highest bit of no other number is set. Keys of something else have other lengths. */
function isUnnumbered({ keys }: Tables): string {
  return `(p = ${keys.appendPlacement} AND length(k) = ${appendedKeyBytes} AND substr(k, ${appendPrefixBytes + 1}, 1) >= '\\x80'::bytea)`
}

/**
 * The number is taken when all else is done: whoever changes one of the same keys waits until this commit has ended, and takes its own afterwards. So
 * numbers are in the order of such commits.
 */
function appendEntries(tables: Tables): string {
  return `
      IF p_steps & ${procedureFlags.append} <> 0 THEN
        first_number := nextval('${numbersOf(tables)}');
        INSERT INTO ${tables.schema}.kv
          SELECT p, overlay(k PLACING int8send(first_number + c) FROM ${appendPrefixBytes + 1} FOR ${appendNumberBytes}), x
            FROM unnest(p_blind_placements, p_blind_keys, p_blind_values, p_blind_owners) AS u(p, k, x, c)
            WHERE x IS NOT NULL AND NOT c = ANY (losers) AND ${isUnnumbered(tables)};
      END IF;`
}

/** Finds nothing, and leaves nothing, where the connection is fenced. */
function noteAsDone(tables: Tables): string {
  const update = (slot: string): string => `UPDATE ${slot} SET last = p_number, failed = lost, at = now()
        WHERE placement = p_proof AND slot = p_slot AND NOT is_fenced`
  const insert = (slot: string): string =>
    `INSERT INTO ${slot} VALUES (p_proof, p_slot, p_number, lost, false, now()) ON CONFLICT DO NOTHING`
  return `
      ${onTableOf(tables, 'p_proof', update, 'slot')}
      IF NOT FOUND THEN
        ${onTableOf(tables, 'p_proof', insert, 'slot')}
      END IF;`
}

/** By one statement where all are of one strength; else one by one, as strongly as each has to be. */
function lockKeys(tables: Tables): string {
  const { schema } = tables
  const lockAll = (strength: string): string => `
        FOR r IN SELECT u.i, u.n, kv.value FROM unnest(p_placements, p_keys, p_lengths) WITH ORDINALITY AS u(p, k, n, i)
          JOIN ${schema}.kv ON kv.placement = u.p AND kv.key = u.k ORDER BY u.i FOR ${strength} OF kv
        LOOP
          is_there[r.i] := true;
          IF r.n >= 0 THEN
            heads[r.i] := substr(r.value, 1, r.n);
          END IF;
        END LOOP;`
  return `
        is_own := array_fill(false, ARRAY[locked]);
        is_there := is_own;
        IF p_steps & ${procedureFlags.lockPut} <> 0 THEN ${lockAll('NO KEY UPDATE')}
        ELSIF p_steps & ${procedureFlags.lockPresent} <> 0 THEN ${lockAll('KEY SHARE')}
        ELSIF p_steps & ${procedureFlags.lockDelete} <> 0 THEN ${lockAll('UPDATE')}
        ELSIF p_steps & ${procedureFlags.lockRevision} <> 0 THEN ${lockAll('SHARE')}
        ELSE ${lockInOrder(tables)}
        END IF;`
}

/**
 * So many rows that are most likely new are inserted as if they were, all or none: the server then looks for each key once instead of twice, and
 * logs it once. One that is there after all costs the insertion of all others again, which is too much for what a few rows gain. What is caught
 * is not written to the server's log.
 */
const manyRows = 256

function insertAsNew(keys: string, insert: string, otherwise: string): string {
  return `
        IF array_length(${keys}, 1) >= ${manyRows} THEN
          BEGIN
            ${insert};
          EXCEPTION WHEN unique_violation THEN
            ${otherwise};
          END;
        ELSE
          ${otherwise};
        END IF;`
}

/** As rows of a statement, which has them one by one: those of `unnest` of several arrays as a table are all put into a table of the server's own first. */
function sideBySide(...arrays: readonly string[]): string {
  return `(SELECT ${arrays.map((array) => `unnest(${array})`).join(', ')})`
}

function insertNew(schema: string): string {
  const insert = `INSERT INTO ${schema}.kv SELECT p, k, coalesce(x, ''::bytea)
            FROM ${sideBySide('p_new_placements', 'p_new_keys', 'p_new_values')} AS u(p, k, x)`
  const insertSome = `
          WITH inserted AS (
            ${insert} ON CONFLICT DO NOTHING RETURNING key
          ) SELECT own || coalesce(array_agg(key), '{}'), count(*) = array_length(p_new_keys, 1) INTO own, is_all_new
            FROM inserted`
  const insertAll = `${insert};
            own := own || p_new_keys`
  return insertAsNew('p_new_keys', insertAll, insertSome)
}

function checkKeys(): string {
  return `
        FOR r IN SELECT k, s, x, i, c FROM unnest(p_kinds, p_subjects, p_prefixes, p_positions, p_expecters) AS u(k, s, x, i, c)
          WHERE s <= locked OR NOT is_all_new OR k <> ${preconditionKind.absent}
        LOOP
          CONTINUE WHEN r.c = ANY (losers);
          IF r.s <= locked THEN
            found_it := is_there[r.s];
          ELSE
            found_it := NOT p_new_keys[r.s - locked] = ANY (own);
          END IF;
          IF found_it = (r.k = ${preconditionKind.absent})
            OR (r.k = ${preconditionKind.revision} AND substr(heads[r.s], 1, length(r.x)) <> r.x)
          THEN
            lost := lost || r.i;
            losers := losers || r.c;
          END IF;
        END LOOP;`
}

/** Of one large commit: the owner of its rows is not sent with each of them. */
function noteOwners(): string {
  return `
      IF p_steps & ${procedureFlags.newAreAbsent} <> 0 THEN
        p_new_owners := array_fill(1, ARRAY[coalesce(array_length(p_new_keys, 1), 0)]);
        p_blind_owners := array_fill(1, ARRAY[coalesce(array_length(p_blind_keys, 1), 0)]);
      END IF;`
}

/** Of one large commit: that its new rows are to be absent is not sent for each of them. */
function checkNew(): string {
  return `
      IF p_steps & ${procedureFlags.newAreAbsent} <> 0 AND NOT is_all_new AND losers = '{}' THEN
        SELECT ARRAY[coalesce(array_length(p_positions, 1), 0) + min(i)::int4], '{1}' INTO lost, losers
          FROM unnest(p_new_keys) WITH ORDINALITY AS u(k, i) WHERE NOT ${isOwn};
      END IF;`
}

/** Of one commit, a precondition of a range may come before one of a key that has failed already: it is then the first. */
function checkRanges(tables: Tables): string {
  const held = (table: string, placement: string): string => `
            SELECT coalesce(string_agg(encode(key, 'hex'), ',' ORDER BY key), '') INTO held FROM ${table}
              WHERE ${placement} AND key >= r.a AND (r.b IS NULL OR key < r.b) AND NOT key = ANY (own)`
  return `
      IF array_length(p_range_positions, 1) > 0 THEN
        FOR r IN SELECT i, c, f, l, a, b, h
          FROM unnest(p_range_positions, p_range_owners, p_range_first, p_range_last, p_range_from, p_range_to, p_range_holds)
            AS u(i, c, f, l, a, b, h)
        LOOP
          CONTINUE WHEN r.c = ANY (losers) AND lost[array_position(losers, r.c)] < r.i;
          IF r.f = r.l THEN
            ${onTableOf(tables, 'r.f', (table) => held(table, 'placement = r.f'))}
          ELSE
            ${heldByBroadRange(tables, held)}
          END IF;
          IF held <> r.h THEN
            IF r.c = ANY (losers) THEN
              lost[array_position(losers, r.c)] := r.i;
            ELSE
              lost := lost || r.i;
              losers := losers || r.c;
            END IF;
          END IF;
        END LOOP;
      END IF;`
}

/** Of ranges of several placements, one that begins with the first of all has its first keys in the other table. */
function heldByBroadRange(tables: Tables, held: (table: string, placement: string) => string): string {
  const all = held(`${tables.schema}.kv`, '(placement, key) >= (r.f, r.a) AND placement >= r.f AND placement <= r.l')
  if (!tables.hasRoot) return `${all};`
  return `${all};
            IF r.f = 0 THEN
              held_after := held;
              ${held(tableOf(tables, 0), 'placement = 0')};
              held := concat_ws(',', nullif(held, ''), nullif(held_after, ''));
            END IF;`
}

/** Looked up in a hash table: as a condition of its own, `IN` would be a join, which the server takes for one of few rows. */
const isOwn = '((k IN (SELECT unnest(own))) IS TRUE)'

function undoInserted(tables: Tables): string {
  return `
      IF losers <> '{}' THEN
        FOR r IN SELECT p, k FROM unnest(p_placements, p_keys, is_own, p_owners) AS u(p, k, o, c) WHERE o AND c = ANY (losers)
        LOOP
          ${onTableOf(tables, 'r.p', (table) => `DELETE FROM ${table} WHERE placement = r.p AND key = r.k`)}
        END LOOP;
        IF array_length(p_new_keys, 1) > 0 THEN
          DELETE FROM ${tables.schema}.kv USING unnest(p_new_placements, p_new_keys, p_new_owners) AS u(p, k, c)
            WHERE placement = p AND key = k AND c = ANY (losers) AND ${isOwn};
        END IF;
      END IF;`
}

function makeChanges(tables: Tables): string {
  const { schema } = tables
  const blindPut = `INSERT INTO ${schema}.kv
            SELECT p, k, x
            FROM ${sideBySide('p_blind_placements', 'p_blind_keys', 'p_blind_values', 'p_blind_owners')} AS u(p, k, x, c)
            WHERE x IS NOT NULL AND NOT c = ANY (losers) AND NOT ${isUnnumbered(tables)}`
  return `
      IF p_steps & ${procedureFlags.byPlacement} <> 0 THEN
${changeByPlacement(tables)}
      ELSIF p_steps & ${procedureFlags.byRow} <> 0 THEN
${changeByRow(tables)}
      ELSE
        IF p_steps & ${procedureFlags.put} <> 0 THEN
          UPDATE ${schema}.kv SET value = x FROM unnest(p_placements, p_keys, p_wants, p_values, p_owners, is_own) AS u(p, k, w, x, c, o)
            WHERE placement = p AND key = k AND w & ${lockFlags.put} <> 0 AND NOT o AND NOT c = ANY (losers);
        END IF;
        IF p_steps & ${procedureFlags.delete} <> 0 THEN
          DELETE FROM ${schema}.kv USING unnest(p_placements, p_keys, p_wants, p_owners, is_own) AS u(p, k, w, c, o)
            WHERE placement = p AND key = k AND (w & ${lockFlags.delete} <> 0 OR o AND w & ${lockFlags.put} = 0)
              AND NOT c = ANY (losers);
        END IF;
        IF p_steps & ${procedureFlags.absentOnly} <> 0 THEN
          DELETE FROM ${schema}.kv USING unnest(p_new_placements, p_new_keys, p_new_values, p_new_owners) AS u(p, k, x, c)
            WHERE placement = p AND key = k AND x IS NULL AND NOT c = ANY (losers);
        END IF;
        IF p_steps & ${procedureFlags.blindDelete} <> 0 THEN
          DELETE FROM ${schema}.kv USING unnest(p_blind_placements, p_blind_keys, p_blind_values, p_blind_owners) AS u(p, k, x, c)
            WHERE placement = p AND key = k AND x IS NULL AND NOT c = ANY (losers);
        END IF;
        IF p_steps & ${procedureFlags.blindPut} <> 0 THEN
${insertAsNew('p_blind_keys', blindPut, `${blindPut} ON CONFLICT (placement, key) DO UPDATE SET value = excluded.value`)}
        END IF;
      END IF;`
}
