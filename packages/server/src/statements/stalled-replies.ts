/** Replies whose readers take nothing any more: what they hold (a snapshot, rows, a place) is given back. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const looksPerLimit = 20
const betweenLooksMsMin = 5
const betweenLooksMsMax = 1_000

interface Waiting {
  /** Rises with each byte that the operating system takes. */
  readonly taken: number
  readonly sinceMs: number
}

/** Node's own count of what a socket has handed to the operating system and was not taken yet; it has no public name. */
interface Handled {
  readonly _handle?: { readonly writeQueueSize?: number } | null
  readonly _httpMessage?: ServerResponse | null
}

/**
 * Looks after connections now and then: one on which bytes wait, and of which none was taken for `msMax`, is destroyed, and `onStalled` told
 * which path it was asked for. Where there is nothing to send, or nothing yet, nobody is waited for.
 */
export function watchReplies(
  connections: Iterable<Socket>,
  msMax: number,
  onStalled: (told: { readonly path: string; readonly clientAddress: string }) => void,
): NodeJS.Timeout {
  const waiting = new WeakMap<Socket, Waiting>()
  const look = (): void => {
    const now = performance.now()
    for (const socket of connections) {
      if (socket.writableLength === 0) {
        waiting.delete(socket)
        continue
      }
      const { _handle: handle, _httpMessage: response } = socket as Handled
      const taken = socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0)
      const before = waiting.get(socket)
      if (before?.taken !== taken) {
        waiting.set(socket, { taken, sinceMs: now })
      } else if (now - before.sinceMs >= msMax) {
        const [path = ''] = (response?.req.url ?? '').split('?', 1)
        onStalled({ path, clientAddress: socket.remoteAddress ?? '' })
        socket.destroy()
      }
    }
  }
  const betweenLooksMs = Math.min(betweenLooksMsMax, Math.max(betweenLooksMsMin, msMax / looksPerLimit))
  return setInterval(look, betweenLooksMs).unref()
}
