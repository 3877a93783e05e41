/** What one would write by hand instead, and the limits of Node and Fastify: the servers of `bench/servers`, built, and how they are asked. */
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { type ChildServer, startChild } from '../child-server.ts'
import type { BenchRequest } from '../load/load.ts'
import type { ContenderKind, RequestForms } from './contender.ts'
import { freshDirectory } from './directories.ts'

type ServerName = 'constant-http' | 'constant-fastify' | 'http-lmdb' | 'fastify-sqlite' | 'fastify-postgres'

const sources = fileURLToPath(new URL('../servers', import.meta.url))
/** Among the packages, so that what the servers import is found from there. */
const built = fileURLToPath(new URL('../../node_modules/.cache/bench-servers', import.meta.url))

/**
 * lmdb-js looks for a binary below this folder, which does not exist, and then takes that of npm: what whoever writes a server by hand has, whether or not
 * LMDB has been compiled for Ashlar. With `BENCH_LMDB=compiled`, both have the compiled one.
 */
const withLmdbOfNpm: Record<string, string> =
  process.env.BENCH_LMDB === 'compiled'
    ? {}
    : { LMDB_PREBUILD: fileURLToPath(new URL('../../node_modules/lmdb/none', import.meta.url)) }

/** They run as they would be deployed: without a compiler in their processes, which would count as their memory and start. */
export async function buildServers(): Promise<void> {
  const names: ServerName[] = ['constant-http', 'constant-fastify', 'http-lmdb', 'fastify-sqlite', 'fastify-postgres']
  await build({
    entryPoints: names.map((name) => `${sources}/${name}.ts`),
    outdir: built,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
  })
}

export function startConstant(
  name: 'constant-http' | 'constant-fastify',
  core: number | undefined,
): Promise<ChildServer> {
  return startChild([`${built}/${name}.mjs`], { core })
}

export function byHand(name: string, server: ServerName): ContenderKind {
  return {
    name,
    freshPlace: freshDirectory,
    start: ({ address }, core) => startChild([`${built}/${server}.mjs`, address], { core, env: withLmdbOfNpm }),
    setUp: async () => handForms,
  }
}

export function byHandOn(places: Pick<ContenderKind, 'freshPlace'>, beside: readonly number[]): ContenderKind {
  return {
    name: 'Fastify + PostgreSQL',
    ...places,
    start: ({ address }, core) => startChild([`${built}/fastify-postgres.mjs`, address], { core, beside }),
    setUp: async () => handForms,
  }
}

function get(path: string): BenchRequest {
  return { method: 'GET', path }
}

const handForms: RequestForms = {
  read: (id) => get(`/vehicle/${id}`),
  equality: (license) => get(`/license/${license}`),
  range: (year) => get(`/year/${year}`),
  makers: (year) => get(`/makers/${year}`),
  create: (vehicle) => ({ method: 'POST', path: '/vehicle', body: JSON.stringify(vehicle) }),
  update: (id, mileage) => ({
    method: 'PUT',
    path: `/vehicle/${id}`,
    body: JSON.stringify({ mileage, available: true }),
  }),
  remove: (id) => ({ method: 'DELETE', path: `/vehicle/${id}` }),
  createMany: (vehicles) => ({ method: 'POST', path: '/vehicles', body: JSON.stringify(vehicles) }),
  everything: get('/vehicles'),
  idName: 'id',
}
