/** Spans of the work of requests, for tracing. */

/** `parse`: a text of statements; `plan`: a statement without a cached plan; `execute`: until the last row is consumed; `commit`: a transaction. */
export type SpanName = 'parse' | 'plan' | 'execute' | 'commit'

/** Must be called once, with the error if the work failed. */
export type EndSpan = (error?: unknown) => void

export interface WorkSpans {
  /** Undefined if the current work belongs to no traced request. */
  begin(name: SpanName): EndSpan | undefined
}

/** `work` may be synchronous or return a promise. */
export function withinSpan<T>(spans: WorkSpans | undefined, name: SpanName, work: () => T): T {
  const end = spans?.begin(name)
  if (end === undefined) return work()
  let result: T
  try {
    result = work()
  } catch (error) {
    end(error)
    throw error
  }
  if (result instanceof Promise) result.then(() => end(), end)
  else end()
  return result
}
