/**
 * A table split by placement on one node: its partitions are tables of the same PostgreSQL, so that statements take the ways they
 * take on Citus, quickly. Moments of several nodes are what it does not have.
 */
import { randomBytes } from 'node:crypto'
import { idleCitusFunctions } from './citus-functions.ts'
import { runSql } from './database-client.ts'

const partitions = 4

/** Makes a database in which tables are distributed into partitions; gives its address. */
export async function oneNodeDatabase(address: string): Promise<string> {
  const name = `split_${randomBytes(6).toString('hex')}`
  await runSql(address, `CREATE DATABASE ${name}`)
  const url = new URL(address)
  url.pathname = `/${name}`
  await runSql(
    url.href,
    `CREATE FUNCTION create_distributed_table(rel regclass, col text, colocate_with text DEFAULT '') RETURNS void LANGUAGE plpgsql AS $body$
    DECLARE
      place text := split_part(rel::text, '.', 1);
      tab text := split_part(rel::text, '.', 2);
    BEGIN
      EXECUTE format('ALTER TABLE %s RENAME TO %I', rel, tab || '_model');
      EXECUTE format('CREATE TABLE %I.%I (LIKE %I.%I INCLUDING ALL) PARTITION BY HASH (%I)', place, tab, place, tab || '_model', col);
      FOR part IN 0 .. ${partitions - 1} LOOP
        EXECUTE format('CREATE TABLE %I.%I PARTITION OF %I.%I FOR VALUES WITH (MODULUS ${partitions}, REMAINDER %s)',
          place, tab || '_' || part, place, tab, part);
      END LOOP;
    END $body$;
    ${idleCitusFunctions}
    CREATE FUNCTION citus_total_relation_size(rel regclass) RETURNS int8 LANGUAGE sql AS $body$
      SELECT coalesce(sum(pg_total_relation_size(relid)), pg_total_relation_size(rel))::int8 FROM pg_partition_tree(rel)
    $body$;`,
  )
  return url.href
}
