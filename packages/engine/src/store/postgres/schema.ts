/** What a PostgreSQL database has of a store: one table of keys and values, what goes with it, and the function that commits. */
import { commitFunction } from './commit-function.ts'

/** Increased with every change of the tables, or of the function's parameters; a database with another number is refused. */
export const tablesVersion = 3

/** Tables of this version hold keys and values as the present ones do: a copy reads them. */
export const oldestTablesVersion = 2

/**
 * Within a PostgreSQL schema of this name: to be run in one transaction, again and again without harm.
 * `isDistributed`: Citus is to distribute the table.
 * `catalog_lock` has no rows: it is what commits lock. `slot` tells for each connection the
 * number of its last call of the function, and what that has returned.
 */
export function definitions(schema: string, isDistributed: boolean): string {
  const distribution = `SELECT create_distributed_table('${schema}.kv', 'placement')
      WHERE NOT EXISTS (SELECT FROM ${schema}.storage);`
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
      failed int4[] NOT NULL DEFAULT '{}',
      is_fenced bool NOT NULL DEFAULT false,
      at timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE IF NOT EXISTS ${schema}.storage (id int2 PRIMARY KEY, version int4 NOT NULL);
    ${isDistributed ? distribution : ''}
    INSERT INTO ${schema}.storage VALUES (1, ${tablesVersion}) ON CONFLICT DO NOTHING;
    ${commitFunction(schema)}
  `
}
