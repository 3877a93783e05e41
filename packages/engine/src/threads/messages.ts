/** What the main thread and a statement thread send each other: plain data, which `postMessage` copies. */
import { AshlarError } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import type { Dialect } from '../query/language/dialect.ts'
import type { QueryRequest, RowChunk } from '../query/query-request.ts'
import type { SentCommit } from './sent-commit.ts'
import type { SharedCells } from './shared-cells.ts'

/** How a thread opens the federated database, as its `workerData`. */
export interface ThreadStart {
  readonly alias: string
  readonly address: string
  readonly limits: EngineLimits
  readonly dialect: Dialect
  readonly importDirectory: string | undefined
  readonly temporaryDirectory: string
  readonly cells: SharedCells
}

/** A policy of a caller, see `AccessPolicy`: plain data, which nothing here looks at. */
export type PolicyData = object

/** The part of a `QueryRequest` that is data. */
export type ThreadRequest = Pick<QueryRequest, 'text' | 'parameters' | 'dialect' | 'user' | 'explain'>

/** What is taken from a budget of the process, or given back where `bytes` is negative. */
export interface Taking {
  readonly kind: 'take'
  readonly budget: 'memory' | 'disk'
  readonly bytes: number
  readonly bytesMax: number
}

export type ToThread =
  | {
      readonly kind: 'run'
      readonly request: ThreadRequest
      readonly policy: PolicyData | undefined
      /** The main thread has to know what a change was, or answers for it. */
      readonly isReadOnly: boolean
    }
  /** The reader has consumed so many bytes of rows. */
  | { readonly kind: 'consumed'; readonly bytes: number }
  /** The rest of the rows is not needed. */
  | { readonly kind: 'cancel' }
  /** `failed`: the position of the precondition that did not hold. */
  | { readonly kind: 'committed'; readonly id: number; readonly failed?: number; readonly error?: SentError }
  | { readonly kind: 'close' }

export type FromThread =
  /** The store is open: from now on the thread runs statements. */
  | { readonly kind: 'opened' }
  | { readonly kind: 'chunk'; readonly chunk: RowChunk }
  | { readonly kind: 'done'; readonly rows: number; readonly touched: number }
  | { readonly kind: 'failed'; readonly error: SentError }
  /** Only the main thread runs such statements. */
  | { readonly kind: 'refused' }
  /** The snapshot was ended because it was held for too long. */
  | { readonly kind: 'ended'; readonly error: SentError }
  | { readonly kind: 'commit'; readonly id: number; readonly commit: SentCommit }
  | Taking

/** An error as data: `postMessage` keeps neither the class nor the fields of one. */
export type SentError = Pick<AshlarError, 'message' | 'errors' | 'extensions' | 'isFatal'> & {
  /** Undefined for an error that is none of the catalogue. */
  readonly type: AshlarError['type'] | undefined
  readonly stack: string | undefined
}

export function sentError(error: unknown): SentError {
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  if (!(error instanceof AshlarError))
    return { type: undefined, message, stack, errors: [], extensions: {}, isFatal: false }
  const { type, errors, extensions, isFatal } = error
  return { type, message, stack, errors, extensions, isFatal }
}

export function receivedError({ type, message, stack, errors, extensions, isFatal }: SentError): Error {
  if (type !== undefined) return new AshlarError(type, message, errors, extensions, isFatal)
  const error = new Error(message)
  if (stack !== undefined) error.stack = stack
  return error
}
