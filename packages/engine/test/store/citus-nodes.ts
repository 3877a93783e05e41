/** The nodes of a Citus that is running already. */
import pg from 'pg'
import type { DistributedNodes } from './distributed-rules.ts'

/** `coordinator`: `postgres://…`, with or without parameters of the store. Stores made there are dropped at the end. */
export function citusNodes(coordinator: string): DistributedNodes {
  const schemas: string[] = []
  function addressOf(schema: string, distribute: 'citus' | 'no'): string {
    schemas.push(schema)
    const address = new URL(coordinator)
    address.searchParams.set('schema', schema)
    address.searchParams.set('distribute', distribute)
    return address.href
  }
  return {
    plainAddress: (schema) => addressOf(schema, 'no'),
    freshAddress: async (schema) => addressOf(schema, 'citus'),
    async rows(schema) {
      const rows = await runOn(
        coordinator,
        `SELECT nodename, nodeport, sum(result::int)::int AS count FROM run_command_on_shards('${schema}.kv', 'SELECT count(*) FROM %s')
          JOIN citus_shards USING (shardid) GROUP BY nodename, nodeport`,
      )
      return rows.map(({ count }) => count as number)
    },
    async stop() {
      for (const schema of schemas) await runOn(coordinator, `DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    },
  }
}

/** Runs one statement on the node that the address names. */
async function runOn(address: string, sql: string): Promise<Record<string, unknown>[]> {
  const url = new URL(address)
  url.search = ''
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
