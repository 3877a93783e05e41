/** The schema of a store in a PostgreSQL database: one table of keys and values, its companions, and the commit function. */
import { commitFunction } from './commit-function.ts'
import type { Tables } from './tables.ts'

/** Increased with every change of the tables or of the function's parameters; a database with another version is refused. */
export const tablesVersion = 4

/** Since this version, tables store keys and values in the current form and can be copied. */
export const oldestTablesVersion = 2

/**
 * Definitions within a PostgreSQL schema, to be run in one transaction; repeating them is harmless.
 * `catalog_lock` has no rows: commits lock it, exclusively if they change the `versionKey`, the version of the catalog. Its name, and that of the
 * parameter `p_catalog`, are fixed within a version of the tables. `slot` has, for each committing connection, the number and the result of its last
 * call of the function: the proof of a commit.
 */
export function definitions(tables: Tables): string {
  const { schema } = tables
  return `
    ${entryTable(`${schema}.kv`)}
    ${companions(schema)}
    ${proofTable(`${schema}.slot`)}
    ${versionRow(schema)}
    ${commitFunction(tables)}
  `
}

export function entryTable(name: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (
      placement int4 NOT NULL,
      key bytea NOT NULL,
      value bytea NOT NULL,
      PRIMARY KEY (placement, key)
    );
    ALTER TABLE ${name} ALTER COLUMN value SET STORAGE EXTERNAL;`
}

export function proofTable(name: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (
      placement int4 NOT NULL,
      slot int8 NOT NULL,
      last int8 NOT NULL,
      failed int4[] NOT NULL,
      is_fenced bool NOT NULL,
      at timestamptz NOT NULL,
      PRIMARY KEY (placement, slot)
    );`
}

export function companions(schema: string): string {
  return `CREATE TABLE IF NOT EXISTS ${schema}.catalog_lock ();
    CREATE TABLE IF NOT EXISTS ${schema}.storage (id int2 PRIMARY KEY, version int4 NOT NULL);`
}

export function versionRow(schema: string): string {
  return `INSERT INTO ${schema}.storage VALUES (1, ${tablesVersion}) ON CONFLICT DO NOTHING;`
}
