/**
 * The parts of the commit function that process rows one after the other, in one order of all keys: wherever locks
 * differ in strength, and always on a distributed table. Adjacent keys in one placement, with locks of one strength,
 * are one statement for one node.
 */
import { lockFlags } from './commit-parameters.ts'
import { nameOfTable, onTableOf, type Tables } from './tables.ts'

export function lockInOrder(tables: Tables): string {
  return `
          FOR r IN SELECT p, k, w, n, x, i, (coalesce(lead(i) OVER (ORDER BY i), locked + 1) - 1)::int4 AS last
            FROM unnest(p_placements, p_keys, p_wants, p_lengths, p_values) WITH ORDINALITY AS u(p, k, w, n, x, i)
            WHERE w & ${lockFlags.continues} = 0 ORDER BY i
          LOOP
            IF r.last > r.i THEN
${lockRun(tables)}
            ELSE
${lockOne(tables)}
            END IF;
          END LOOP;`
}

/** The branches of a condition, from behind its IF: each row is locked as weakly as what is wanted of it allows. */
function byStrength(lock: (strength: string) => string): string {
  return `r.w & ${lockFlags.delete | lockFlags.rangeLock} <> 0 THEN
                ${lock('UPDATE')}
              ELSIF r.w & ${lockFlags.put} <> 0 THEN
                ${lock('NO KEY UPDATE')}
              ELSIF r.w & ${lockFlags.revision} <> 0 THEN
                ${lock('SHARE')}
              ELSE
                ${lock('KEY SHARE')}`
}

function lockOne(tables: Tables): string {
  const lock = (strength: string): string =>
    onTableOf(
      tables,
      'r.p',
      (table) => `SELECT value INTO v FROM ${table} WHERE placement = r.p AND key = r.k FOR ${strength}`,
    )
  const insert = (value: string): string =>
    onTableOf(tables, 'r.p', (table) => `INSERT INTO ${table} VALUES (r.p, r.k, ${value}) ON CONFLICT DO NOTHING`)
  return `
            LOOP
              IF r.w & ${lockFlags.absent} <> 0 THEN
                ${insert("coalesce(r.x, ''::bytea)")}
                IF FOUND THEN
                  is_own[r.i] := true;
                  EXIT;
                END IF;
              END IF;
              IF ${byStrength(lock)}
              END IF;
              found_it := FOUND;
              EXIT WHEN found_it OR r.w & ${lockFlags.put | lockFlags.absent} = 0;
              IF r.w & ${lockFlags.absent} = 0 THEN
                ${insert('r.x')}
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
            END IF;`
}

/**
 * Rows that may have to be made are made or locked by one statement, key by key: ON CONFLICT DO UPDATE locks the row that is there,
 * and WHERE false leaves it as it is. Their values are written out, since Citus would write each array once a row.
 */
function lockRun(tables: Tables): string {
  const lock = (strength: string): string =>
    onTableOf(
      tables,
      'r.p',
      (table) => `
                FOR one IN SELECT u.i, u.n, substr(kv.value, 1, greatest(u.n, 0)) AS head
                  FROM unnest(p_keys[r.i:r.last], p_lengths[r.i:r.last]) WITH ORDINALITY AS u(k, n, i)
                  JOIN ${table} AS kv ON kv.placement = r.p AND kv.key = u.k ORDER BY u.i FOR ${strength} OF kv
                LOOP
                  is_there[r.i + one.i - 1] := true;
                  IF one.n >= 0 THEN
                    heads[r.i + one.i - 1] := one.head;
                  END IF;
                END LOOP`,
    )
  const rows = `string_agg(format('(%s,''\\x%s'',''\\x%s'')', r.p, encode(k, 'hex'), encode(coalesce(x, ''::bytea), 'hex')), ',' ORDER BY i)`
  return `
              IF r.w & ${lockFlags.mayBeMade} <> 0 THEN
                made := '{}';
                FOR one IN EXECUTE (
                  SELECT 'INSERT INTO ' || ${nameOfTable(tables, 'r.p')} || ' AS kv VALUES ' || ${rows}
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
              ELSIF ${byStrength(lock)}
              END IF;`
}

/** All rows are locked already, so that their order does not matter any more. What was made with its lock has its value. */
export function changeByPlacement(tables: Tables): string {
  return `
        FOR r IN SELECT p, w & ${lockFlags.put} <> 0 AS is_put, array_agg(k ORDER BY i) AS ks, array_agg(x ORDER BY i) AS xs,
            count(*) AS n, (array_agg(k))[1] AS k, (array_agg(x))[1] AS x
          FROM unnest(p_placements, p_keys, p_wants, p_values, p_owners, is_own) WITH ORDINALITY AS u(p, k, w, x, c, o, i)
          WHERE w & ${lockFlags.put | lockFlags.delete | lockFlags.absent} <> 0 AND NOT (o AND w & ${lockFlags.put} <> 0) AND NOT c = ANY (losers)
          GROUP BY 1, 2
        LOOP
          IF NOT r.is_put THEN
            ${onTableOf(tables, 'r.p', (table) => `DELETE FROM ${table} WHERE placement = r.p AND key = ANY (r.ks)`)}
          ELSIF r.n = 1 THEN
            -- An element of an array that is a parameter, written here, makes Citus break down.
            ${onTableOf(tables, 'r.p', (table) => `UPDATE ${table} SET value = r.x WHERE placement = r.p AND key = r.k`)}
          ELSE
            ${onTableOf(
              tables,
              'r.p',
              (table) =>
                `UPDATE ${table} AS kv SET value = u.x FROM unnest(r.ks, r.xs) AS u(k, x) WHERE kv.placement = r.p AND kv.key = u.k`,
            )}
          END IF;
        END LOOP;`
}

/** A foreign table would be searched for rows to change by their placement alone, and all of those locked. */
export function changeByRow(tables: Tables): string {
  return `
        FOR r IN SELECT p, k, w, x FROM unnest(p_placements, p_keys, p_wants, p_values, p_owners, is_own) AS u(p, k, w, x, c, o)
          WHERE w & ${lockFlags.put | lockFlags.delete | lockFlags.absent} <> 0 AND NOT (o AND w & ${lockFlags.put} <> 0) AND NOT c = ANY (losers)
        LOOP
          IF r.w & ${lockFlags.put} <> 0 THEN
            ${onTableOf(tables, 'r.p', (table) => `UPDATE ${table} SET value = r.x WHERE placement = r.p AND key = r.k`)}
          ELSE
            ${onTableOf(tables, 'r.p', (table) => `DELETE FROM ${table} WHERE placement = r.p AND key = r.k`)}
          END IF;
        END LOOP;`
}
