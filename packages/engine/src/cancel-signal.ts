/** Cancellation of work, because a client disconnects or a statement is stopped. */

/** The part of `AbortSignal` that the engine uses, so that a server can use a cheaper implementation per request. */
export interface CancelSignal {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Waits for `ms` milliseconds, or until `until` settles. Throws the signal's reason as soon as it is aborted. */
export async function delay(ms: number, signal: CancelSignal | undefined, until?: Promise<void>): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, Math.max(0, ms))
    function end(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    signal?.addEventListener('abort', end)
    until?.then(end, end)
  })
  signal?.throwIfAborted()
}
