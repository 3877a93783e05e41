/** The schema of a distributed store: that of PostgreSQL with the entries and proofs of the first placement in tables on the coordinator. */
import { companions, entryTable, proofTable, versionRow } from '../postgres/schema.ts'
import { citusCommitFunction } from './commit-sql.ts'
import type { CitusTables } from './tables.ts'

/**
 * Definitions within a PostgreSQL schema, to be run in one transaction; repeating them is harmless.
 * Citus knows the tables of the first placement too, so that changes of these and other rows are committed in two phases. The proof of a commit is in one
 * of the placements that it changes: a transaction on one node is committed there before the coordinator records anything, so a proof elsewhere would
 * prove nothing.
 */
export function citusDefinitions(tables: CitusTables): string {
  const { schema } = tables
  const unlessDone = `WHERE NOT EXISTS (SELECT FROM ${schema}.storage)`
  return `
    ${['kv', 'kv_root'].map((name) => entryTable(`${schema}.${name}`)).join('\n')}
    ${['slot', 'slot_root'].map((name) => proofTable(`${schema}.${name}`)).join('\n')}
    ${companions(schema)}
    SELECT create_distributed_table('${schema}.kv', 'placement') ${unlessDone};
    SELECT create_distributed_table('${schema}.slot', 'placement', colocate_with => '${schema}.kv') ${unlessDone};
    SELECT citus_add_local_table_to_metadata('${schema}.kv_root'), citus_add_local_table_to_metadata('${schema}.slot_root') ${unlessDone};
    ${versionRow(schema)}
    ${citusCommitFunction(tables)}
  `
}
