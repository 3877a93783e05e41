/** What a PostgreSQL database has of a store: one table of keys and values, and the function that commits. */

/** Increased with every change of what is stored; a database with another number is refused. */
export const storageVersion = 1

/** What a key is to a commit, as bits. */
export const wants = { absent: 1, revision: 2, put: 4, delete: 8, guard: 16, unlocked: 32 } as const

/** How a commit treats the version of the catalog: every writer shares it, who changes the schema has it alone. */
export const catalogLock = { none: 0, shared: 1, exclusive: 2 } as const

export const expectationKind = { absent: 0, present: 1, revision: 2 } as const

/** The error of a commit whose connection was declared dead meanwhile: nothing of it was done. */
export const fencedCode = 'ASH01'

/**
 * Within a PostgreSQL schema of this (quoted) name; to be run in one transaction, again and again without harm.
 * `catalog_lock` has no rows: it is what commits lock. `slot` tells for each connection the number of its last commit.
 */
export function definitions(schema: string): string {
  return `
    CREATE TABLE IF NOT EXISTS ${schema}.kv (
      placement int4 NOT NULL,
      key bytea NOT NULL,
      value bytea NOT NULL,
      PRIMARY KEY (placement, key)
    );
    ALTER TABLE ${schema}.kv ALTER COLUMN value SET STORAGE EXTERNAL;
    CREATE TABLE IF NOT EXISTS ${schema}.catalog_lock ();
    CREATE TABLE IF NOT EXISTS ${schema}.slot (
      slot int8 PRIMARY KEY,
      last int8 NOT NULL DEFAULT 0,
      is_fenced bool NOT NULL DEFAULT false,
      at timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE IF NOT EXISTS ${schema}.storage (id int2 PRIMARY KEY, version int4 NOT NULL);
    INSERT INTO ${schema}.storage VALUES (1, ${storageVersion}) ON CONFLICT DO NOTHING;
    ${commitFunction(schema)}
  `
}

/**
 * Keys come in order of placement and key, each once: all locks are taken in that order, so that commits never wait for
 * each other in a circle. Each key is locked as weakly as keeps others from changing what is expected of it. Then rows that
 * are expected to be absent are inserted in one statement, which keeps others from inserting them; one without a value is
 * only to be absent. Who inserts waits for others who insert only, and they go in order too. Then the
 * expectations are looked at in the order sent, then the changes made; what is put without any expectation is neither locked nor
 * looked at before. READ COMMITTED is needed: a snapshot taken
 * before a lock was waited for would show stale values. Returns 0, or the position of the first expectation that does
 * not hold, from 1; what was inserted is then deleted again, so that no error is written to the server's log.
 */
function commitFunction(schema: string): string {
  return `
    CREATE OR REPLACE FUNCTION ${schema}.commit(
      p_slot int8, p_number int8, p_lock int2,
      p_placements int4[], p_keys bytea[], p_wants int2[], p_lengths int4[], p_values bytea[],
      p_new_placements int4[], p_new_keys bytea[], p_new_values bytea[],
      p_blind_placements int4[], p_blind_keys bytea[], p_blind_values bytea[],
      p_kinds int2[], p_subjects int4[], p_prefixes bytea[], p_positions int4[],
      p_range_positions int4[], p_range_first int4[], p_range_last int4[], p_range_from bytea[], p_range_to bytea[],
      p_range_holds text[]
    ) RETURNS int4 LANGUAGE plpgsql AS $body$
    DECLARE
      r record;
      is_there bool[];
      is_own bool[];
      heads bytea[];
      own bytea[] := '{}';
      locked int4 := coalesce(array_length(p_keys, 1), 0);
      is_all_new bool := true;
      v bytea;
      found_it bool;
      failed int4;
      held text;
    BEGIN
      IF p_lock = ${catalogLock.exclusive} THEN
        LOCK TABLE ${schema}.catalog_lock IN ACCESS EXCLUSIVE MODE;
      ELSIF p_lock = ${catalogLock.shared} THEN
        LOCK TABLE ${schema}.catalog_lock IN ACCESS SHARE MODE;
      END IF;
${lockKeys(schema)}
      IF array_length(p_new_keys, 1) > 0 THEN
        WITH inserted AS (
          INSERT INTO ${schema}.kv SELECT p, k, coalesce(x, ''::bytea)
            FROM unnest(p_new_placements, p_new_keys, p_new_values) AS u(p, k, x)
            ON CONFLICT (placement, key) DO NOTHING RETURNING key
        ) SELECT own || coalesce(array_agg(key), '{}'), count(*) = array_length(p_new_keys, 1) INTO own, is_all_new FROM inserted;
      END IF;
${checkExpectations(schema)}
      IF failed IS NOT NULL THEN
        FOR r IN SELECT p, k FROM unnest(p_placements, p_keys, is_own) AS u(p, k, o) WHERE o LOOP
          DELETE FROM ${schema}.kv WHERE placement = r.p AND key = r.k;
        END LOOP;
        FOR r IN SELECT p, k FROM unnest(p_new_placements, p_new_keys) AS u(p, k) WHERE k = ANY (own) LOOP
          DELETE FROM ${schema}.kv WHERE placement = r.p AND key = r.k;
        END LOOP;
        RETURN failed;
      END IF;
${makeChanges(schema)}
      UPDATE ${schema}.slot SET last = p_number, at = now() WHERE slot = p_slot AND NOT is_fenced;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'the connection was taken for dead' USING ERRCODE = '${fencedCode}';
      END IF;
      RETURN 0;
    END $body$;
  `
}

function makeChanges(schema: string): string {
  return `
      FOR r IN SELECT p, k, w, x, o FROM unnest(p_placements, p_keys, p_wants, p_values, is_own) AS u(p, k, w, x, o)
        WHERE w & ${wants.put | wants.delete} <> 0 OR o
      LOOP
        IF r.w & ${wants.put} = 0 THEN
          DELETE FROM ${schema}.kv WHERE placement = r.p AND key = r.k;
        ELSIF NOT r.o THEN
          UPDATE ${schema}.kv SET value = r.x WHERE placement = r.p AND key = r.k;
        END IF;
      END LOOP;
      FOR r IN SELECT p, k FROM unnest(p_new_placements, p_new_keys, p_new_values) AS u(p, k, x) WHERE x IS NULL LOOP
        DELETE FROM ${schema}.kv WHERE placement = r.p AND key = r.k;
      END LOOP;
      IF array_length(p_blind_keys, 1) > 0 THEN
        INSERT INTO ${schema}.kv SELECT p, k, x FROM unnest(p_blind_placements, p_blind_keys, p_blind_values) AS u(p, k, x)
          ON CONFLICT (placement, key) DO UPDATE SET value = excluded.value;
      END IF;`
}

function lockKeys(schema: string): string {
  const row = `SELECT value INTO v FROM ${schema}.kv WHERE placement = r.p AND key = r.k`
  return `
      FOR r IN SELECT p, k, w, n, x, i
        FROM unnest(p_placements, p_keys, p_wants, p_lengths, p_values) WITH ORDINALITY AS u(p, k, w, n, x, i)
      LOOP
        is_own[r.i] := false;
        LOOP
          IF r.w & ${wants.absent} <> 0 THEN
            INSERT INTO ${schema}.kv VALUES (r.p, r.k, coalesce(r.x, ''::bytea)) ON CONFLICT (placement, key) DO NOTHING;
            IF FOUND THEN
              is_own[r.i] := true;
              EXIT;
            END IF;
          END IF;
          IF r.w & ${wants.unlocked} <> 0 THEN
            ${row};
          ELSIF r.w & ${wants.delete | wants.guard} <> 0 THEN
            ${row} FOR UPDATE;
          ELSIF r.w & ${wants.put} <> 0 THEN
            ${row} FOR NO KEY UPDATE;
          ELSIF r.w & ${wants.revision} <> 0 THEN
            ${row} FOR SHARE;
          ELSE
            ${row} FOR KEY SHARE;
          END IF;
          found_it := FOUND;
          EXIT WHEN found_it OR r.w & ${wants.put | wants.absent} = 0;
          IF r.w & ${wants.absent} = 0 THEN
            INSERT INTO ${schema}.kv VALUES (r.p, r.k, r.x) ON CONFLICT (placement, key) DO NOTHING;
            IF FOUND THEN
              is_own[r.i] := true;
              EXIT;
            END IF;
          END IF;
        END LOOP;
        IF is_own[r.i] THEN
          own := own || r.k;
          is_there[r.i] := false;
        ELSE
          is_there[r.i] := found_it;
          IF r.n >= 0 THEN
            heads[r.i] := substr(v, 1, r.n);
          END IF;
        END IF;
      END LOOP;`
}

function checkExpectations(schema: string): string {
  return `
      FOR r IN SELECT k, s, x, i FROM unnest(p_kinds, p_subjects, p_prefixes, p_positions) AS u(k, s, x, i)
        WHERE s <= locked OR NOT is_all_new OR k <> ${expectationKind.absent}
      LOOP
        IF r.s <= locked THEN
          found_it := is_there[r.s];
        ELSE
          found_it := NOT p_new_keys[r.s - locked] = ANY (own);
        END IF;
        IF found_it = (r.k = ${expectationKind.absent})
          OR (r.k = ${expectationKind.revision} AND substr(heads[r.s], 1, length(r.x)) <> r.x)
        THEN
          failed := r.i;
          EXIT;
        END IF;
      END LOOP;
      FOR r IN SELECT i, f, l, a, b, h
        FROM unnest(p_range_positions, p_range_first, p_range_last, p_range_from, p_range_to, p_range_holds)
          AS u(i, f, l, a, b, h)
      LOOP
        EXIT WHEN failed < r.i;
        SELECT coalesce(string_agg(encode(key, 'hex'), ',' ORDER BY key), '') INTO held FROM ${schema}.kv
          WHERE (placement, key) >= (r.f, r.a) AND placement <= r.l AND key >= r.a AND (r.b IS NULL OR key < r.b)
            AND NOT key = ANY (own);
        IF held <> r.h THEN
          failed := r.i;
          EXIT;
        END IF;
      END LOOP;`
}
