/** What every way to serve has: the line at the start, and signals that stop. */

import type { StoreSummary } from '../peers/messages.ts'
import { version } from '../version.ts'

export function startLine(url: string, stores: readonly StoreSummary[], workers = 1): string {
  const fds = stores.map(({ alias, kind, location }) => `${alias} (${kind} ${location})`)
  const by = workers === 1 ? '' : ` · ${workers} workers`
  return `Ashlar ${version} listening on ${url}${by} · FDs: ${fds.join(', ')} · reference: ${url}/docs\n`
}

export function stopOnSignals(stop: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
}
