/** Messages between the main thread and a statement thread: plain data, which `postMessage` copies. */
import { AshlarError } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import type { Dialect } from '../query/language/dialect.ts'
import type { RowChunk } from '../query/query-request.ts'
import { AlreadyDone } from '../receipts/receipt.ts'
import type { Bytes } from '../store/store.ts'
import type { Isolation } from '../transaction/isolation.ts'
import type { ChangeSet } from '../write/change-set.ts'
import type { SentCommit } from './sent-commit.ts'
import type { SharedCells } from './shared-cells.ts'

/** How a thread opens the federated database, as its `workerData`. */
export interface ThreadStart {
  readonly alias: string
  readonly address: string
  readonly limits: EngineLimits
  readonly dialect: Dialect
  readonly isolation: Isolation
  readonly importDirectory: string | undefined
  readonly temporaryDirectory: string
  readonly cells: SharedCells
}

/** A policy of a caller, see `AccessPolicy`: plain data, opaque here. */
export type PolicyData = object

/** Bytes taken from a budget of the process, or released if negative. */
export interface Taking {
  readonly kind: 'take'
  readonly budget: 'memory' | 'disk' | 'replies'
  readonly bytes: number
  /** Of `replies`: bytes already charged. */
  readonly bytesMax: number
}

export type ToThread =
  | {
      readonly kind: 'run'
      readonly operation: string
      readonly data: object
      readonly policy: PolicyData | undefined
      /** Whether the main thread listens for changes of its commits. */
      readonly isObserved: boolean
    }
  /** The reader has consumed this many bytes of rows. */
  | { readonly kind: 'consumed'; readonly bytes: number }
  /** The remaining rows are not needed. */
  | { readonly kind: 'cancel' }
  /** `failed`: the position of the violated precondition. */
  | { readonly kind: 'committed'; readonly id: number; readonly failed?: number; readonly error?: SentError }
  | { readonly kind: 'locked'; readonly error?: SentError }
  /** Numbers of a sequence, or why there are none. */
  | { readonly kind: 'drawn'; readonly id: number; readonly numbers: readonly bigint[] | SentError }
  | { readonly kind: 'admitted'; readonly error?: SentError }
  | { readonly kind: 'close' }

export type FromThread =
  /** The store is open, and the thread runs statements from now on. */
  | { readonly kind: 'opened' }
  | { readonly kind: 'chunk'; readonly chunk: RowChunk }
  | { readonly kind: 'done'; readonly rows: number; readonly touched: number; readonly result: unknown }
  | { readonly kind: 'failed'; readonly error: SentError }
  /** Only the main thread runs such statements. */
  | { readonly kind: 'refused' }
  /** The snapshot was ended because it was held too long. */
  | { readonly kind: 'ended'; readonly error: SentError }
  | {
      readonly kind: 'commit'
      readonly id: number
      readonly commit: SentCommit
      readonly changes: ChangeSet | undefined
      /** See `Commit.isReservation`. */
      readonly isReservation: boolean
      /** The commit is made under the lock that the thread holds. */
      readonly isLocked: boolean
    }
  /** See `CommitLocking`. */
  | { readonly kind: 'lock' | 'unlock' }
  /** See `ThreadWork.admitValues`. */
  | { readonly kind: 'admit'; readonly values: number }
  /** See `ThreadWork.beforeChange`. */
  | { readonly kind: 'changing' }
  /** Asks for numbers of a sequence. */
  | { readonly kind: 'draw'; readonly id: number; readonly sequence: string; readonly count: number }
  /** A change of the schema has left entries to be purged. */
  | { readonly kind: 'purge' }
  | Taking

/** An error as data: `postMessage` preserves neither its class nor its fields. */
export type SentError = Pick<AshlarError, 'message' | 'errors' | 'extensions' | 'isFatal'> & {
  /** Undefined for an error outside the catalogue. */
  readonly type: AshlarError['type'] | undefined
  readonly stack: string | undefined
  /** Of `AlreadyDone`. */
  readonly reply?: Bytes
}

export function sentError(error: unknown): SentError {
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  const plain = { type: undefined, message, stack, errors: [], extensions: {}, isFatal: false }
  if (error instanceof AlreadyDone) return { ...plain, reply: error.reply }
  if (!(error instanceof AshlarError)) return plain
  const { type, errors, extensions, isFatal } = error
  return { type, message, stack, errors, extensions, isFatal }
}

export function receivedError({ type, message, stack, errors, extensions, isFatal, reply }: SentError): Error {
  if (reply !== undefined) return new AlreadyDone(reply)
  if (type !== undefined) return new AshlarError(type, message, errors, extensions, isFatal)
  const error = new Error(message)
  if (stack !== undefined) error.stack = stack
  return error
}
