/** The nodes of a Citus that is running already, which tests may look into, kill and start. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { runSql } from './database-client.ts'
import type { DistributedNodes } from './distributed-rules.ts'

/**
 * `ASHLAR_CITUS_URL` is the address of a coordinator. Tests that kill nodes need two commands more, to which a node's name is appended:
 * `ASHLAR_CITUS_KILL` ends all its processes at once, `ASHLAR_CITUS_START` starts it again and returns when it takes connections.
 * `ASHLAR_CITUS_NODES` has the names, the coordinator's first, then those of the workers in the order in which Citus numbers them. There must be no
 * other distributed tables: Citus puts the shards of new ones beside theirs.
 */
export const citusUrl = process.env.ASHLAR_CITUS_URL
const { ASHLAR_CITUS_KILL: killCommand, ASHLAR_CITUS_START: startCommand } = process.env
const nodeNames = process.env.ASHLAR_CITUS_NODES?.split(' ') ?? []
export const canKillCitusNodes =
  citusUrl !== undefined && killCommand !== undefined && startCommand !== undefined && nodeNames.length > 2

export interface CitusNodes extends DistributedNodes {
  /** Node 0 is the coordinator. */
  kill(node: number): Promise<void>
  start(node: number): Promise<void>
  /** Runs one statement on a node. */
  on(node: number, sql: string): Promise<Record<string, unknown>[]>
  /** The node that has the rows of a placement. */
  nodeOf(schema: string, placement: number): Promise<number>
}

export async function citusNodes(): Promise<CitusNodes> {
  const coordinator = new URL(citusUrl ?? '')
  coordinator.search = ''
  const schemas: string[] = []
  const known = await runSql(coordinator.href, 'SELECT groupid, nodename, nodeport FROM pg_dist_node ORDER BY groupid')
  const urls = known.map(({ nodename, nodeport }) => {
    const url = new URL(coordinator)
    url.hostname = String(nodename)
    url.port = String(nodeport)
    return url.href
  })

  function addressOf(schema: string, distribute: 'citus' | 'no'): string {
    schemas.push(schema)
    return `${coordinator.href}?schema=${schema}&distribute=${distribute}`
  }
  return {
    plainAddress: (schema) => addressOf(schema, 'no'),
    freshAddress: async (schema) => addressOf(schema, 'citus'),
    async rows(schema) {
      const rows = await runSql(
        coordinator.href,
        `SELECT nodename, nodeport, sum(result::int)::int AS count FROM run_command_on_shards('${schema}.kv', 'SELECT count(*) FROM %s')
          JOIN citus_shards USING (shardid) GROUP BY nodename, nodeport`,
      )
      return rows.map(({ count }) => count as number)
    },
    kill: (node) => command(killCommand, node),
    start: (node) => command(startCommand, node),
    on: (node, sql) => runSql(urls[node] ?? '', sql),
    async nodeOf(schema, placement) {
      const [row] = await runSql(
        coordinator.href,
        `SELECT groupid FROM pg_dist_placement WHERE shardid = get_shard_id_for_distribution_column('${schema}.kv', ${placement})`,
      )
      return known.findIndex(({ groupid }) => groupid === row?.groupid)
    },
    async stop() {
      for (const schema of schemas.splice(0)) await runSql(coordinator.href, `DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    },
  }
}

async function command(text: string | undefined, node: number): Promise<void> {
  await promisify(execFile)('sh', ['-c', `${text} ${nodeNames[node]}`])
}
