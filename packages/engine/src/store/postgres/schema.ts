/** The schema of a store in a PostgreSQL database: one table of keys and values, its companions, and the commit function. */
import { commitFunction } from './commit-function.ts'
import type { Tables } from './tables.ts'

/** Increased with every change of the tables or of the function's parameters; a database with another version is refused. */
export const tablesVersion = 4

/** Since this version, tables store keys and values in the current form and can be copied. */
export const oldestTablesVersion = 2

/**
 * Definitions within a PostgreSQL schema, to be run in one transaction; repeating them is harmless.
 * With a root table, Citus must distribute the other tables. Rows of the first placement stay on the coordinator, in tables known to Citus too, so
 * that changes of these and other rows are committed in two phases.
 * `catalog_lock` has no rows: commits lock it, exclusively if they change the `versionKey`, the version of the catalog. Its name, and that of the
 * parameter `p_catalog`, are fixed within a version of the tables. `slot` has, for each committing connection, the number and the result of its last
 * call of the function: the proof of a commit, in one of the placements that it changes. A transaction on one node of Citus is committed there before
 * the coordinator records anything, so a proof elsewhere would prove nothing.
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
