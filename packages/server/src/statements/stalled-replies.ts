/** Replies whose readers take nothing any more: what they hold (a snapshot, rows, a place) is given back. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ServerLimits } from '../limits.ts'

const looksPerLimit = 20
const shareWhereFilesGrow = 6
const betweenLooksMsMin = 5
const betweenLooksMsMax = 1_000

export type StallLimits = Pick<ServerLimits, 'replyStallMsMax' | 'replyStallBytesMax'>

export interface StalledReply {
  readonly path: string
  readonly clientAddress: string
  readonly stalledMs: number
  readonly limit: keyof StallLimits
}

interface Waiting {
  /** Rises with each byte that the operating system takes. */
  readonly taken: number
  readonly sinceMs: number
  /** Of the data files then. */
  readonly fileBytes: number
}

/** Node's own count of what a socket has handed to the operating system and was not taken yet; it has no public name. */
interface Handled {
  readonly _handle?: { readonly writeQueueSize?: number } | null
  readonly _httpMessage?: ServerResponse | null
}

/**
 * Looks after connections now and then: one on which bytes wait, and of which none was taken for `replyStallMsMax`, is destroyed, and
 * `onStalled` told which path it was asked for. Where the data files have grown by `replyStallBytesMax` meanwhile, since they keep what the
 * reply reads, a sixth of the time is enough. `fileBytes`: of all stores in files. Where there is nothing to send, or nothing yet, nobody is waited for.
 */
export function watchReplies(
  connections: Iterable<Socket>,
  { replyStallMsMax, replyStallBytesMax }: StallLimits,
  fileBytes: () => number,
  onStalled: (told: StalledReply) => void,
): NodeJS.Timeout {
  const waiting = new WeakMap<Socket, Waiting>()
  const look = (): void => {
    const now = performance.now()
    let bytes: number | undefined
    for (const socket of connections) {
      if (socket.writableLength === 0) {
        waiting.delete(socket)
        continue
      }
      const { _handle: handle, _httpMessage: response } = socket as Handled
      const taken = socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0)
      const before = waiting.get(socket)
      if (before?.taken !== taken) {
        bytes ??= fileBytes()
        waiting.set(socket, { taken, sinceMs: now, fileBytes: bytes })
        continue
      }
      const stalledMs = now - before.sinceMs
      if (stalledMs < replyStallMsMax / shareWhereFilesGrow) continue
      bytes ??= fileBytes()
      const limit = stalledMs >= replyStallMsMax ? 'replyStallMsMax' : 'replyStallBytesMax'
      if (limit === 'replyStallMsMax' || bytes - before.fileBytes >= replyStallBytesMax) {
        const [path = ''] = (response?.req.url ?? '').split('?', 1)
        onStalled({ path, limit, stalledMs: Math.round(stalledMs), clientAddress: socket.remoteAddress ?? '' })
        socket.destroy()
      }
    }
  }
  const betweenLooksMs = Math.min(betweenLooksMsMax, Math.max(betweenLooksMsMin, replyStallMsMax / looksPerLimit))
  return setInterval(look, betweenLooksMs).unref()
}
