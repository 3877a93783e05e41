/** The program of a statement thread: runs one statement at a time on a handle of its own on the store. See `threads/statement-threads.ts`. */
import { setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { AccessPolicy } from './access/access-policy.ts'
import { assert } from './errors.ts'
import { FederatedDatabase } from './federated-database.ts'
import { statementThreadPriority } from './limits.ts'
import type { QueryProgress, QueryRequest, RowChunk, RowChunks } from './query/query-request.ts'
import { openStoreInThread } from './storage/open-store.ts'
import type { Commit, CommitOutcome, Precondition } from './store/store.ts'
import { type FromThread, receivedError, sentError, type ThreadStart, type ToThread } from './threads/messages.ts'
import { sentCommit } from './threads/sent-commit.ts'
import { Budgets, ThreadMemory, ThreadSpace } from './threads/thread-budgets.ts'
import { onlyInMainThread, ThreadSignal, ThreadSlice } from './threads/thread-slice.ts'

/** Bytes of rows that are sent before the reader has consumed them: what the main thread holds is charged to the statement until then. */
const bytesAheadMax = 2 ** 18

const port = parentPort as MessagePort
assert(port !== null, 'this program runs in a worker thread')
const start = workerData as ThreadStart & { readonly budgetPort: MessagePort }
const { cells, limits } = start

function send(message: FromThread, transferred: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, transferred)
}

interface PendingCommit {
  readonly preconditions: readonly Precondition[]
  resolve(outcome: CommitOutcome): void
  reject(error: unknown): void
}

const commits = new Map<number, PendingCommit>()
let commitsSent = 0

function commit(made: Commit): Promise<CommitOutcome> {
  return new Promise((resolve, reject) => {
    const id = ++commitsSent
    commits.set(id, { preconditions: [...made.preconditions], resolve, reject })
    const sent = sentCommit(made)
    send({ kind: 'commit', id, commit: sent }, [sent.items.buffer as ArrayBuffer])
  })
}

function committed({ id, failed, error }: ToThread & { readonly kind: 'committed' }): void {
  const pending = commits.get(id)
  assert(pending !== undefined, 'a commit is answered once')
  commits.delete(id)
  if (error !== undefined) pending.reject(receivedError(error))
  else if (failed === undefined) pending.resolve({ isCommitted: true })
  else pending.resolve({ isCommitted: false, failed: pending.preconditions[failed] as Precondition })
}

/** The reader of the rows: it bounds how many chunks are sent ahead. */
let bytesAhead = 0
let onConsumed: (() => void) | undefined

async function sendChunk(chunk: RowChunk, signal: ThreadSignal): Promise<void> {
  send({ kind: 'chunk', chunk })
  bytesAhead += chunk.bytes.length
  while (bytesAhead > bytesAheadMax && !signal.aborted) {
    await new Promise<void>((resolve) => {
      onConsumed = resolve
    })
  }
}

async function sendAll(chunks: RowChunks, signal: ThreadSignal): Promise<void> {
  for (const chunk of chunks.atHand ?? []) await sendChunk(chunk, signal)
  if (chunks.atHand !== undefined) return
  for await (const chunk of chunks) {
    await sendChunk(chunk, signal)
    signal.throwIfAborted()
  }
}

const signal = new ThreadSignal(cells)
const opening = open()
opening.then(() => send({ kind: 'opened' }))

async function open(): Promise<FederatedDatabase> {
  // The event loop of the main thread goes first. Elsewhere a priority is that of the whole process.
  if (process.platform === 'linux') setPriority(statementThreadPriority)
  const store = await openStoreInThread(start.address, commit)
  const budgets = new Budgets(start.budgetPort, cells)
  const { alias, dialect, importDirectory: importDir, temporaryDirectory } = start
  const temporary = new ThreadSpace(temporaryDirectory, budgets)
  const options = { alias, store, limits, dialect, memory: new ThreadMemory(budgets), temporary }
  return FederatedDatabase.openInThread({ ...options, ...(importDir === undefined ? {} : { importDir }) })
}

async function run({ request, policy, isReadOnly }: ToThread & { readonly kind: 'run' }): Promise<void> {
  const slice = new ThreadSlice(cells, (await opening).store, limits, isReadOnly)
  let progress: QueryProgress | undefined
  const watch = {
    onBegun(begun: QueryProgress) {
      progress = begun
      slice.progress = begun
    },
    onEnded: (error: unknown) => send({ kind: 'ended', error: sentError(error) }),
  }
  try {
    const database = policy === undefined ? await opening : (await opening).as(policy as AccessPolicy)
    const asked: QueryRequest = { ...request, slice, signal, watch }
    const { chunks } = await database.query(asked)
    await sendAll(chunks, signal)
    slice.report()
    send({ kind: 'done', rows: progress?.rows ?? 0, touched: progress?.touched ?? 0 })
  } catch (error) {
    send(error === onlyInMainThread ? { kind: 'refused' } : { kind: 'failed', error: sentError(error) })
  }
}

port.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'run':
      bytesAhead = 0
      void run(message)
      break
    case 'consumed':
      bytesAhead -= message.bytes
      onConsumed?.()
      break
    case 'cancel':
      onConsumed?.()
      signal.notify()
      break
    case 'committed':
      committed(message)
      break
    case 'close':
      opening.then((database) => database.store.close()).finally(() => process.exit())
      break
    default:
      assert(message satisfies never, 'no other message is sent')
  }
})
