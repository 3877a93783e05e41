/** Sends requests for a while and counts them; the server's CPU time is taken over the same while. */
import autocannon from 'autocannon'
import type { ChildServer } from './child-server.ts'

export interface Scenario {
  readonly name: string
  readonly connections: number
  /** Ends after so many requests instead of after a time. */
  readonly amount?: number
  /** The next request; called once a request, so that no two are the same. */
  next(): { readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'; readonly path: string; readonly body?: string }
}

export interface Measured {
  readonly name: string
  readonly requestsPerSecond: number
  readonly cpuMicrosecondsPerRequest: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly refused: number
}

export async function measure(server: ChildServer, scenario: Scenario, seconds: number): Promise<Measured> {
  const cpuBefore = server.cpuSeconds()
  const result = await autocannon({
    url: server.url,
    connections: scenario.connections,
    // A run ends with a sample.
    sampleInt: 50,
    ...(scenario.amount === undefined ? { duration: seconds } : { amount: scenario.amount }),
    requests: [
      {
        setupRequest(request) {
          const { method, path, body } = scenario.next()
          return { ...request, method, path, ...(body === undefined ? {} : { body }), headers: headersOf(body) }
        },
      },
    ],
  })
  const cpu = server.cpuSeconds() - cpuBefore
  const done = result['2xx']
  return {
    name: scenario.name,
    requestsPerSecond: Math.round(done / result.duration),
    cpuMicrosecondsPerRequest: Math.round((cpu / Math.max(1, done + result.non2xx)) * 1e6 * 10) / 10,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    refused: result.non2xx + result.errors,
  }
}

function headersOf(body: string | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-type': 'application/json' }
}
