/** What every way to serve has: the line at the start, and signals that stop. */
import { version } from '../version.ts'
import type { ServedStore } from '../workers/messages.ts'

export function startLine(url: string, stores: readonly ServedStore[], workers = 1): string {
  const fds = stores.map(({ alias, kind, location }) => `${alias} (${kind} ${location})`)
  const by = workers === 1 ? '' : ` · ${workers} workers`
  return `Ashlar ${version} listening on ${url}${by} · FDs: ${fds.join(', ')} · reference: ${url}/docs\n`
}

export function stopOnSignals(stop: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
}
