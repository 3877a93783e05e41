/** Runs the server in this process: alone, or as a worker of the primary. */
import cluster from 'node:cluster'
import type { Config } from '../config/config.ts'
import { startServer } from '../start-server.ts'
import { Worker } from '../workers/worker.ts'
import { logBytes, openLog, sharedLogBytes } from './log.ts'
import { isJsonAsked, reloadOnSignal, reportFailure, startLine, stopOnSignals } from './process.ts'

/** `isJson`: the line at the start is JSON. */
export async function serveAlone(config: Config, isJson: boolean): Promise<void> {
  const log = openLog(config.logLevel, logBytes)
  const server = await startServer(config, log.logger)
  stopOnSignals(server.stop)
  reloadOnSignal(config, server.reload)
  const stores = server.federatedDatabases.map(({ alias, store: { capabilities } }) => ({ alias, ...capabilities }))
  // Last, since its reader may send a signal at once.
  process.stdout.write(startLine(server.url, stores, config, isJson))
  process.exitCode = await server.stopped
  log.close()
}

/** A failure is reported in one line, and ends the process with exit code 1. `words` are those of the primary. */
export function serveAsWorker(): Promise<void> {
  return reportFailure(serveForPrimary(), isJsonAsked(process.argv.slice(2)))
}

async function serveForPrimary(): Promise<void> {
  const worker = new Worker()
  try {
    const config = await worker.configured()
    const isOnly = config.workers === 1
    const log = openLog(
      config.logLevel,
      isOnly ? logBytes : sharedLogBytes,
      isOnly ? null : { worker: cluster.worker?.id },
    )
    const server = await startServer(config, log.logger, worker)
    stopOnSignals(server.stop)
    // Sent to all processes of a terminal or a service: the primary passes it on.
    reloadOnSignal(config, () => undefined)
    worker.reportListening(server)
    process.exitCode = await server.stopped
    log.close()
  } finally {
    // What it hears of the primary would keep it from ending.
    cluster.worker?.on('error', passUnlessChannelClosed).disconnect()
  }
}

/** The primary may have been killed just before, so that nobody reads the message. */
function passUnlessChannelClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ERR_IPC_CHANNEL_CLOSED') throw error
}
