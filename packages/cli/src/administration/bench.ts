/** `ashlar bench`: sends requests over several connections as fast as they are answered, and measures their latencies. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import type { AshlarClient } from '@ashlar/client'
import type { CommandContext } from '../connection/command-context.ts'
import { usageError } from '../errors/command-error.ts'
import { ProgressLine } from '../output/progress.ts'
import { numberText } from '../output/texts.ts'
import { internalNamespace } from '../schema/schema-state.ts'

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
  /** Objects that reads and updates choose from. */
  readonly oids: string[]
  /** Latencies in microseconds. */
  readonly reads: RecordableHistogram
  readonly writes: RecordableHistogram
}

/** Objects that are created before the first request is timed. */
const objectsAtStart = 1_000
/** Bounds the memory for `oids`: later objects are not added. */
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
  // Ctrl-C takes effect between requests: a request executed after the removal of the class could recreate it, or keep it.
  const client = connection.uninterrupted
  const seconds = numberOf('--seconds', options.seconds ?? '10', 1, 600)
  const connections = numberOf('--connections', options.connections ?? '16', 1, 256)
  const readsPercent = numberOf('--reads', options.reads ?? '90', 0, 100)
  const className = `${internalNamespace}.Bench${Date.now()}`
  await client.createClasses([{ className, isReferenceable: true, attributes }])
  const progress = new ProgressLine({ unit: 'requests', isQuiet: output.hidesProgress })
  try {
    signal.throwIfAborted()
    const objects = Array.from({ length: objectsAtStart }, (_, key) => ({
      class: className,
      attributes: valuesOf(key),
    }))
    const oids = (await client.createObjects(objects)).map(({ __identifier__ }) => __identifier__)
    const started = performance.now()
    const load: Load = {
      className,
      deadline: started + seconds * 1_000,
      readsPercent,
      oids,
      reads: createHistogram(),
      writes: createHistogram(),
    }
    const timer = setInterval(() => progress.update(load.reads.count + load.writes.count), 500)
    try {
      await sendUntilDeadline(client, load, connections, signal)
    } finally {
      clearInterval(timer)
    }
    const measured = (performance.now() - started) / 1_000
    const requests = load.reads.count + load.writes.count
    const result = {
      seconds: measured,
      connections,
      requests,
      requestsPerSecond: requests / measured,
      reads: summaryOf(load.reads),
      writes: summaryOf(load.writes),
    }
    progress.stop()
    await output.data(result, () => [
      `${numberText(Math.round(result.requestsPerSecond))} requests/s over ${measured.toFixed(1)} s, ${connections} at a time`,
      ...output.table(
        ['', 'Requests', 'p50 ms', 'p99 ms', 'Max ms'],
        [
          ['reads', ...cellsOf(result.reads)],
          ['writes', ...cellsOf(result.writes)],
        ],
      ),
    ])
  } finally {
    progress.stop()
    await remove(client, className)
  }
}

/** Latencies are null if there were no requests. */
function summaryOf(latencies: RecordableHistogram) {
  const { count, max } = latencies
  const ms = (us: number): number | null => (count === 0 ? null : us / 1_000)
  return { count, p50Ms: ms(latencies.percentile(50)), p99Ms: ms(latencies.percentile(99)), maxMs: ms(max) }
}

function cellsOf({ count, p50Ms, p99Ms, maxMs }: ReturnType<typeof summaryOf>): string[] {
  return [numberText(count), ...[p50Ms, p99Ms, maxMs].map((ms) => (ms === null ? '' : ms.toFixed(2)))]
}

/** Throws the error of a request, or the reason of `signal`, when no request is in progress. */
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
  for (let iteration = 0; performance.now() < load.deadline && !stop.aborted; iteration++) {
    const oid = load.oids[Math.floor(Math.random() * load.oids.length)] ?? ''
    const isRead = Math.random() * 100 < load.readsPercent
    const sent = performance.now()
    if (isRead) await client.readObject(oid)
    else if (iteration % 2 === 0) await client.updateObject(oid, { key: iteration })
    else {
      const { __identifier__ } = await client.createObject(load.className, valuesOf(at))
      if (load.oids.length < oidsMax) load.oids.push(__identifier__)
    }
    const latencies = isRead ? load.reads : load.writes
    latencies.record(Math.max(1, Math.round((performance.now() - sent) * 1_000)))
  }
}

function valuesOf(key: number): { readonly key: number; readonly text: string } {
  return { key, text: `object ${key} `.padEnd(100, 'x') }
}

async function remove(client: AshlarClient, className: string): Promise<void> {
  await client.query(`DELETE ${className}`)
  await client.deleteClass(className)
}

function numberOf(option: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value
  throw usageError(`${option} must be an integer from ${min} to ${max}, not ${text}.`)
}
