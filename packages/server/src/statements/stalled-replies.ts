/** Aborts replies whose clients have stopped reading, to release their snapshots, rows and slots. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ServerLimits } from '../limits.ts'
import { bytesAccepted, bytesUntaken } from '../node-internals.ts'
import { clientAddressOf, type FromClient } from '../shares/client-address.ts'

const checksPerLimit = 20
/** Divisor of the time limit if a reply affects other requests: data files grow, or statements wait for its slot. */
const urgentDivisor = 6
const checkIntervalMsMin = 5
const checkIntervalMsMax = 1_000

export type StallLimits = Pick<ServerLimits, 'replyStallMsMax' | 'replyStallBytesMax'>

export interface StalledReply {
  readonly path: string
  readonly clientAddress: string
  readonly stalledMs: number
  readonly limit: keyof StallLimits | 'statementsMax'
}

interface Waiting {
  /** Total of bytes accepted by the operating system. */
  readonly acceptedBytes: number
  readonly sinceMs: number
  /** Size of the data files at `sinceMs`. */
  readonly fileBytes: number
}

/** An HTTP/2 reply, one of several on its connection. */
export interface StreamedReply {
  /** Whether bytes are pending. */
  readonly waits: boolean
  readonly acceptedBytes: number
  readonly req: FromClient & { readonly url: string }
  destroy(error: Error): void
}

/**
 * Watches connections: if one has unsent bytes of which none was accepted for `replyStallMsMax`, it is destroyed, and `onStalled` is called. A sixth of
 * the time is enough if the data files have grown by `replyStallBytesMax` meanwhile, since the snapshot of the reply keeps them from reusing space,
 * or if `isSlotRequested` reports that statements wait for its slot. `fileBytes`: total for all stores in files. Replies without data to send are not
 * affected. HTTP/2 replies are watched individually; their connection ends only if it is stalled as well.
 */
export function watchReplies(
  connections: Iterable<Socket>,
  responseOn: (socket: Socket) => ServerResponse | undefined,
  streamed: () => Iterable<StreamedReply>,
  { replyStallMsMax, replyStallBytesMax }: StallLimits,
  fileBytes: () => number,
  isSlotRequested: (response: object) => boolean,
  onStalled: (reply: StalledReply) => void,
): NodeJS.Timeout {
  const waiting = new WeakMap<object, Waiting>()
  let now = 0
  let bytes: number | undefined
  /** Returns for how long no byte was accepted, if that exceeds the limit. */
  const stalledOf = (
    one: object,
    acceptedBytes: number,
    response: object | null | undefined,
  ): Pick<StalledReply, 'limit' | 'stalledMs'> | undefined => {
    const before = waiting.get(one)
    if (before?.acceptedBytes !== acceptedBytes) {
      bytes ??= fileBytes()
      waiting.set(one, { acceptedBytes, sinceMs: now, fileBytes: bytes })
      return undefined
    }
    const exactMs = now - before.sinceMs
    if (exactMs < replyStallMsMax / urgentDivisor) return undefined
    const stalledMs = Math.round(exactMs)
    if (exactMs >= replyStallMsMax) return { limit: 'replyStallMsMax', stalledMs }
    bytes ??= fileBytes()
    if (bytes - before.fileBytes >= replyStallBytesMax) return { limit: 'replyStallBytesMax', stalledMs }
    const isRequested = response !== null && response !== undefined && isSlotRequested(response)
    return isRequested ? { limit: 'statementsMax', stalledMs } : undefined
  }
  const check = (
    one: object,
    acceptedBytes: number,
    request: FromClient & { readonly url?: string | undefined },
    response: object | undefined,
  ) => {
    const stalled = stalledOf(one, acceptedBytes, response)
    if (stalled === undefined) return false
    onStalled({ path: pathOf(request), ...stalled, clientAddress: clientAddressOf(request) })
    return true
  }
  const checkAll = (): void => {
    now = performance.now()
    bytes = undefined
    for (const socket of connections) {
      const response = responseOn(socket)
      if (socket.writableLength === 0) waiting.delete(socket)
      else if (check(socket, bytesAccepted(socket), response?.req ?? { socket }, response)) socket.destroy()
    }
    for (const reply of streamed()) {
      const { socket } = reply.req
      if (!reply.waits) waiting.delete(reply)
      else if (!check(reply, reply.acceptedBytes, reply.req, reply)) continue
      else if (bytesUntaken(socket) > 0) socket.destroy()
      else reply.destroy(new Error('its reader took nothing'))
    }
  }
  const checkIntervalMs = Math.min(checkIntervalMsMax, Math.max(checkIntervalMsMin, replyStallMsMax / checksPerLimit))
  return setInterval(checkAll, checkIntervalMs).unref()
}

function pathOf(request: { readonly url?: string | undefined } | undefined): string {
  const [path = ''] = (request?.url ?? '').split('?', 1)
  return path
}
