/**
 * Somebody else, in a process of its own: an object read every 5 ms over a connection of its own, and as often over those that are kept, and a
 * lookup by key every 20 ms. None waits for the one before: a wait of a second is met by all that would have been sent meanwhile.
 */
import { Agent, request } from 'node:http'
import { constants, setPriority } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'

export interface Probed {
  readonly url: string
  readonly oid: string
}

export interface Answer {
  /** 0 where there was none. */
  readonly status: number
  readonly ms: number
}

export interface Probes {
  /** Each on a connection of its own. */
  readonly reads: Answer[]
  readonly keptReads: Answer[]
  /** As `reads`. */
  readonly lookups: Answer[]
  /** The longest that this process was busy with itself, or waited for a processor: so much its times may be too long. */
  heldMs: number
}

/** Enough that none waits for the reply to another, which would add up all their waits. */
const keptConnections = 32
const readEveryMs = 5
const lookUpEveryMs = 20
const text = 'FROM Part WHERE size = $size RETURN name'

if (process.send !== undefined) {
  goFirst()
  const probes: Probes = { reads: [], keptReads: [], lookups: [], heldMs: 0 }
  process.once('message', ({ url, oid }: Probed) => {
    const kept = new Agent({ keepAlive: true, maxSockets: keptConnections, scheduling: 'fifo' })
    const delays = monitorEventLoopDelay({ resolution: 1 })
    delays.enable()
    const underWay = new Set<Promise<unknown>>()
    const every = (ms: number, into: Answer[], one: () => Promise<Answer>): NodeJS.Timeout => {
      return setInterval(() => {
        const answered = one().then((answer) => into.push(answer))
        underWay.add(answered)
        void answered.finally(() => underWay.delete(answered))
      }, ms)
    }
    const read = (agent: Agent | false): Promise<Answer> => ask(url, agent, 'GET', `/v1/object/${oid}`)
    const lookUp = { query: text, parameters: { size: 4711 } }
    const timers = [
      every(readEveryMs, probes.reads, () => read(false)),
      every(readEveryMs, probes.keptReads, () => read(kept)),
      every(lookUpEveryMs, probes.lookups, () => ask(url, false, 'POST', '/v1/query', lookUp)),
    ]
    process.once('message', async () => {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(underWay)
      kept.destroy()
      probes.heldMs = delays.max / 1e6
      process.send?.(probes, () => process.disconnect())
    })
    process.send?.('begun')
  })
  process.send('ready')
}

/** It stands for clients on other machines, which share no processor with the server. */
function goFirst(): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST)
  } catch {
    console.log('(the probe has no permission to go before the others: it may wait for a processor)')
  }
}

function ask(url: string, agent: Agent | false, method: string, path: string, body?: unknown): Promise<Answer> {
  const beganAt = performance.now()
  return new Promise((resolve) => {
    const end = (status: number): void => resolve({ status, ms: performance.now() - beganAt })
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const sent = request(`${url}${path}`, { method, headers, agent }, (response) => {
      response.resume()
      response.once('end', () => end(response.statusCode ?? 0))
      response.once('error', () => end(0))
    })
    sent.once('error', () => end(0))
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
