/** What a store has in a PostgreSQL database: one table of keys and values, its companions, and the commit function. */
import { commitFunction } from './commit-function.ts'
import type { Tables } from './tables.ts'

/** Increased with every change of the tables, or of the function's parameters; a database with another number is refused. */
export const tablesVersion = 4

/** Tables of this version hold keys and values as the present ones do: a copy reads them. */
export const oldestTablesVersion = 2

/**
 * Within a PostgreSQL schema of this name: to be run in one transaction, again and again without harm.
 * With a table for the root, Citus is to distribute the others. What has the first placement of all stays on its coordinator, in tables that
 * are its own too, so that what changes these and others is committed in two phases.
 * `catalog_lock` has no rows: it is what commits lock, alone where they change the `versionKey`, which is the version of the catalog. Its name
 * stays, as that of the parameter `p_catalog` does: others would be tables of another version. `slot` tells for each connection that commits the number of its last call of
 * the function, and what that has returned: the proof of a commit, which lies with one of the placements that it changes. A
 * transaction on one node of Citus is committed there before the coordinator has noted anything, so a proof elsewhere would prove nothing.
 */
export function definitions(tables: Tables): string {
  const { schema, hasRoot: isDistributed } = tables
  const columns = `(
      placement int4 NOT NULL,
      key bytea NOT NULL,
      value bytea NOT NULL,
      PRIMARY KEY (placement, key)
    )`
  const slotColumns = `(
      placement int4 NOT NULL,
      slot int8 NOT NULL,
      last int8 NOT NULL,
      failed int4[] NOT NULL,
      is_fenced bool NOT NULL,
      at timestamptz NOT NULL,
      PRIMARY KEY (placement, slot)
    )`
  const root = `
    CREATE TABLE IF NOT EXISTS ${schema}.kv_root ${columns};
    ALTER TABLE ${schema}.kv_root ALTER COLUMN value SET STORAGE EXTERNAL;
    CREATE TABLE IF NOT EXISTS ${schema}.slot_root ${slotColumns};`
  const unlessDone = `WHERE NOT EXISTS (SELECT FROM ${schema}.storage)`
  const distribution = `
    SELECT create_distributed_table('${schema}.kv', 'placement') ${unlessDone};
    SELECT create_distributed_table('${schema}.slot', 'placement', colocate_with => '${schema}.kv') ${unlessDone};
    SELECT citus_add_local_table_to_metadata('${schema}.kv_root'), citus_add_local_table_to_metadata('${schema}.slot_root') ${unlessDone};`
  return `
    CREATE TABLE IF NOT EXISTS ${schema}.kv ${columns};
    ALTER TABLE ${schema}.kv ALTER COLUMN value SET STORAGE EXTERNAL;
    ${isDistributed ? root : ''}
    CREATE TABLE IF NOT EXISTS ${schema}.catalog_lock ();
    CREATE TABLE IF NOT EXISTS ${schema}.slot ${slotColumns};
    CREATE TABLE IF NOT EXISTS ${schema}.storage (id int2 PRIMARY KEY, version int4 NOT NULL);
    ${isDistributed ? distribution : ''}
    INSERT INTO ${schema}.storage VALUES (1, ${tablesVersion}) ON CONFLICT DO NOTHING;
    ${commitFunction(tables)}
  `
}
