/** What a workload runs against: connections for its clients, and the faults that it can suffer. */
import { type Connection, httpConnection } from './connection.ts'
import type { EngineProcess } from './engine-processes.ts'
import type { Server } from './servers.ts'

export type FaultName = 'worker' | 'crash' | 'connections' | 'backends'

export interface Target {
  /** In turns to all servers or processes. */
  readonly connections: readonly Connection[]
  /** Those that are possible here. */
  readonly faults: ReadonlyMap<FaultName, (random: () => number) => Promise<void>>
  stop(): Promise<void>
}

const pick = (random: () => number, count: number): number => Math.floor(random() * count)

/** `endBackends`: ends some of the sessions of the database itself. */
export function serversTarget(
  servers: readonly Server[],
  clients: number,
  endBackends?: (random: () => number) => Promise<void>,
): Target {
  const connections = Array.from({ length: clients }, (_, i) => httpConnection(() => servers[i % servers.length]!.url))
  const faults = new Map<FaultName, (random: () => number) => Promise<void>>([
    ['worker', async (random) => void servers[pick(random, servers.length)]!.killWorker(pick(random, 1_000))],
    ['crash', (random) => servers[pick(random, servers.length)]!.crash()],
    [
      'connections',
      async (random) => {
        for (const connection of connections) if (random() < 0.3) connection.cut()
      },
    ],
  ])
  if (endBackends !== undefined) faults.set('backends', endBackends)
  return {
    connections,
    faults,
    async stop() {
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

export function processesTarget(processes: readonly EngineProcess[], clients: number): Target {
  return {
    connections: Array.from({ length: clients }, (_, i) => processes[i % processes.length]!.connection),
    faults: new Map([['crash', (random) => processes[pick(random, processes.length)]!.crash()]]),
    async stop() {
      await Promise.all(processes.map((process) => process.stop()))
    },
  }
}

/** One of these faults each time. */
export function anyOf(target: Target, names: readonly FaultName[]): (random: () => number) => Promise<void> {
  const possible = names.flatMap((name) => target.faults.get(name) ?? [])
  if (possible.length === 0) throw new Error(`none of these faults is possible here: ${names.join(', ')}`)
  return (random) => possible[pick(random, possible.length)]!(random)
}
