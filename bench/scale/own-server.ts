/** A server with an empty store of its own, for what is measured on other data than vehicles, and a client for setting it up. */
import { AshlarClient } from '@ashlar/client'
import { type ChildServer, startChild } from '../child-server.ts'
import type { Place } from '../contenders/contender.ts'
import { freshDirectory } from '../contenders/directories.ts'
import type { BenchRequest } from '../load/load.ts'
import { programOf, withoutChangeLog } from '../program.ts'
import { type Figures, medianOf } from '../rows/figures.ts'
import { type Bench, measure } from '../rows/measure.ts'
import type { ScaleOptions } from './curve.ts'

const secondsMax = 900
const bodyObjects = 1_000
const connections = 4
/** Of more objects only some identities are kept. */
const idsMax = 200_000
const json = { 'content-type': 'application/json' }

export interface OwnServer {
  readonly bench: Bench
  server: ChildServer
  readonly client: AshlarClient
  /** In a new process on the same store. */
  startAgain(): Promise<void>
}

export async function withServer<T>(bench: Bench, use: (own: OwnServer) => Promise<T>, kept?: Place): Promise<T> {
  const place = kept ?? (await freshDirectory())
  const words = ['serve', '--port', '0', '--fd', `bench=lmdb:${place.address}`, '--log-level', 'warn']
  const start = (): Promise<ChildServer> =>
    startChild([programOf(), ...words, ...withoutChangeLog('bench')], { core: bench.cores?.server })
  try {
    const server = await start()
    const own = {
      bench,
      server,
      client: new AshlarClient({ baseUrl: server.url }),
      async startAgain() {
        await own.server.stop()
        own.server = await start()
        own.client = new AshlarClient({ baseUrl: own.server.url })
      },
    }
    try {
      return await use(own)
    } finally {
      await own.server.stop()
    }
  } finally {
    await place.remove()
  }
}

export interface Asked {
  readonly connections: number
  /** How many requests a run has: as many on a busy machine as on a quiet one, so that a process is as warm. */
  readonly count: number
  /** The nth of all runs. */
  request(nth: number): BenchRequest
  /** How many a request stands for. */
  readonly objects?: number
}

/** The median of the rounds, after one that does not count. */
export async function measureAsked(
  { bench, server }: Pick<OwnServer, 'bench' | 'server'>,
  { connections, count, request, objects = 1 }: Asked,
  { rounds }: Pick<ScaleOptions, 'rounds'>,
): Promise<Figures> {
  const runs: Figures[] = []
  for (let round = 0; round <= rounds; round++) {
    const requests = Array.from({ length: count }, (_, nth) => request(round * count + nth))
    const figures = await measure(bench, server, { connections, requests, isOnce: true, seconds: secondsMax }, objects)
    process.stderr.write('.')
    if (figures.refused > 0)
      throw new Error(`${figures.refused} of "${requests[0]?.path}" are refused: ${requests[0]?.body}`)
    if (round > 0) runs.push(figures)
  }
  return medianOf(runs)
}

export function post(path: string, body: unknown): BenchRequest {
  return { method: 'POST', path, body: JSON.stringify(body) }
}

export function put(path: string, body: unknown): BenchRequest {
  return { method: 'PUT', path, body: JSON.stringify(body) }
}

export function ask(query: string, parameters?: object): BenchRequest {
  return post('/v1/query', { query, parameters })
}

/** Creates objects in bodies of a thousand, four at a time; returns the identities, in the order of numbers only within a body. */
export async function createMany(
  { server }: Pick<OwnServer, 'server'>,
  count: number,
  object: (nth: number) => { readonly class: string; readonly attributes: object },
): Promise<string[]> {
  const ids: string[] = []
  let next = 0
  const create = async (): Promise<void> => {
    while (next < count) {
      const from = next
      next = Math.min(count, from + bodyObjects)
      const body = JSON.stringify(Array.from({ length: next - from }, (_, i) => object(from + i)))
      const reply = await fetch(`${server.url}/v1/object`, { method: 'POST', headers: json, body })
      if (!reply.ok) throw new Error(await reply.text())
      const created = (await reply.json()) as readonly { readonly __identifier__: string }[]
      for (const { __identifier__ } of created) if (ids.length < idsMax) ids.push(__identifier__)
    }
  }
  await Promise.all(Array.from({ length: connections }, create))
  return ids
}

/** Of the server's processes while something is done, in seconds. */
export async function cpuWhile({ server }: Pick<OwnServer, 'server'>, work: () => Promise<unknown>): Promise<number> {
  const before = server.cpuSeconds()
  await work()
  return server.cpuSeconds() - before
}

/** CPU until a process on the same store has given its first answer, in seconds. */
export async function startCpu(own: OwnServer, path: string): Promise<number> {
  await own.startAgain()
  const reply = await fetch(own.server.url + path)
  if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`)
  await reply.arrayBuffer()
  return own.server.cpuSeconds()
}
