/** Who is told when parts of the work of a request begin and end, where somebody traces requests. */

/** `parse`: of a text of statements; `plan`: of a statement for which no plan is kept; `execute`: until the last row is taken; `commit`: of a transaction. */
export type SpanName = 'parse' | 'plan' | 'execute' | 'commit'

/** Called once, with what the part has failed with. */
export type EndSpan = (error?: unknown) => void

export interface WorkSpans {
  /** Undefined where what is done now belongs to no request that is traced. */
  begin(name: SpanName): EndSpan | undefined
}

/** `work` may end at once, or later. */
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
