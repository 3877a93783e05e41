/**
 * The write transactions of this process that are under way, and what becomes of them when it exits.
 *
 * lmdb-js waits in a thread of Node for LMDB's write lock, and then for the callback, which runs in JavaScript. Neither comes to pass in a
 * process that exits: Node waits for its threads first, without an end, and the lock would stay with it.
 */
import { writeSync } from 'node:fs'
import { inspect } from 'node:util'
import { isMainThread } from 'node:worker_threads'
import type { Awaitable } from '../store.ts'
import type { Environment } from './lmdb-js.ts'

let underWay = 0
/** What the process is about to end by. Node tells it only after the last moment of the process. */
let uncaught: { readonly error: unknown } | undefined
let isWatched = false

/** Runs `action` in a write transaction, which lasts until that has resolved, and resolves when it is durable. */
export async function writeTransaction<T>(environment: Environment, action: () => Awaitable<T>): Promise<T> {
  watchUncaught()
  underWay++
  try {
    return await environment.childTransaction(action)
  } finally {
    underWay--
  }
}

function watchUncaught(): void {
  if (isWatched || !isMainThread) return
  isWatched = true
  process.on('uncaughtExceptionMonitor', (error) => {
    uncaught = { error }
    // Whoever catches it lives on.
    setImmediate(() => {
      uncaught = undefined
    })
  })
}

/**
 * For the last moment of a process: kills it where a write transaction is under way. Nothing of that was acknowledged, and the operating
 * system releases the lock. The exit code is lost, which is why that is told, and the exception that ends the
 * process, if one does.
 */
export function killIfWriting(): void {
  if (underWay === 0 || !isMainThread) return
  const told =
    'a commit to an LMDB store was under way when the process exited; it is killed, since it could not end otherwise'
  const cause = uncaught === undefined ? '' : `${inspect(uncaught.error)}\n`
  try {
    writeSync(process.stderr.fd, `${cause}ashlar: ${told}\n`)
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}
