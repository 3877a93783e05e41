/**
 * Tracks the write transactions of this process that are in progress, and ends them when it exits.
 * lmdb-js waits in a thread of Node for LMDB's write lock, and then for the callback, which runs in JavaScript. In an exiting process neither
 * completes: Node would wait for its threads forever, while the process holds the lock.
 */
import { writeSync } from 'node:fs'
import { inspect } from 'node:util'
import { isMainThread } from 'node:worker_threads'
import type { Awaitable } from '../store.ts'
import type { Environment } from './lmdb-js.ts'

let inProgress = 0
/** The exception that is about to end the process; Node does not pass it to exit handlers. */
let uncaught: { readonly error: unknown } | undefined
let isWatched = false

/** Runs `action` in a write transaction, which lasts until its promise resolves; resolves when the transaction is durable. */
export async function writeTransaction<T>(environment: Environment, action: () => Awaitable<T>): Promise<T> {
  watchUncaught()
  inProgress++
  try {
    return await environment.childTransaction(action)
  } finally {
    inProgress--
  }
}

function watchUncaught(): void {
  if (isWatched || !isMainThread) return
  isWatched = true
  process.on('uncaughtExceptionMonitor', (error) => {
    uncaught = { error }
    // A handler may catch the exception.
    setImmediate(() => {
      uncaught = undefined
    })
  })
}

/**
 * For the exit of a process: kills it if a write transaction is in progress. Nothing of that was acknowledged, and the operating system releases the
 * lock. Since the exit code is lost, the reason is printed, with the exception that ends the process, if any.
 */
export function killIfWriting(): void {
  if (inProgress === 0 || !isMainThread) return
  const reason =
    'a commit to an LMDB store was under way when the process exited; it is killed, since it could not end otherwise'
  const cause = uncaught === undefined ? '' : `${inspect(uncaught.error)}\n`
  try {
    writeSync(process.stderr.fd, `${cause}ashlar: ${reason}\n`)
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}
