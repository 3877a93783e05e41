/** What a PostgreSQL database has of a store, as statements that make it: in a schema that is called SCHEMA. */
import { keyPlacement } from '../../src/storage/key-placement.ts'
import { definitions } from '../../src/store/postgres/schema.ts'

/** `entries`: see `entriesOf`. */
export function postgresStatements(entries: readonly string[]): string {
  const rows = entries.map((entry) => {
    const [key = '', value = ''] = entry.split(' ')
    const placement = keyPlacement.placementOf(Buffer.from(key, 'hex'))
    return `INSERT INTO SCHEMA.kv VALUES (${placement}, '\\x${key}', '\\x${value}');`
  })
  const tables = definitions({ schema: 'SCHEMA', keys: keyPlacement })
  return `CREATE SCHEMA SCHEMA;\n${tables};\n${rows.join('\n')}\n`
}
