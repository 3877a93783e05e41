/** Runs the server in this process: alone, or as a worker of the primary. */
import cluster from 'node:cluster'
import { type Config, startServer, Worker } from '@ashlar/server'
import { logBytes, openLog, sharedLogBytes } from './log.ts'
import { reloadOnSignal, reportFailure, requestsJson, startLine, stopOnSignals } from './process.ts'

/** `isJson`: prints the line at the start as JSON. */
export async function serveAlone(config: Config, isJson: boolean): Promise<void> {
  const log = openLog(config.logLevel, logBytes)
  const server = await startServer(config, log.logger)
  stopOnSignals(server.stop)
  reloadOnSignal(config, server.reload)
  const stores = server.federatedDatabases.map(({ alias, store: { capabilities } }) => ({ alias, ...capabilities }))
  // Last, since its reader may send a signal immediately.
  process.stdout.write(startLine(server.url, stores, config, isJson))
  process.exitCode = await server.stopped
  log.close()
}

/** Reports a failure in one line, and ends the process with exit code 1. The command line is that of the primary. */
export function serveAsWorker(): Promise<void> {
  return reportFailure(serveForPrimary(), requestsJson(process.argv.slice(2)))
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
    // The primary forwards a signal that a terminal or a service sends to all processes.
    reloadOnSignal(config, () => undefined)
    worker.reportListening(server)
    process.exitCode = await server.stopped
    log.close()
  } finally {
    // The channel to the primary would keep the process from ending.
    cluster.worker?.on('error', passUnlessChannelClosed).disconnect()
  }
}

/** The primary may have been killed just before, so that the channel is closed. */
function passUnlessChannelClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ERR_IPC_CHANNEL_CLOSED') throw error
}
