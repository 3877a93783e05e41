/** Replies whose readers take nothing any more: what they hold (a snapshot, rows, a slot) is given back. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ServerLimits } from '../limits.ts'
import { bytesTaken, bytesUntaken } from '../node-internals.ts'
import { clientAddressOf, type FromClient } from '../shares/client-address.ts'

const checksPerLimit = 20
/** Part of the time limit that applies if others are affected: data files grow, or statements wait for the slot of the reply. */
const urgentShare = 6
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
  /** Rises with each byte that the operating system takes. */
  readonly taken: number
  readonly sinceMs: number
  /** Size of the data files at that time. */
  readonly fileBytes: number
}

/** A reply by HTTP/2: others go by the same connection. */
export interface StreamedReply {
  /** Bytes wait for the client. */
  readonly waits: boolean
  readonly taken: number
  readonly req: FromClient & { readonly url: string }
  destroy(error: Error): void
}

/**
 * Watches connections: if one has unsent bytes of which none was taken for `replyStallMsMax`, it is destroyed, and `onStalled` is called with the
 * path of its request. A sixth of the time is enough if the data files have grown by `replyStallBytesMax` meanwhile, since the reply's snapshot keeps
 * them from reusing space, or if `isSlotWanted` reports that others wait for the reply's slot. `fileBytes`: of all stores in files. Replies without
 * data to send are not affected. HTTP/2 replies are watched one by one, and end without their connection, unless that takes nothing either.
 */
export function watchReplies(
  connections: Iterable<Socket>,
  responseOn: (socket: Socket) => ServerResponse | undefined,
  streamed: () => Iterable<StreamedReply>,
  { replyStallMsMax, replyStallBytesMax }: StallLimits,
  fileBytes: () => number,
  isSlotWanted: (response: object) => boolean,
  onStalled: (told: StalledReply) => void,
): NodeJS.Timeout {
  const waiting = new WeakMap<object, Waiting>()
  let now = 0
  let bytes: number | undefined
  /** How long no byte was taken, if that is too long. */
  const stalledOf = (
    one: object,
    taken: number,
    response: object | null | undefined,
  ): Pick<StalledReply, 'limit' | 'stalledMs'> | undefined => {
    const before = waiting.get(one)
    if (before?.taken !== taken) {
      bytes ??= fileBytes()
      waiting.set(one, { taken, sinceMs: now, fileBytes: bytes })
      return undefined
    }
    const exactMs = now - before.sinceMs
    if (exactMs < replyStallMsMax / urgentShare) return undefined
    const stalledMs = Math.round(exactMs)
    if (exactMs >= replyStallMsMax) return { limit: 'replyStallMsMax', stalledMs }
    bytes ??= fileBytes()
    if (bytes - before.fileBytes >= replyStallBytesMax) return { limit: 'replyStallBytesMax', stalledMs }
    const isWanted = response !== null && response !== undefined && isSlotWanted(response)
    return isWanted ? { limit: 'statementsMax', stalledMs } : undefined
  }
  const check = (
    one: object,
    taken: number,
    request: FromClient & { readonly url?: string | undefined },
    response: object | undefined,
  ) => {
    const stalled = stalledOf(one, taken, response)
    if (stalled === undefined) return false
    onStalled({ path: pathOf(request), ...stalled, clientAddress: clientAddressOf(request) })
    return true
  }
  const look = (): void => {
    now = performance.now()
    bytes = undefined
    for (const socket of connections) {
      const response = responseOn(socket)
      if (socket.writableLength === 0) waiting.delete(socket)
      else if (check(socket, bytesTaken(socket), response?.req ?? { socket }, response)) socket.destroy()
    }
    for (const reply of streamed()) {
      const { socket } = reply.req
      if (!reply.waits) waiting.delete(reply)
      else if (!check(reply, reply.taken, reply.req, reply)) continue
      else if (bytesUntaken(socket) > 0) socket.destroy()
      else reply.destroy(new Error('its reader took nothing'))
    }
  }
  const checkIntervalMs = Math.min(checkIntervalMsMax, Math.max(checkIntervalMsMin, replyStallMsMax / checksPerLimit))
  return setInterval(look, checkIntervalMs).unref()
}

function pathOf(request: { readonly url?: string | undefined } | undefined): string {
  const [path = ''] = (request?.url ?? '').split('?', 1)
  return path
}
