/** Requests and responses of HTTP/2 with the interface of HTTP/1.1. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { constants, Http2ServerRequest, Http2ServerResponse, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { type Readable, Writable } from 'node:stream'

/** The size of writes to a stream, which must be small enough to show the progress of the reader. */
const writeBytesMax = 16_384

/** The connection of a session, which Node shows only through a proxy bound to the session. */
export const socketOfSession = new WeakMap<object, Socket>()

/** The classes of Node with accessors, which its types declare as properties. */
const RequestOfNode = Http2ServerRequest as unknown as new (
  ...made: ConstructorParameters<typeof Http2ServerRequest>
) => Readable & Pick<Http2ServerRequest, 'stream' | 'headers' | 'url' | 'method'>
const ResponseOfNode = Http2ServerResponse as unknown as new (
  stream: ServerHttp2Stream,
) => Omit<
  Http2ServerResponse,
  | 'req'
  | 'writableEnded'
  | 'writableFinished'
  | 'socket'
  | 'destroyed'
  | 'errored'
  | 'destroy'
  | 'writeHead'
  | 'end'
  | 'setHeader'
> & {
  end(body?: string | Buffer, encoding?: BufferEncoding): unknown
  writeHead(status: number, head: readonly (string | number)[]): unknown
  setHeader(name: string, value: number | string | readonly string[]): void
}

export class Http2Request extends RequestOfNode {
  /** Remains available when the stream is destroyed. */
  private readonly connectionSocket: Socket | undefined
  private isComplete: boolean

  constructor(...made: ConstructorParameters<typeof Http2ServerRequest>) {
    super(...made)
    const [stream, headers] = made as unknown as [ServerHttp2Stream, IncomingHttpHeaders]
    this.connectionSocket = stream.session && socketOfSession.get(stream.session)
    const { ':authority': authority } = headers
    if (typeof authority === 'string') {
      // `:authority` and `Host` name the same server: which of them is checked must not depend on the reader (RFC 9113, 8.3.1).
      headers.host =
        headers.host === undefined || headers.host === authority ? authority : `${headers.host}, ${authority}`
    }
    // In HTTP/2, a body needs neither of the headers that announce it in HTTP/1.1.
    if (!stream.endAfterHeaders && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked'
    this.isComplete = stream.endAfterHeaders
    // An aborted body that is not read needs no error.
    this.on('error', () => undefined)
    // Node ends the body of a stream that was reset as if it were complete.
    stream.once('aborted', () => this.destroy(new BodyAborted('The body was broken off.')))
    // Before Node's own listener, which ends the body.
    stream.prependOnceListener('end', () => {
      this.isComplete = !stream.aborted
    })
  }

  get socket(): Socket {
    return this.connectionSocket as Socket
  }

  get complete(): boolean {
    return this.isComplete
  }
}

class BodyAborted extends Error {
  readonly code = 'ECONNRESET'
}

export class Http2Response extends ResponseOfNode {
  declare readonly req: Http2Request
  readonly beganMs = performance.now()
  /** The reason of its destruction. */
  errored: Error | null = null
  /** Bytes of the body accepted by the connection. */
  acceptedBytes = 0
  constructor(stream: ServerHttp2Stream) {
    super(stream)
    stream.once('finish', () => {
      // The client may still be sending a body that is not read (RFC 9113, 8.1).
      if (!this.req.complete && !stream.closed) stream.close(constants.NGHTTP2_NO_ERROR)
    })
  }

  get destroyed(): boolean {
    return this.stream.destroyed
  }

  /** Whether sent data waits for the client. */
  get waits(): boolean {
    return !this.stream.destroyed && this.stream.writableLength > 0
  }

  /** Whether the whole reply was sent. Node reports it too late for a stream that ends with its reply. */
  get writableFinished(): boolean {
    const { stream } = this
    if (
      !stream.writableEnded ||
      stream.aborted ||
      (stream.rstCode ?? constants.NGHTTP2_NO_ERROR) !== constants.NGHTTP2_NO_ERROR
    )
      return false
    return stream.writableFinished || stream.closed
  }

  /** A writable for a body of several chunks. */
  get outlet(): Writable {
    return new Outlet(this)
  }

  /** Always null: data is written to the stream. */
  get socket(): null {
    return null
  }

  /** Ignores `connection`, for which Node would emit a warning. */
  override setHeader(name: string, value: number | string | readonly string[]): void {
    if (name !== 'connection') super.setHeader(name, value)
  }

  /** Sends the head without announcing trailers, for which Node would delay the end of the reply and send another frame. */
  override writeHead(status: number, head: readonly (string | number)[]): this {
    const { stream } = this
    if (stream.destroyed || stream.closed) return this
    const headers: OutgoingHttpHeaders = this.getHeaders()
    for (let i = 0; i < head.length; i += 2) headers[String(head[i])] = head[i + 1]
    this.statusCode = status
    stream.respond({ ...headers, ':status': status })
    return this
  }

  /** Writes the body in parts, so that the session shows the reader's progress. */
  override end(body?: string | Buffer, encoding: BufferEncoding = 'utf8'): this {
    const { stream } = this
    if (body === undefined || stream.destroyed || stream.writableEnded) super.end()
    else this.outlet.end(body, encoding)
    return this
  }

  destroy(error?: Error): void {
    this.errored ??= error ?? null
    const { stream } = this
    if (stream.destroyed) return
    // Signals an incomplete reply. With a bare error code, Node would first end the stream as if the reply were complete.
    stream.on('error', () => undefined).destroy(new Error('The reply was broken off.'))
  }
}

/** Writes a body to its stream in parts, at the pace of the client. */
class Outlet extends Writable {
  private readonly response: Http2Response

  constructor(response: Http2Response) {
    super({ highWaterMark: writeBytesMax })
    this.response = response
    // An abandoned reply needs no error.
    this.on('error', () => undefined)
    const { stream } = response
    if (stream.destroyed) this.destroy()
    else stream.once('close', () => this.destroy())
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.writeParts(chunk, 0, done)
  }

  override _final(done: () => void): void {
    this.response.stream.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // The source has failed, or ended early.
    if (!this.writableFinished) this.response.destroy(error ?? undefined)
    done(error)
  }

  private writeParts(chunk: Buffer, from: number, done: () => void): void {
    const { response } = this
    const { stream } = response
    if (stream.destroyed || stream.writableEnded) {
      done()
      return
    }
    const piece = chunk.subarray(from, from + writeBytesMax)
    const to = from + piece.length
    const hasRoom = stream.write(piece, (error) => {
      if (error === undefined || error === null) response.acceptedBytes += piece.length
    })
    const proceed = (): void => (to < chunk.length ? this.writeParts(chunk, to, done) : done())
    if (hasRoom && to >= chunk.length) done()
    else if (hasRoom) setImmediate(proceed)
    else stream.once('drain', proceed)
  }
}
