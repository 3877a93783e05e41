/**
 * The text of the commit function, in order of execution. Lines of three dashes are comments and are removed. If a store has its rows in two tables,
 * an `ON` block is repeated for each: `{kv}` and `{slot}` are the tables with the rows of its placement.
 */
import { unreachable } from '../../errors.ts'
import { appendedKeyBytes, appendNumberBytes, appendPrefixBytes } from '../append.ts'
import { plainContentBytes } from '../range-content.ts'
import { lockFlags, parameterNames, parameterTypes, preconditionKind, procedureFlags } from './commit-parameters.ts'
import { nameOfTable, onTableOf, type Tables, tableOf } from './tables.ts'

const { put, absent, revision, rangeLock, mayBeMade, continues } = lockFlags
const removed = lockFlags.delete
const steps = procedureFlags

const parameters = parameterNames.map((name) => `p_${name} ${parameterTypes[name]}`).join(', ')

/** From this number on, probably new rows are inserted as such, all or none: the server then searches and logs each key once instead of twice. */
const manyRows = 256

/** Whether a key has a placeholder for its number: no other number has its highest bit set. Other keys have different lengths. */
const isUnnumbered = String.raw`(p = {append_placement} AND length(k) = ${appendedKeyBytes} AND substr(k, ${appendPrefixBytes + 1}, 1) >= '\x80'::bytea)`

/** Uses a hash table: as a separate condition, `IN` would be a join, which the server plans for few rows. */
const isOwn = '((k IN (SELECT unnest(own))) IS TRUE)'

/** Arrays as rows: `unnest` of several arrays as a table would first copy them to a temporary table. */
const newRows = '(SELECT unnest(p_new_placements), unnest(p_new_keys), unnest(p_new_values)) AS u(p, k, x)'
const blindRows =
  '(SELECT unnest(p_blind_placements), unnest(p_blind_keys), unnest(p_blind_values), unnest(p_blind_owners)) AS u(p, k, x, c)'

const insertNew = `INSERT INTO {schema}.kv SELECT p, k, coalesce(x, ''::bytea) FROM ${newRows}`
const insertBlind = `INSERT INTO {schema}.kv SELECT p, k, x FROM ${blindRows} WHERE x IS NOT NULL AND NOT c = ANY (losers) AND NOT ${isUnnumbered}`

const insertSome = `
      WITH inserted AS (
        ${insertNew} ON CONFLICT DO NOTHING RETURNING key
      ) SELECT own || coalesce(array_agg(key), '{}'), count(*) = array_length(p_new_keys, 1) INTO own, is_all_new
        FROM inserted;`

function keysIn(table: string, placement: string): string {
  return `SELECT coalesce(string_agg(encode(key, 'hex'), ',' ORDER BY key), '') INTO held FROM ${table}
          WHERE ${placement} AND key >= r.a AND key < coalesce(r.b, ${aboveAllKeys}) AND NOT key = ANY (own)`
}

/** Greater than all keys, since none is so long. As a value instead of a separate condition, it bounds the index scan. */
const aboveAllKeys = `decode(repeat('ff', 2048), 'hex')`

/** Of an unchanged range that has one part and one placement. */
const hasOnePlacement = `left(u.h, 1) = '='`

/** The contribution of an entry to the content of a range. */
function entryContent(valueBytes: string): string {
  return `int2send(length(key)::int2) || key
            || CASE WHEN ${valueBytes} = 0 THEN ''::bytea ELSE int4send(length(value)) || substr(value, 1, ${valueBytes}) END`
}

/** The content in the form that commits send. */
function contentText(content: string): string {
  return `encode(CASE WHEN length(${content}) > ${plainContentBytes} THEN sha256(${content}) ELSE ${content} END, 'hex')`
}

/** As in `RangeContent`, before hashing. */
function contentIn(table: string, placement: string): string {
  return `SELECT content || coalesce(string_agg(${entryContent('value_bytes')}, ''::bytea ORDER BY key), '') INTO content FROM ${table} WHERE ${placement} AND key >= r.a AND key < coalesce(r.b, ${aboveAllKeys}) AND NOT key = ANY (own)`
}

function lockAll(strength: string): string {
  return `
    FOR r IN SELECT u.i, u.n, kv.value FROM unnest(p_placements, p_keys, p_lengths) WITH ORDINALITY AS u(p, k, n, i)
      JOIN {schema}.kv ON kv.placement = u.p AND kv.key = u.k ORDER BY u.i FOR ${strength} OF kv
    LOOP
      is_there[r.i] := true;
      IF r.n >= 0 THEN
        heads[r.i] := substr(r.value, 1, r.n);
      END IF;
    END LOOP;`
}

function lockOne(strength: string): string {
  return `ON r.p: SELECT value INTO v FROM {kv} WHERE placement = r.p AND key = r.k FOR ${strength} :END`
}

function lockRun(strength: string): string {
  return `ON r.p:
    FOR one IN SELECT u.i, u.n, substr(kv.value, 1, greatest(u.n, 0)) AS head
      FROM unnest(p_keys[r.i:r.last], p_lengths[r.i:r.last]) WITH ORDINALITY AS u(k, n, i)
      JOIN {kv} AS kv ON kv.placement = r.p AND kv.key = u.k ORDER BY u.i FOR ${strength} OF kv
    LOOP
      is_there[r.i + one.i - 1] := true;
      IF one.n >= 0 THEN
        heads[r.i + one.i - 1] := one.head;
      END IF;
    END LOOP :END`
}

/** Branches that follow an IF: each row is locked as weakly as possible. */
function byStrength(lock: (strength: string) => string): string {
  return `r.w & ${removed | rangeLock} <> 0 THEN
      ${lock('UPDATE')}
    ELSIF r.w & ${put} <> 0 THEN
      ${lock('NO KEY UPDATE')}
    ELSIF r.w & ${revision} <> 0 THEN
      ${lock('SHARE')}
    ELSE
      ${lock('KEY SHARE')}
    END IF;`
}

const sql = String.raw`
CREATE SEQUENCE IF NOT EXISTS {numbers} INCREMENT {numbers_of_call} START {numbers_of_call};
CREATE OR REPLACE FUNCTION {schema}.commit( ${parameters} ) RETURNS int4[] LANGUAGE plpgsql AS $body$
{version}
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
  content bytea := '';
  value_bytes int4;
  first_number int8;
BEGIN
  --- The rows of one large commit are sent without owners.
  IF p_steps & ${steps.newAreAbsent} <> 0 THEN
    p_new_owners := array_fill(1, ARRAY[coalesce(array_length(p_new_keys, 1), 0)]);
    p_blind_owners := array_fill(1, ARRAY[coalesce(array_length(p_blind_keys, 1), 0)]);
  END IF;

  --- The catalog.
  IF p_steps & ${steps.exclusive} <> 0 THEN
    LOCK TABLE {schema}.catalog_lock IN ACCESS EXCLUSIVE MODE;
  ELSIF p_steps & ${steps.unchangedRanges} <> 0 THEN
    LOCK TABLE {schema}.catalog_lock IN SHARE ROW EXCLUSIVE MODE;
  ELSE
    LOCK TABLE {schema}.catalog_lock IN ROW EXCLUSIVE MODE;
  END IF;
  IF p_steps & ${steps.recover} <> 0 THEN
    PERFORM recover_prepared_transactions();
  END IF;
  IF p_catalog IS NOT NULL THEN
    SELECT value INTO v FROM {root} WHERE placement = 0 AND key = '\x{version_key}'::bytea;
    IF v IS NULL OR substr(v, 1, length(p_catalog)) <> p_catalog THEN
      RETURN ARRAY[0];
    END IF;
  END IF;

  --- Lock keys: by one statement if all locks have the same strength; otherwise one by one, each as weakly as possible.
  IF locked > 0 THEN
    is_own := array_fill(false, ARRAY[locked]);
    is_there := is_own;
    IF p_steps & ${steps.lockPut} <> 0 THEN ${lockAll('NO KEY UPDATE')}
    ELSIF p_steps & ${steps.lockPresent} <> 0 THEN ${lockAll('KEY SHARE')}
    ELSIF p_steps & ${steps.lockDelete} <> 0 THEN ${lockAll('UPDATE')}
    ELSIF p_steps & ${steps.lockRevision} <> 0 THEN ${lockAll('SHARE')}
    ELSE
      FOR r IN SELECT p, k, w, n, x, i, (coalesce(lead(i) OVER (ORDER BY i), locked + 1) - 1)::int4 AS last
        FROM unnest(p_placements, p_keys, p_wants, p_lengths, p_values) WITH ORDINALITY AS u(p, k, w, n, x, i)
        WHERE w & ${continues} = 0 ORDER BY i
      LOOP
        IF r.last > r.i THEN
          --- Rows that may be absent are inserted or locked by one statement per key: ON CONFLICT DO UPDATE locks an existing
          --- row, and WHERE false leaves it unchanged. Values are written out, since Citus would send each array once per row.
          IF r.w & ${mayBeMade} <> 0 THEN
            made := '{}';
            FOR one IN EXECUTE (
              SELECT 'INSERT INTO ' || {name of r.p} || ' AS kv VALUES ' || string_agg(format('(%s,''\x%s'',''\x%s'')', r.p, encode(k, 'hex'), encode(coalesce(x, ''::bytea), 'hex')), ',' ORDER BY i)
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
            END LOOP;
          ELSIF ${byStrength(lockRun)}
        ELSE
          LOOP
            IF r.w & ${absent} <> 0 THEN
              ON r.p: INSERT INTO {kv} VALUES (r.p, r.k, coalesce(r.x, ''::bytea)) ON CONFLICT DO NOTHING :END
              IF FOUND THEN
                is_own[r.i] := true;
                EXIT;
              END IF;
            END IF;
            IF ${byStrength(lockOne)}
            found_it := FOUND;
            EXIT WHEN found_it OR r.w & ${put | absent} = 0;
            IF r.w & ${absent} = 0 THEN
              ON r.p: INSERT INTO {kv} VALUES (r.p, r.k, r.x) ON CONFLICT DO NOTHING :END
              IF FOUND THEN
                is_own[r.i] := true;
                EXIT;
              END IF;
            END IF;
          END LOOP;
          IF is_own[r.i] THEN
            own := own || r.k;
          ELSE
            is_there[r.i] := found_it;
            IF r.n >= 0 THEN
              heads[r.i] := substr(v, 1, r.n);
            END IF;
          END IF;
        END IF;
      END LOOP;
    END IF;
  END IF;

  --- Insert new rows. A caught error is not written to the server's log, but all rows are then inserted again: too costly
  --- for what few rows would gain.
  IF array_length(p_new_keys, 1) > 0 THEN
    IF array_length(p_new_keys, 1) >= ${manyRows} THEN
      BEGIN
        ${insertNew};
        own := own || p_new_keys;
      EXCEPTION WHEN unique_violation THEN
        ${insertSome}
      END;
    ELSE
      ${insertSome}
    END IF;
  END IF;

  --- Preconditions of keys.
  IF locked > 0 OR NOT is_all_new THEN
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
    END LOOP;
  END IF;

  --- The preconditions of the new rows of one large commit are not sent individually.
  IF p_steps & ${steps.newAreAbsent} <> 0 AND NOT is_all_new AND losers = '{}' THEN
    SELECT ARRAY[coalesce(array_length(p_positions, 1), 0) + min(i)::int4], '{1}' INTO lost, losers
      FROM unnest(p_new_keys) WITH ORDINALITY AS u(k, i) WHERE NOT ${isOwn};
  END IF;

  --- Unchanged ranges of one placement, all by one statement: the first changed one of each commit. It may precede a key
  --- precondition that has already failed.
  IF PLAIN:
  IF p_steps & ${steps.unchangedRanges} <> 0 THEN
    FOR r IN SELECT min(i) AS i, c FROM unnest(p_range_positions, p_range_owners, p_range_first, p_range_last, p_range_from, p_range_to, p_range_holds)
        AS u(i, c, f, l, a, b, h)
      CROSS JOIN LATERAL (
        SELECT coalesce(string_agg(${entryContent("substr(split_part(u.h, ':', 1), 2)::int4")}, ''::bytea ORDER BY key), '') AS content
          FROM {schema}.kv WHERE placement = u.f AND key >= u.a AND key < coalesce(u.b, ${aboveAllKeys}) AND NOT key = ANY (own)
      ) AS found
      WHERE ${hasOnePlacement} AND ${contentText('found.content')} <> split_part(u.h, ':', 2) GROUP BY c
    LOOP
      IF r.c = ANY (losers) THEN
        lost[array_position(losers, r.c)] := least(r.i, lost[array_position(losers, r.c)]);
      ELSE
        lost := lost || r.i;
        losers := losers || r.c;
      END IF;
    END LOOP;
  END IF; :END PLAIN

  --- Preconditions of ranges. One may precede a failed key precondition of the same commit, and then counts as the first.
  IF array_length(p_range_positions, 1) > 0 THEN
    FOR r IN SELECT i, c, f, l, a, b, h
      FROM unnest(p_range_positions, p_range_owners, p_range_first, p_range_last, p_range_from, p_range_to, p_range_holds)
        AS u(i, c, f, l, a, b, h)
      IF PLAIN: WHERE NOT ${hasOnePlacement} :END PLAIN
    LOOP
      CONTINUE WHEN r.c = ANY (losers) AND lost[array_position(losers, r.c)] < r.i;
      IF left(r.h, 1) IN ('#', '=') THEN
        --- The range is required to be unchanged. The last of several parts has the content of all of them.
        value_bytes := substr(split_part(r.h, ':', 1), 2)::int4;
        IF r.f = r.l THEN
          ON r.f: ${contentIn('{kv}', 'placement = r.f')} :END
        ELSE
          IF ROOT:
          IF r.f = 0 THEN
            ${contentIn('{root}', 'placement = 0')};
          END IF; :END ROOT
          ${contentIn('{schema}.kv', '(placement, key) >= (r.f, r.a) AND placement >= r.f AND placement <= r.l')};
        END IF;
        CONTINUE WHEN right(r.h, 1) = '+';
        held := ${contentText('content')};
        r.h := split_part(r.h, ':', 2);
        content := '';
      ELSIF r.f = r.l THEN
        ON r.f: ${keysIn('{kv}', 'placement = r.f')} :END
      ELSE
        ${keysIn('{schema}.kv', '(placement, key) >= (r.f, r.a) AND placement >= r.f AND placement <= r.l')};
        --- A range over several placements that begins in the first one has its first keys in the other table.
        IF ROOT:
        IF r.f = 0 THEN
          held_after := held;
          ${keysIn('{root}', 'placement = 0')};
          held := concat_ws(',', nullif(held, ''), nullif(held_after, ''));
        END IF; :END ROOT
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
  END IF;

  --- Delete insertions of failed commits.
  IF losers <> '{}' THEN
    FOR r IN SELECT p, k FROM unnest(p_placements, p_keys, is_own, p_owners) AS u(p, k, o, c) WHERE o AND c = ANY (losers)
    LOOP
      ON r.p: DELETE FROM {kv} WHERE placement = r.p AND key = r.k :END
    END LOOP;
    IF array_length(p_new_keys, 1) > 0 THEN
      DELETE FROM {schema}.kv USING unnest(p_new_placements, p_new_keys, p_new_owners) AS u(p, k, c)
        WHERE placement = p AND key = k AND c = ANY (losers) AND ${isOwn};
    END IF;
  END IF;

  IF p_steps & ${steps.byPlacement} <> 0 THEN
    --- All rows are locked, so their order does not matter. Rows inserted by locking already have their values.
    FOR r IN SELECT p, w & ${put} <> 0 AS is_put, array_agg(k ORDER BY i) AS ks, array_agg(x ORDER BY i) AS xs,
        count(*) AS n, (array_agg(k))[1] AS k, (array_agg(x))[1] AS x
      FROM unnest(p_placements, p_keys, p_wants, p_values, p_owners, is_own) WITH ORDINALITY AS u(p, k, w, x, c, o, i)
      WHERE w & ${put | removed | absent} <> 0 AND NOT (o AND w & ${put} <> 0) AND NOT c = ANY (losers)
      GROUP BY 1, 2
    LOOP
      IF NOT r.is_put THEN
        ON r.p: DELETE FROM {kv} WHERE placement = r.p AND key = ANY (r.ks) :END
      ELSIF r.n = 1 THEN
        -- An element of an array that is a parameter, written here, makes Citus break down.
        ON r.p: UPDATE {kv} SET value = r.x WHERE placement = r.p AND key = r.k :END
      ELSE
        ON r.p: UPDATE {kv} AS kv SET value = u.x FROM unnest(r.ks, r.xs) AS u(k, x) WHERE kv.placement = r.p AND kv.key = u.k :END
      END IF;
    END LOOP;
  ELSIF p_steps & ${steps.byRow} <> 0 THEN
    --- A foreign table would be searched by placement only, and all rows found would be locked.
    FOR r IN SELECT p, k, w, x FROM unnest(p_placements, p_keys, p_wants, p_values, p_owners, is_own) AS u(p, k, w, x, c, o)
      WHERE w & ${put | removed | absent} <> 0 AND NOT (o AND w & ${put} <> 0) AND NOT c = ANY (losers)
    LOOP
      IF r.w & ${put} <> 0 THEN
        ON r.p: UPDATE {kv} SET value = r.x WHERE placement = r.p AND key = r.k :END
      ELSE
        ON r.p: DELETE FROM {kv} WHERE placement = r.p AND key = r.k :END
      END IF;
    END LOOP;
  ELSE
    IF p_steps & ${steps.put} <> 0 THEN
      UPDATE {schema}.kv SET value = x FROM unnest(p_placements, p_keys, p_wants, p_values, p_owners, is_own) AS u(p, k, w, x, c, o)
        WHERE placement = p AND key = k AND w & ${put} <> 0 AND NOT o AND NOT c = ANY (losers);
    END IF;
    IF p_steps & ${steps.delete} <> 0 THEN
      DELETE FROM {schema}.kv USING unnest(p_placements, p_keys, p_wants, p_owners, is_own) AS u(p, k, w, c, o)
        WHERE placement = p AND key = k AND (w & ${removed} <> 0 OR o AND w & ${put} = 0)
          AND NOT c = ANY (losers);
    END IF;
    IF p_steps & ${steps.absentOnly} <> 0 THEN
      DELETE FROM {schema}.kv USING unnest(p_new_placements, p_new_keys, p_new_values, p_new_owners) AS u(p, k, x, c)
        WHERE placement = p AND key = k AND x IS NULL AND NOT c = ANY (losers);
    END IF;
    IF p_steps & ${steps.blindDelete} <> 0 THEN
      DELETE FROM {schema}.kv USING unnest(p_blind_placements, p_blind_keys, p_blind_values, p_blind_owners) AS u(p, k, x, c)
        WHERE placement = p AND key = k AND x IS NULL AND NOT c = ANY (losers);
    END IF;
    IF p_steps & ${steps.blindPut} <> 0 THEN
      IF array_length(p_blind_keys, 1) >= ${manyRows} THEN
        BEGIN
          ${insertBlind};
        EXCEPTION WHEN unique_violation THEN
          ${insertBlind} ON CONFLICT (placement, key) DO UPDATE SET value = excluded.value;
        END;
      ELSE
        ${insertBlind} ON CONFLICT (placement, key) DO UPDATE SET value = excluded.value;
      END IF;
    END IF;
  END IF;

  --- The number is assigned last: commits that change one of the same keys wait for the end of this one, and get greater
  --- numbers.
  IF p_steps & ${steps.append} <> 0 THEN
    first_number := nextval('{numbers}');
    INSERT INTO {schema}.kv
      SELECT p, overlay(k PLACING int8send(first_number + c) FROM ${appendPrefixBytes + 1} FOR ${appendNumberBytes}), x
        FROM unnest(p_blind_placements, p_blind_keys, p_blind_values, p_blind_owners) AS u(p, k, x, c)
        WHERE x IS NOT NULL AND NOT c = ANY (losers) AND ${isUnnumbered};
  END IF;

  --- Affects no row if the connection is fenced.
  ON p_proof: UPDATE {slot} SET last = p_number, failed = lost, at = now()
    WHERE placement = p_proof AND slot = p_slot AND NOT is_fenced :END
  IF NOT FOUND THEN
    ON p_proof: INSERT INTO {slot} VALUES (p_proof, p_slot, p_number, lost, false, now()) ON CONFLICT DO NOTHING :END
  END IF;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the connection was taken for dead' USING ERRCODE = '{fenced}';
  END IF;
  RETURN lost;
END $body$;
`

/** `names`: substitutions for names in braces. */
export function commitSql(tables: Tables, names: Readonly<Record<string, string>>): string {
  const { hasRoot, schema, keys } = tables
  const all: Readonly<Record<string, string>> = {
    ...names,
    schema,
    root: tableOf(tables, 0),
    version_key: Buffer.from(keys.versionKey).toString('hex'),
    append_placement: String(keys.appendPlacement),
  }
  return sql
    .replaceAll(/^ *---.*\n/gm, '')
    .replaceAll(/IF ROOT:(.*?):END ROOT/gs, (_, block: string) => (hasRoot ? block : ''))
    .replaceAll(/IF PLAIN:(.*?):END PLAIN/gs, (_, block: string) => (hasRoot ? '' : block))
    .replaceAll(/ON (\S+):\s(.*?) :END/gs, (_, placement: string, statement: string) => {
      return onTableOf(tables, placement, statement)
    })
    .replaceAll(/\{name of (\S+)\}/g, (_, placement: string) => nameOfTable(tables, placement))
    .replaceAll(
      /\{([a-z_]+)\}/g,
      (_, name: string) => all[name] ?? unreachable(`the text of the commit function names ${name}`),
    )
}
