/**
 * Three PostgreSQL nodes that behave as a distributed one does: the first is told what to do, and has a third of the table; the
 * other two have the rest, each with moments of its own. Its functions have the names of those of Citus, and split a table into
 * partitions that are foreign tables on the other nodes. What commits is READ COMMITTED there, as on Citus, and not REPEATABLE
 * READ, which foreign tables ask for: a relay before each node changes the words.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { startAnotherPostgres } from '../../../../tools/postgres-of-run.ts'
import type { RunningPostgres } from '../../../../tools/temporary-postgres.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { idleCitusFunctions } from './citus-functions.ts'
import { runSql } from './database-client.ts'
import type { DistributedNodes } from './distributed-rules.ts'

const asked = Buffer.from('ISOLATION LEVEL REPEATABLE READ')
const given = Buffer.from('ISOLATION LEVEL READ COMMITTED ')

/** Connections say in their first words whether they are for commits. */
const nameOfCommits = Buffer.from('ashlar commits')

export interface ThreeNodes extends DistributedNodes {
  /** Makes the third node unreachable; what is returned brings it back. */
  cut(): () => Promise<void>
}

export async function startThreeNodes(): Promise<ThreeNodes> {
  const nodes = [await startAnotherPostgres(), await startAnotherPostgres(), await startAnotherPostgres()] as const
  const [first, ...others] = nodes
  const relays = await Promise.all(others.map(startRelay))
  await runSql(first.address, distribution(relays.map(({ port }) => port)))
  return {
    plainAddress: (schema) => `${first.address}?schema=${schema}`,
    async freshAddress(schema) {
      const address = `${first.address}?schema=${schema}&distribute=citus`
      await (await openStore(address)).close()
      // This PostgreSQL breaks down over plans that leave to the execution which foreign tables they change.
      const [row] = await runSql(first.address, `SELECT '${schema}.commit'::regproc::regprocedure::text AS signature`)
      await runSql(first.address, `ALTER FUNCTION ${row?.signature} SET plan_cache_mode = 'force_custom_plan'`)
      return address
    },
    async rows(schema) {
      const counts: number[] = []
      for (const [i, node] of nodes.entries()) {
        const [row] = await runSql(node.address, `SELECT count(*)::int AS count FROM ${schema}.kv_${i}`)
        counts.push((row?.count as number | undefined) ?? 0)
      }
      return counts
    },
    cut() {
      const [, relay] = relays
      relay?.stop()
      return async () => relay?.start()
    },
    async stop() {
      await first.stop()
      for (const relay of relays) relay.stop()
      for (const node of others) await node.stop()
    },
  }
}

/** `ports`: of the nodes beside the first. */
function distribution(ports: readonly number[]): string {
  const servers = ports.map((port, i) => {
    return `CREATE SERVER node_${i + 1} FOREIGN DATA WRAPPER postgres_fdw
        OPTIONS (host '127.0.0.1', port '${port}', dbname 'postgres', application_name '%a', fdw_startup_cost '1');
      CREATE USER MAPPING FOR PUBLIC SERVER node_${i + 1} OPTIONS (user 'ashlar', password 'granite');`
  })
  return `
    CREATE EXTENSION postgres_fdw;
    CREATE EXTENSION dblink;
    ${servers.join('\n')}
    CREATE FUNCTION create_distributed_table(rel regclass, col text, colocate_with text DEFAULT '') RETURNS void LANGUAGE plpgsql AS $body$
    DECLARE
      place text := split_part(rel::text, '.', 1);
      tab text := split_part(rel::text, '.', 2);
      cols text := (SELECT string_agg(format('%I %s %s NOT NULL', attname, format_type(atttypid, atttypmod),
        CASE attstorage WHEN 'e' THEN 'STORAGE EXTERNAL' ELSE '' END), ', ' ORDER BY attnum)
        FROM pg_attribute WHERE attrelid = rel AND attnum > 0);
      keys text := (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = rel AND contype = 'p');
    BEGIN
      EXECUTE format('DROP TABLE %s', rel);
      EXECUTE format('CREATE TABLE %I.%I (%s) PARTITION BY HASH (%I)', place, tab, cols, col);
      EXECUTE format('CREATE TABLE %I.%I PARTITION OF %I.%I (%s) FOR VALUES WITH (MODULUS ${ports.length + 1}, REMAINDER 0)',
        place, tab || '_0', place, tab, keys);
      FOR node IN 1 .. ${ports.length} LOOP
        PERFORM dblink_exec('node_' || node, format('CREATE SCHEMA IF NOT EXISTS %I; CREATE TABLE %I.%I (%s, %s)',
          place, place, tab || '_' || node, cols, keys));
        EXECUTE format('CREATE FOREIGN TABLE %I.%I PARTITION OF %I.%I
          FOR VALUES WITH (MODULUS ${ports.length + 1}, REMAINDER %s) SERVER node_%s OPTIONS (schema_name %L, table_name %L)',
          place, tab || '_' || node, place, tab, node, node, place, tab || '_' || node);
      END LOOP;
    END $body$;
    ${idleCitusFunctions}
    CREATE FUNCTION citus_total_relation_size(rel regclass) RETURNS int8 LANGUAGE plpgsql AS $body$
    DECLARE
      place text := split_part(rel::text, '.', 1);
      total int8 := pg_total_relation_size(format('%I.kv_0', place)::regclass);
    BEGIN
      IF rel::text LIKE '%kv_root' THEN
        RETURN pg_total_relation_size(rel);
      END IF;
      FOR node IN 1 .. ${ports.length} LOOP
        total := total + (SELECT size FROM dblink('node_' || node,
          format('SELECT pg_total_relation_size(%L)', format('%I.kv_%s', place, node))) AS t(size int8));
      END LOOP;
      RETURN total;
    END $body$;
  `
}

interface Relay {
  readonly port: number
  /** Once more, after it was stopped. */
  start(): Promise<void>
  stop(): void
}

async function startRelay(node: RunningPostgres): Promise<Relay> {
  const target = Number(new URL(node.address).port)
  const sockets = new Set<Socket>()
  const server: Server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    let isForCommits = false
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    near.on('data', (bytes) => {
      isForCommits ||= bytes.includes(nameOfCommits)
      far.write(isForCommits ? withOtherWords(bytes) : bytes)
    })
    far.on('data', (bytes) => near.write(bytes))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    start: () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve)),
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** A statement that begins a transaction is sent alone, and so is in one piece. */
function withOtherWords(bytes: Buffer): Buffer {
  const at = bytes.indexOf(asked)
  if (at < 0) return bytes
  const changed = Buffer.from(bytes)
  given.copy(changed, at)
  return changed
}
