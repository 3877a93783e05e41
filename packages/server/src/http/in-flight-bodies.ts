/** Limits the total size of request bodies while they are received and processed. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Readable, Transform } from 'node:stream'
import { AshlarError } from '@ashlar/engine'
import { ClientDisconnected } from '../errors/request-errors.ts'
import { type ServerLimits, smallBodyBytes } from '../limits.ts'
import type { BodyStream } from './collect-body.ts'
import { decompress } from './compression.ts'
import type { HttpRequest } from './http-request.ts'

/** Resolves once the values fit in the limit for all bodies. Throws ServerBusy after a timeout. */
export type AdmitValues = (values: number) => Promise<void>

/** The bodies of all requests of a server. */
export interface Bodies {
  /** Returns the admitted bytes of a body. Throws UnsupportedEncoding. */
  bodyOf(request: HttpRequest): BodyStream
  /** Returns the admission of a body's values; undefined if they are not counted. */
  admissionOf(request: HttpRequest): AdmitValues | undefined
  /** Bytes held by the bodies in progress, except small ones. */
  readonly bytes: number
}

/**
 * Decompresses bodies, and reads them as long as there is capacity; the rest wait, unread, up to `bodyWaitMsMax` (contract 1.5.12). A request
 * releases its share when it ends. Small bodies are not counted, since the number of connections bounds them.
 */
export function limitBodies({
  bodiesBytesMax,
  bodiesValuesMax,
  bodyWaitMsMax,
}: Pick<ServerLimits, 'bodiesBytesMax' | 'bodiesValuesMax' | 'bodyWaitMsMax'>): Bodies {
  const room = new BodyRoom(
    bodiesBytesMax,
    bodyWaitMsMax,
    `The request bodies in progress already take the maximum of ${bodiesBytesMax} bytes (bodiesBytesMax).`,
  )
  const values = new BodyRoom(
    bodiesValuesMax,
    bodyWaitMsMax,
    `The request bodies in progress already have the maximum of ${bodiesValuesMax} values (bodiesValuesMax).`,
  )
  return {
    get bytes() {
      return room.usedBytes
    },
    bodyOf({ raw, response }) {
      if (isSmall(raw)) return raw
      const { 'content-encoding': encoding } = raw.headers
      const plain = encoding === undefined ? raw : decompress(raw, encoding)
      return countedBody(plain, room, response)
    },
    admissionOf({ raw, response }) {
      return isSmall(raw) ? undefined : (count) => admitValues(values, response, count)
    },
  }
}

function isSmall({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': transfer, 'content-encoding': encoding } = headers
  return transfer === undefined && encoding === undefined && Number(length) <= smallBodyBytes
}

function admitValues(room: BodyRoom, response: ServerResponse, count: number): Promise<void> {
  const body = {}
  let usedBytes = 0
  let isOver = false
  return new Promise((resolve, reject) => {
    room.enter(body)
    const end = (): void => {
      if (isOver) return
      isOver = true
      room.leave(body, usedBytes)
    }
    response.once('finish', end).once('close', end)
    room.take(body, count, (error) => {
      if (error !== undefined) return reject(error)
      usedBytes = count
      resolve()
    })
  })
}

/** Passes the bytes on as soon as there is room for them. */
function countedBody(
  body: Readable & { readonly receivedEncodedLength?: number },
  room: BodyRoom,
  response: ServerResponse,
): Readable {
  let usedBytes = 0
  let isOver = false
  const passed = new Transform({
    transform(chunk: Buffer, _encoding, pass) {
      room.take(passed, chunk.length, (error) => {
        // The stream has just been destroyed, and is not read.
        if (isOver) return
        if (error !== undefined) return pass(error)
        usedBytes += chunk.length
        pass(null, chunk)
      })
    },
  })
  room.enter(passed)
  // Compared with Content-Length.
  Object.defineProperty(passed, 'receivedEncodedLength', { get: () => body.receivedEncodedLength })
  // A body that is too large by its header needs no further events.
  passed.on('error', () => undefined)
  body.once('error', (error: Error) => passed.destroy(error))
  const end = (): void => {
    if (isOver) return
    isOver = true
    room.leave(passed, usedBytes)
    passed.destroy()
    body.unpipe(passed)
  }
  response.once('finish', end).once('close', end)
  return body.pipe(passed)
}

interface Waiting {
  readonly body: object
  readonly amount: number
  readonly go: (error?: Error) => void
}

/**
 * Capacity for bodies, and a queue of waiting ones. The oldest body is always admitted, so that partly received bodies do not wait for each other:
 * the limit may be exceeded by one body.
 */
export class BodyRoom {
  private used = 0
  private readonly bodies = new Set<object>()
  private waiting: readonly Waiting[] = []
  private readonly max: number
  private readonly waitMsMax: number
  private readonly refusal: string

  /** `refusal`: the error message if there is no capacity within `waitMsMax`. */
  constructor(max: number, waitMsMax: number, refusal: string) {
    this.max = max
    this.waitMsMax = waitMsMax
    this.refusal = refusal
  }

  get usedBytes(): number {
    return this.used
  }

  enter(body: object): void {
    this.bodies.add(body)
  }

  /** Calls `go` once there is capacity, possibly synchronously; with ServerBusy, and nothing counted, after the timeout. */
  take(body: object, amount: number, go: (error?: Error) => void): void {
    if (this.isOldest(body) || (this.waiting.length === 0 && this.used + amount <= this.max)) {
      this.used += amount
      go()
      return
    }
    const timeout = setTimeout(() => {
      this.waiting = this.waiting.filter((one) => one !== entry)
      entry.go(new AshlarError('ServerBusy', this.refusal))
      this.admit()
    }, this.waitMsMax)
    const entry: Waiting = {
      body,
      amount,
      go(error) {
        clearTimeout(timeout)
        go(error)
      },
    }
    this.waiting = [...this.waiting, entry]
  }

  /** Releases the `amount`. If the body is still waiting, it fails with ClientDisconnected, and the next ones proceed. */
  leave(body: object, amount: number): void {
    this.bodies.delete(body)
    const left = this.waiting.filter((one) => one.body === body)
    if (left.length > 0) this.waiting = this.waiting.filter((one) => one.body !== body)
    for (const { go } of left) go(new ClientDisconnected())
    this.used -= amount
    this.admit()
  }

  private isOldest(body: object): boolean {
    return this.bodies.values().next().value === body
  }

  private admit(): void {
    for (;;) {
      const [first] = this.waiting
      const next = this.waiting.find(({ body }) => this.isOldest(body)) ?? first
      if (next === undefined) return
      if (!this.isOldest(next.body) && this.used + next.amount > this.max) return
      this.waiting = this.waiting.filter((one) => one !== next)
      this.used += next.amount
      next.go()
    }
  }
}
