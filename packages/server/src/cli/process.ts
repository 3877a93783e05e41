/** What every way to serve has: the line at the start, signals that stop, and how a failure is told. */

import type { Config } from '../config/config.ts'
import type { StoreSummary } from '../peers/messages.ts'
import { version } from '../version.ts'

/** With a second line where nobody has to authenticate. */
export function startLine(
  url: string,
  stores: readonly StoreSummary[],
  { workers, auth }: Pick<Config, 'workers' | 'auth'>,
): string {
  const fds = stores.map(({ alias, kind, location }) => `${alias} (${kind} ${location})`)
  const by = workers <= 1 ? '' : ` · ${workers} workers`
  return `Ashlar ${version} listening on ${url}${by} · FDs: ${fds.join(', ')} · reference: ${url}/docs\n${auth ? '' : openLine}`
}

/** What it is rejected with is told in one line, and ends the process with exit code 1. */
export async function tellFailure(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    process.stderr.write(`ashlar: ${(error as Error).message}\n`)
    process.exitCode = 1
  }
}

/** Where there is anything to read again; else SIGHUP ends the process, as it does when a terminal is closed. */
export function reloadOnSignal({ tlsCert, auditLog }: Config, reload: () => void): void {
  if (tlsCert !== undefined || auditLog !== undefined) process.on('SIGHUP', reload)
}

const openLine =
  'Authentication is off: whoever reaches this address may do everything. `npm start -- --auth`, or `ashlar serve --auth`, turns it on.\n'

export function stopOnSignals(stop: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
}
