/** The bytes of a request's body. The framework's own way copies a body in one piece: 60 MiB hold the event loop for 50 to 100 ms. */
import type { Readable } from 'node:stream'
import { openTimeSlice } from '@ashlar/engine'
import { errorCodes, type FastifyRequest } from 'fastify'
import { takeOfParser } from './body-of-parser.ts'

/** What a hook before the parsing returns: it may tell how many bytes came over the wire, where those it gives are decompressed. */
export type BodyStream = Readable & { readonly receivedEncodedLength?: number }

type Done = (error: Error | null, body?: Buffer) => void

/** Bytes of a body that is put together in one piece, and of all such bodies in one turn of the event loop. */
const atOnceBytes = 1_048_576

let bytesOfTurn = 0

/** Bodies that were sent side by side end side by side: a hundred in one turn, of as many streams of HTTP/2. */
function hasRoomInTurn(bytes: number): boolean {
  if (bytesOfTurn > 0 && bytesOfTurn + bytes > atOnceBytes) return false
  if (bytesOfTurn === 0) {
    setImmediate(() => {
      bytesOfTurn = 0
    })
  }
  bytesOfTurn += bytes
  return true
}

/** `limit`: of its bytes. Calls `done` once, at once where the body is short. As the framework does, it fails where the body is too large, broken off, or of another length. */
export function collectBody({ headers }: FastifyRequest, payload: BodyStream, limit: number, done: Done): void {
  const announced = Number(headers['content-length'])
  if (announced > limit) {
    done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())
    return
  }
  const chunks: Buffer[] = []
  let bytes = 0
  // Listeners stay: to remove them takes longer than to ask this.
  let isDone = false
  const take = (chunk: Buffer): void => {
    if (isDone) return
    bytes += chunk.length
    if (bytes > limit || (payload.receivedEncodedLength ?? 0) > limit) {
      isDone = true
      payload.off('data', take)
      done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())
      return
    }
    chunks.push(chunk)
  }
  const fail = (error: Error & { statusCode?: number }): void => {
    if (isDone) return
    isDone = true
    if (error.statusCode === undefined || error.statusCode < 400) error.statusCode = 400
    done(error)
  }
  const end = (): void => {
    if (isDone) return
    isDone = true
    const [only] = chunks
    if (!Number.isNaN(announced) && (payload.receivedEncodedLength || bytes) !== announced) {
      done(new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH())
    } else if (only !== undefined && chunks.length === 1) done(null, only)
    else if (bytes <= atOnceBytes && hasRoomInTurn(bytes)) done(null, Buffer.concat(chunks, bytes))
    else void inOnePiece(chunks, bytes).then((body) => done(null, body))
  }
  payload.on('error', fail)
  if (!takeOfParser(payload, take, end)) payload.on('data', take).on('end', end).resume()
}

/** Others have their turn in between: what costs is not so much the copying as the memory, which the system gives page by page. */
async function inOnePiece(chunks: readonly Buffer[], bytes: number): Promise<Buffer> {
  if (bytes <= atOnceBytes) {
    do await new Promise((resolve) => setImmediate(resolve))
    while (!hasRoomInTurn(bytes))
  }
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
