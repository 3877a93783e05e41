/** `ashlar bench`: requests as fast as they are answered, by so many connections, and how long each of them took. */
import type { AshlarClient, CreateObjectBody } from '@ashlar/client'
import type { CommandContext } from '../command-context.ts'
import { usageError } from '../command-error.ts'
import { Progress } from '../progress.ts'
import { LatencyHistogram } from './latency-histogram.ts'
import { ownNamespace } from './schema/schema-state.ts'
import { numberText } from './texts.ts'

interface BenchOptions {
  readonly seconds?: string
  readonly connections?: string
  readonly reads?: string
  readonly quiet?: boolean
}

interface Load {
  readonly className: string
  readonly deadline: number
  readonly readsPercent: number
  /** Of the objects so far, from which reads and changes choose. */
  readonly oids: string[]
  readonly reads: LatencyHistogram
  readonly writes: LatencyHistogram
}

/** Objects that are there before the first request is timed. */
const objectsAtStart = 1_000
/** Beyond that, the oldest ones are chosen no more: memory stays bounded. */
const oidsMax = 100_000
const attributes = [
  { attributeName: 'key', logicalType: 'integer' },
  { attributeName: 'text', logicalType: 'string' },
]

export async function runBench(
  context: CommandContext,
  _words: readonly string[],
  options: BenchOptions,
): Promise<void> {
  const { connection, output, signal } = context
  // Ctrl-C comes between requests: one that the server carries out after the class is removed would bring it back, or keep it.
  const client = connection.uninterrupted
  const seconds = numberOf('--seconds', options.seconds ?? '10', 1, 600)
  const connections = numberOf('--connections', options.connections ?? '16', 1, 256)
  const readsPercent = numberOf('--reads', options.reads ?? '90', 0, 100)
  const className = `${ownNamespace}.Bench${Date.now()}`
  await client.createClasses([{ className, isReferenceable: true, attributes }])
  const progress = new Progress({ unit: 'requests', isQuiet: output.hidesProgress })
  try {
    signal.throwIfAborted()
    const oids = (await client.createObjects(firstObjects(className))).map(({ __identifier__ }) => __identifier__)
    const started = performance.now()
    const load: Load = {
      className,
      deadline: started + seconds * 1_000,
      readsPercent,
      oids,
      reads: new LatencyHistogram(),
      writes: new LatencyHistogram(),
    }
    const telling = setInterval(() => progress.update(load.reads.count + load.writes.count), 500)
    try {
      await sendUntilDeadline(client, load, connections, signal)
    } finally {
      clearInterval(telling)
    }
    const measured = (performance.now() - started) / 1_000
    const requests = load.reads.count + load.writes.count
    const result = {
      seconds: measured,
      connections,
      requests,
      requestsPerSecond: requests / measured,
      reads: load.reads.summary(),
      writes: load.writes.summary(),
    }
    progress.stop()
    await output.data(result, () => [
      `${numberText(Math.round(result.requestsPerSecond))} requests/s over ${measured.toFixed(1)} s, ${connections} at a time`,
      ...output.table(
        ['', 'Requests', 'p50 ms', 'p99 ms', 'Max ms'],
        [
          ['reads', ...cellsOf(load.reads)],
          ['writes', ...cellsOf(load.writes)],
        ],
      ),
    ])
  } finally {
    progress.stop()
    await remove(client, className)
  }
}

function firstObjects(className: string): CreateObjectBody[] {
  return Array.from({ length: objectsAtStart }, (_, key) => ({ class: className, attributes: valuesOf(key) }))
}

function cellsOf(histogram: LatencyHistogram): string[] {
  const { count, p50Ms, p99Ms, maxMs } = histogram.summary()
  return [numberText(count), ...[p50Ms, p99Ms, maxMs].map((ms) => (ms === null ? '' : ms.toFixed(2)))]
}

/** Throws what a request has thrown, or the reason of `signal`, when no request is under way any more. */
async function sendUntilDeadline(
  client: AshlarClient,
  load: Load,
  connections: number,
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController()
  const stop = AbortSignal.any([signal, failed.signal])
  const sent = Array.from({ length: connections }, (_, at) =>
    sendUntilStopped(client, load, at, stop).catch((error: unknown) => failed.abort(error)),
  )
  await Promise.all(sent)
  stop.throwIfAborted()
}

async function sendUntilStopped(client: AshlarClient, load: Load, at: number, stop: AbortSignal): Promise<void> {
  for (let turn = 0; performance.now() < load.deadline && !stop.aborted; turn++) {
    const oid = load.oids[Math.floor(Math.random() * load.oids.length)] ?? ''
    const isRead = Math.random() * 100 < load.readsPercent
    const sent = performance.now()
    if (isRead) await client.readObject(oid)
    else if (turn % 2 === 0) await client.updateObject(oid, { key: turn })
    else {
      const { __identifier__ } = await client.createObject(load.className, valuesOf(at))
      if (load.oids.length < oidsMax) load.oids.push(__identifier__)
    }
    const histogram = isRead ? load.reads : load.writes
    histogram.add(performance.now() - sent)
  }
}

function valuesOf(key: number): { readonly key: number; readonly text: string } {
  return { key, text: `object ${key} `.padEnd(100, 'x') }
}

/** Also after Ctrl-C. */
async function remove(client: AshlarClient, className: string): Promise<void> {
  await client.query(`DELETE ${className}`)
  await client.deleteClass(className)
}

function numberOf(option: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value
  throw usageError(`${option} is a whole number from ${min} to ${max}, not ${text}.`)
}
