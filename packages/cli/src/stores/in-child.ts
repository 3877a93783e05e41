/** Runs a command on LMDB stores in a child process, so that a crash can be reported. */
import cluster, { type Worker as Child } from 'node:cluster'
import { once } from 'node:events'
import { type Crashed, crashOf, crashSentence, fileBytesMax, lmdbStores } from '@ashlar/server/workers'
import { CommandError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { storeFailure } from './store-failure.ts'

const interrupt = 'interrupt'

/**
 * Runs in this process if no LMDB store is opened, otherwise in a child process with the same command line. SIGINT and SIGTERM abort the signal. In
 * the child, throws the errors of `run` as a CommandError; in the parent, throws a CommandError with `lostExitCode` if the child has crashed or was
 * killed.
 */
export async function inChild(
  work: Crashed['work'],
  addresses: readonly string[],
  run: (signal: AbortSignal) => Promise<void>,
  lostExitCode: number = exitCodes.failed,
): Promise<void> {
  const stores = lmdbStores(addresses)
  if (cluster.isPrimary && stores.length > 0) return watchChild(work, stores, lostExitCode)
  const interrupted = new AbortController()
  const abort = (): void => interrupted.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, abort)
  process.on('message', (message) => message === interrupt && abort())
  try {
    await run(interrupted.signal)
  } catch (error) {
    throw await storeFailure(error, addresses)
  } finally {
    // The channel to the parent would keep the process from ending.
    cluster.worker?.disconnect()
  }
}

async function watchChild(work: Crashed['work'], stores: readonly string[], lostExitCode: number): Promise<void> {
  let isToStop = false
  let child: Child | undefined
  // On a terminal the child gets the signal as well; a second stop has no effect.
  const stopChild = (): void => {
    isToStop = true
    if (child?.isConnected()) child.send(interrupt, () => undefined)
  }
  // Before the child starts: a signal that ends this process would leave it orphaned.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stopChild)
  child = cluster.fork()
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  const { pid } = child.process
  const crash = crashOf(code, signal)
  if (crash !== undefined) {
    const sentence = crashSentence({ pid, crash, stores, work, fileBytesMax: fileBytesMax() })
    throw new CommandError(lostExitCode, sentence)
  }
  // On a terminal: Ctrl-C before the child handles the signal, or a second Ctrl-C.
  if (isToStop && (signal === 'SIGINT' || signal === 'SIGTERM')) process.exitCode = exitCodes.interrupted
  else if (signal !== null) throw new CommandError(lostExitCode, `Process ${pid} was ended by ${signal}.`)
  else process.exitCode = code ?? lostExitCode
}
