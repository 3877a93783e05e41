/** Collects the bytes of a request body. */
import type { Readable } from 'node:stream'
import { AshlarError, openTimeSlice, yieldToNewWork } from '@ashlar/engine'
import { ClientDisconnected } from '../errors/request-errors.ts'
import { ServerError } from '../errors/server-errors.ts'
import type { HttpRequest } from './http-request.ts'

/** A body stream; if it is decompressed, it counts the bytes received. */
export type BodyStream = Readable & {
  readonly receivedEncodedLength?: number
  /** For an IncomingMessage: the whole body has arrived. */
  readonly complete?: boolean
}

/** The body is larger than the operation allows; the caller reports the limit. */
export class BodyTooLong extends Error {}

function mismatch(): AshlarError {
  return new AshlarError('MalformedRequest', 'The length or the encoding of the body does not match its headers.')
}

type Done = (error: Error | null, body?: Buffer) => void

/** Larger bodies are queued and joined in slices: joining 60 MiB at once, or 100 bodies of 1 MiB, blocks the event loop for 50 to 100 ms. */
const syncJoinedBytesMax = 65_536

/** Calls `done` once: with the body, or with the error if it is larger than `bytesMax`, aborted, or shorter or longer than its header says. */
export function collectBody(
  { headers }: Pick<HttpRequest, 'headers'>,
  payload: BodyStream,
  bytesMax: number,
  done: Done,
): void {
  const announced = Number(headers['content-length'])
  if (announced > bytesMax) {
    done(new BodyTooLong())
    return
  }
  const chunks: Buffer[] = []
  let bytes = 0
  // Listeners are not removed, since that takes longer than this check.
  let isDone = false
  const take = (chunk: Buffer): void => {
    if (isDone) return
    bytes += chunk.length
    if (bytes > bytesMax || (payload.receivedEncodedLength ?? 0) > bytesMax) {
      isDone = true
      payload.off('data', take)
      done(new BodyTooLong())
      return
    }
    chunks.push(chunk)
  }
  const fail = (error: Error): void => {
    if (isDone) return
    isDone = true
    const isOurs = [AshlarError, ServerError, ClientDisconnected].some((kind) => error instanceof kind)
    done(isOurs ? error : mismatch())
  }
  const end = (): void => {
    if (isDone) return
    isDone = true
    const [only] = chunks
    if (!Number.isNaN(announced) && (payload.receivedEncodedLength || bytes) !== announced) {
      done(mismatch())
    } else if (only !== undefined && chunks.length === 1) done(null, only)
    else if (bytes <= syncJoinedBytesMax) done(null, Buffer.concat(chunks, bytes))
    else void joined(chunks, bytes).then((body) => done(null, body))
  }
  const listen = (): void => {
    payload.on('error', fail).on('data', take).on('end', end)
  }
  if (payload.complete === undefined) listen()
  else process.nextTick(readArrived)

  /** Reads a short body that arrived in one packet with its head, which saves the events of a stream. */
  function readArrived(): void {
    const chunk = payload.read() as Buffer | null
    if (chunk !== null) take(chunk)
    if (isDone) return
    if (payload.complete === true && payload.readableLength === 0) end()
    else if (payload.destroyed) fail(mismatch())
    else listen()
  }
}

/** Yields between chunks. Most of the time is spent on page faults of new memory, not on copying. */
async function joined(chunks: readonly Buffer[], bytes: number): Promise<Buffer> {
  await yieldToNewWork()
  const slice = openTimeSlice()
  const body = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for (const chunk of chunks) {
    at += chunk.copy(body, at)
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return body
}
