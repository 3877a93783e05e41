/** Common parts of all server processes: the line at the start, stop signals, and reports of failures. */

import { type Config, version } from '@ashlar/server/shared'
import type { StoreSummary } from '@ashlar/server/workers'
import { CommandError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'

/** Returns the line, with a second one if authentication is off; `isJson`: one line of JSON. */
export function startLine(
  url: string,
  stores: readonly StoreSummary[],
  { workers, auth }: Pick<Config, 'workers' | 'auth'>,
  isJson: boolean,
): string {
  if (isJson) {
    const federatedDatabases = stores.map(({ alias, kind, location }) => ({ alias, kind, location }))
    return `${JSON.stringify({ version, url, workers, auth, federatedDatabases })}\n`
  }
  const fds = stores.map(({ alias, kind, location }) => `${alias} (${kind} ${location})`)
  const by = workers <= 1 ? '' : ` · ${workers} workers`
  return `Ashlar ${version} listening on ${url}${by} · FDs: ${fds.join(', ')} · reference: ${url}/docs\n${auth ? '' : openLine}`
}

/** Reports a rejection in one line, and sets the exit code of the process. */
export async function reportFailure(work: Promise<unknown>, isJson: boolean): Promise<void> {
  try {
    await work
  } catch (error) {
    process.exitCode = error instanceof CommandError ? error.exitCode : exitCodes.failed
    process.stderr.write(failureLine(process.exitCode, (error as Error).message, isJson))
  }
}

/** Returns the line for a failure without further details, and without loading the client. */
export function failureLine(exitCode: number, message: string, isJson: boolean): string {
  return isJson ? `${JSON.stringify({ error: { exitCode, message } })}\n` : `ashlar: ${message}\n`
}

/** Searches the raw arguments, since errors in them are reported as JSON too. */
export function requestsJson(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return words.slice(0, end < 0 ? words.length : end).includes('--json')
}

/** Reloads files on SIGHUP if any are configured; otherwise SIGHUP ends the process. */
export function reloadOnSignal({ tlsCert, auditLog }: Config, reload: () => void): void {
  if (tlsCert !== undefined || auditLog !== undefined) process.on('SIGHUP', reload)
}

const openLine =
  'Authentication is off: anyone who can reach this address may do everything. Enable it with `npm start -- --auth`, or `ashlar serve --auth`.\n'

export function stopOnSignals(stop: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
}
