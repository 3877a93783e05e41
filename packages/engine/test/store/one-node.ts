/**
 * A table split by placement on one node: its partitions are tables of the same PostgreSQL, so that statements take the ways they
 * take on Citus, quickly. Moments of several nodes are what it does not have.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'

const partitions = 4

/** Makes a database in which tables are distributed into partitions; gives its address. */
export async function oneNodeDatabase(address: string): Promise<string> {
  const name = `split_${randomBytes(6).toString('hex')}`
  await run(address, `CREATE DATABASE ${name}`)
  const url = new URL(address)
  url.pathname = `/${name}`
  await run(
    url.href,
    `CREATE FUNCTION create_distributed_table(rel regclass, col text) RETURNS void LANGUAGE plpgsql AS $body$
    BEGIN
      EXECUTE format('ALTER TABLE %s RENAME TO kv_model', rel);
      EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL) PARTITION BY HASH (%I)',
        replace(rel::text, 'kv_model', 'kv'), rel, col);
      FOR part IN 0 .. ${partitions - 1} LOOP
        EXECUTE format('CREATE TABLE %s PARTITION OF %s FOR VALUES WITH (MODULUS ${partitions}, REMAINDER %s)',
          replace(rel::text, 'kv_model', 'kv_' || part), replace(rel::text, 'kv_model', 'kv'), part);
      END LOOP;
    END $body$;
    CREATE FUNCTION citus_total_relation_size(rel regclass) RETURNS int8 LANGUAGE sql AS $body$
      SELECT sum(pg_total_relation_size(relid))::int8 FROM pg_partition_tree(rel)
    $body$;`,
  )
  return url.href
}

async function run(address: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
