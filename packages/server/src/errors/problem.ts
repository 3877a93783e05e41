/** The body of every error reply (contract 1.4.1). */
import type { ErrorDetail } from '@ashlar/engine'
import { type ProblemType, problemEntry } from './server-errors.ts'

/** Readable by clients that look for `message` and `type`, and a valid problem document (RFC 9457). */
export interface Problem {
  readonly type: ProblemType
  readonly title: string
  readonly status: number
  readonly message: string
  readonly errors?: readonly ErrorDetail[]
  /** Of an AshlarError: its extensions. */
  readonly [extension: string]: unknown
}

export function makeProblem(type: ProblemType, message: string, errors: readonly ErrorDetail[] = []): Problem {
  const { status, title } = problemEntry(type)
  return { type, title, status, message, ...(errors.length === 0 ? {} : { errors }) }
}

/** Of an operation that takes a body. */
export function missingBody(): Problem {
  return makeProblem('MalformedRequest', 'The operation needs a body.')
}
