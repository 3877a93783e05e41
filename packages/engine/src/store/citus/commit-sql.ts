/**
 * The commit function on a distributed table. Each statement names one placement, and no array element that is a parameter, which breaks a backend of
 * Citus. All keys are sent as locked ones.
 */
import {
  checkVersion,
  commitFunctionMark,
  commitFunctionVersion,
  lockCatalog,
  recordProof,
} from '../postgres/commit-function.ts'
import { lockFlags, procedureFlags as steps } from '../postgres/commit-parameters.ts'
import { aboveAllKeys, byStrength, checkKeys, contentText, entryContent, signature } from '../postgres/commit-sql.ts'
import { type CitusTables, rootPlacement } from './tables.ts'

const { put, absent } = lockFlags
const removed = lockFlags.delete

/** A part of the function, to be executed on the table of entries or of proofs that has the rows of a placement. */
type OnTable = (table: string) => string

/** See `commitFunction` of the driver for PostgreSQL. `p_proof` is the placement in whose table of proofs the call is recorded. */
export function citusCommitFunction({ schema, keys }: CitusTables): string {
  const on = (name: 'kv' | 'slot', placement: string, part: OnTable): string => `
  IF ${placement} = ${rootPlacement} THEN
    ${part(`${schema}.${name}_root`)}
  ELSE
    ${part(`${schema}.${name}`)}
  END IF;`
  const onEntries = (part: OnTable): string => on('kv', 'r.p', part)
  return `
CREATE OR REPLACE FUNCTION ${signature(schema)} AS $body$
${commitFunctionMark}${commitFunctionVersion}
DECLARE
  r record;
  one record;
  locked int4 := coalesce(array_length(p_keys, 1), 0);
  is_there bool[] := array_fill(false, ARRAY[locked]);
  is_own bool[] := array_fill(false, ARRAY[locked]);
  heads bytea[];
  own bytea[] := '{}';
  made bytea[];
  is_all_new bool := true;
  v bytea;
  is_insert bool;
  found_it bool;
  lost int4[] := '{}';
  losers int4[] := '{}';
  held text := '';
  content bytea := '';
  value_bytes int4;
BEGIN
  ${lockCatalog(schema)}
  IF p_steps & ${steps.recover} <> 0 THEN
    PERFORM recover_prepared_transactions();
  END IF;
  ${checkVersion(`${schema}.kv_root`, keys.versionKey)}
  FOR r IN SELECT p, k, w, n, x, i, (coalesce(lead(i) OVER (ORDER BY i), locked + 1) - 1)::int4 AS last
    FROM unnest(p_placements, p_keys, p_wants, p_lengths, p_values) WITH ORDINALITY AS u(p, k, w, n, x, i)
    WHERE w & ${lockFlags.continues} = 0 ORDER BY i
  LOOP
    IF r.last > r.i AND r.w & ${lockFlags.mayBeMade} <> 0 THEN
      ${makeOrLockRun(schema)}
    ELSIF r.last > r.i THEN
      ${onEntries(lockRun)}
    ELSE
      ${makeOrLockOne(onEntries)}
    END IF;
  END LOOP;
  ${checkKeys('NULL', 'true')}
  ${checkRanges(schema, onEntries)}
  FOR r IN SELECT p, k FROM unnest(p_placements, p_keys, is_own, p_owners) AS u(p, k, o, c) WHERE o AND c = ANY (losers)
  LOOP
    ${onEntries((table) => `DELETE FROM ${table} WHERE placement = r.p AND key = r.k;`)}
  END LOOP;
  ${changeRows(onEntries)}
  ${on('slot', 'p_proof', recordProof)}
  RETURN lost;
END $body$;
`
}

/**
 * Rows that may be absent are inserted or locked by one statement, one after the other: ON CONFLICT DO UPDATE locks an existing row, and WHERE false
 * leaves it unchanged. Values are written out, since Citus would send each array once per row.
 */
function makeOrLockRun(schema: string): string {
  return String.raw`made := '{}';
      FOR one IN EXECUTE (
        SELECT 'INSERT INTO ${schema}.kv' || CASE r.p WHEN ${rootPlacement} THEN '_root' ELSE '' END || ' AS kv VALUES '
            || string_agg(format('(%s,''\x%s'',''\x%s'')', r.p, encode(k, 'hex'), encode(coalesce(x, ''::bytea), 'hex')), ',' ORDER BY i)
            || ' ON CONFLICT (placement, key) DO UPDATE SET value = kv.value WHERE false RETURNING kv.key'
          FROM unnest(p_keys[r.i:r.last], p_values[r.i:r.last]) WITH ORDINALITY AS u(k, x, i))
      LOOP
        made := made || one.key;
      END LOOP;
      own := own || made;
      FOR one IN SELECT i, k = ANY (made) AS is_made FROM unnest(p_keys[r.i:r.last]) WITH ORDINALITY AS u(k, i)
      LOOP
        is_own[r.i + one.i - 1] := one.is_made;
        is_there[r.i + one.i - 1] := NOT one.is_made;
      END LOOP;`
}

function lockRun(table: string): string {
  return `IF ${byStrength('r.w', (strength) => {
    return `FOR one IN SELECT u.i, substr(kv.value, 1, greatest(u.n, 0)) AS head
      FROM unnest(p_keys[r.i:r.last], p_lengths[r.i:r.last]) WITH ORDINALITY AS u(k, n, i)
      JOIN ${table} AS kv ON kv.placement = r.p AND kv.key = u.k ORDER BY u.i FOR ${strength} OF kv
    LOOP
      is_there[r.i + one.i - 1] := true;
      heads[r.i + one.i - 1] := one.head;
    END LOOP;`
  })}`
}

/** A row that is required to be absent is inserted, another one that is written only if there is none. */
function makeOrLockOne(onEntries: (part: OnTable) => string): string {
  const insert = onEntries((table) => {
    return `INSERT INTO ${table} VALUES (r.p, r.k, coalesce(r.x, ''::bytea)) ON CONFLICT DO NOTHING;`
  })
  const lock = onEntries((table) => {
    return `IF ${byStrength('r.w', (strength) => {
      return `SELECT value INTO v FROM ${table} WHERE placement = r.p AND key = r.k FOR ${strength};`
    })}`
  })
  return `is_insert := r.w & ${absent} <> 0;
      LOOP
        IF NOT is_insert THEN
          ${lock}
          EXIT WHEN FOUND OR r.w & ${put | absent} = 0;
        END IF;
        ${insert}
        is_own[r.i] := FOUND;
        EXIT WHEN FOUND;
        is_insert := false;
      END LOOP;
      IF is_own[r.i] THEN
        own := own || r.k;
      ELSIF FOUND THEN
        is_there[r.i] := true;
        heads[r.i] := substr(v, 1, greatest(r.n, 0));
      END IF;`
}

/** Before a failed key precondition of the same commit, a failed range counts as the first. */
function checkRanges(schema: string, onEntries: (part: OnTable) => string): string {
  const within = `key >= r.a AND key < coalesce(r.b, ${aboveAllKeys}) AND NOT key = ANY (own)`
  const inOnePlacement = `placement = r.p AND ${within}`
  const inSeveralPlacements = `(placement, key) >= (r.p, r.a) AND placement >= r.p AND placement <= r.l AND ${within}`
  const add = (table: string, rows: string): string => `
        IF value_bytes IS NULL THEN
          SELECT concat_ws(',', nullif(held, ''), string_agg(encode(key, 'hex'), ',' ORDER BY key)) INTO held FROM ${table} WHERE ${rows};
        ELSE
          SELECT content || coalesce(string_agg(${entryContent('value_bytes')}, ''::bytea ORDER BY key), '') INTO content FROM ${table} WHERE ${rows};
        END IF;`
  return `
  FOR r IN SELECT i, c, p, l, a, b, h
    FROM unnest(p_range_positions, p_range_owners, p_range_first, p_range_last, p_range_from, p_range_to, p_range_holds) AS u(i, c, p, l, a, b, h)
  LOOP
    CONTINUE WHEN r.c = ANY (losers) AND lost[array_position(losers, r.c)] < r.i;
    value_bytes := CASE WHEN left(r.h, 1) IN ('#', '=') THEN substr(split_part(r.h, ':', 1), 2)::int4 END;
    IF r.p = r.l THEN
      ${onEntries((table) => add(table, inOnePlacement))}
    ELSE
      -- A range over several placements that begins in the first one has its first keys in the other table.
      IF r.p = ${rootPlacement} THEN
        ${add(`${schema}.kv_root`, `placement = ${rootPlacement} AND ${within}`)}
      END IF;
      ${add(`${schema}.kv`, inSeveralPlacements)}
    END IF;
    -- The last of several parts of a range that is required to be unchanged has the content of all of them.
    CONTINUE WHEN right(r.h, 1) = '+';
    IF value_bytes IS NOT NULL THEN
      held := ${contentText('content')};
      r.h := split_part(r.h, ':', 2);
    END IF;
    IF held <> r.h THEN
      IF r.c = ANY (losers) THEN
        lost[array_position(losers, r.c)] := r.i;
      ELSE
        lost := lost || r.i;
        losers := losers || r.c;
      END IF;
    END IF;
    held := '';
    content := '';
  END LOOP;`
}

/** All rows are locked, so their order does not matter. Rows inserted by locking already have their values. One row at a time if the table is foreign. */
function changeRows(onEntries: (part: OnTable) => string): string {
  return `
  FOR r IN SELECT p, w & ${put} <> 0 AS is_put, array_agg(k ORDER BY i) AS ks, array_agg(x ORDER BY i) AS xs,
      count(*) AS n, (array_agg(k))[1] AS k, (array_agg(x))[1] AS x
    FROM unnest(p_placements, p_keys, p_wants, p_values, p_owners, is_own) WITH ORDINALITY AS u(p, k, w, x, c, o, i)
    WHERE w & ${put | removed | absent} <> 0 AND NOT (o AND w & ${put} <> 0) AND NOT c = ANY (losers)
    GROUP BY 1, 2, CASE WHEN p_steps & ${steps.byRow} <> 0 THEN i END
  LOOP
    IF r.n = 1 AND r.is_put THEN
      ${onEntries((table) => `UPDATE ${table} SET value = r.x WHERE placement = r.p AND key = r.k;`)}
    ELSIF r.n = 1 THEN
      ${onEntries((table) => `DELETE FROM ${table} WHERE placement = r.p AND key = r.k;`)}
    ELSIF r.is_put THEN
      ${onEntries((table) => `UPDATE ${table} AS kv SET value = u.x FROM unnest(r.ks, r.xs) AS u(k, x) WHERE kv.placement = r.p AND kv.key = u.k;`)}
    ELSE
      ${onEntries((table) => `DELETE FROM ${table} WHERE placement = r.p AND key = ANY (r.ks);`)}
    END IF;
  END LOOP;`
}
