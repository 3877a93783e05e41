/** What the bodies of all requests take together while they arrive and are worked on. */
import type { ServerResponse } from 'node:http'
import { type Readable, Transform } from 'node:stream'
import { AshlarError } from '@ashlar/engine'
import type { FastifyInstance, preParsingHookHandler } from 'fastify'
import { decompress } from './decompress.ts'
import { type ServerLimits, smallBodyBytes } from './limits.ts'

type BodyLimits = Pick<ServerLimits, 'bodiesBytesMax' | 'bodyTurnMsMax'>

interface Waiting {
  readonly body: object
  readonly bytes: number
  readonly go: (error?: Error) => void
}

/**
 * Bytes that bodies hold, and those that wait for room, in the order in which they came. The eldest body is always let in, lest bodies that
 * are there in part wait for each other: so the bound may be exceeded by one body.
 */
class BodyRoom {
  private held = 0
  private readonly bodies = new Set<object>()
  private waiting: readonly Waiting[] = []
  private readonly limits: BodyLimits

  constructor(limits: BodyLimits) {
    this.limits = limits
  }

  enter(body: object): void {
    this.bodies.add(body)
  }

  /** `go` is called once there is room, maybe at once; with ServerBusy, and nothing held, where none came in time. */
  take(body: object, bytes: number, go: (error?: Error) => void): void {
    const { bodiesBytesMax, bodyTurnMsMax } = this.limits
    if (this.isEldest(body) || (this.waiting.length === 0 && this.held + bytes <= bodiesBytesMax)) {
      this.held += bytes
      go()
      return
    }
    const timeout = setTimeout(() => {
      this.waiting = this.waiting.filter((one) => one !== entry)
      const message = `The request bodies in progress already take the maximum of ${bodiesBytesMax} bytes (bodiesBytesMax).`
      entry.go(new AshlarError('ServerBusy', message))
      this.admit()
    }, bodyTurnMsMax)
    const entry: Waiting = {
      body,
      bytes,
      go(error) {
        clearTimeout(timeout)
        go(error)
      },
    }
    this.waiting = [...this.waiting, entry]
  }

  /** `bytes`: all that it has taken; what it still waits for is not let in any more. */
  leave(body: object, bytes: number): void {
    this.bodies.delete(body)
    this.held -= bytes
    this.admit()
  }

  giveBack(bytes: number): void {
    this.held -= bytes
    this.admit()
  }

  private isEldest(body: object): boolean {
    return this.bodies.values().next().value === body
  }

  private admit(): void {
    for (;;) {
      const [first] = this.waiting
      const next = this.waiting.find(({ body }) => this.isEldest(body)) ?? first
      if (next === undefined) return
      if (!this.isEldest(next.body) && this.held + next.bytes > this.limits.bodiesBytesMax) return
      this.waiting = this.waiting.filter((one) => one !== next)
      this.held += next.bytes
      next.go()
    }
  }
}

const methodsWithBody: readonly string[] = ['POST', 'PUT', 'DELETE']

/**
 * Decompresses bodies, and lets them in as long as there is room; the others wait, unread, up to `bodyTurnMsMax` (contract 1.5.12). What
 * a request has taken it gives back at its end. Small bodies are not counted: as many as there are connections do not matter. Call it
 * before the routes are there.
 */
export function limitBodies(app: FastifyInstance, limits: BodyLimits): void {
  const room = new BodyRoom(limits)
  const takeIn: preParsingHookHandler = (request, reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': transfer, 'content-encoding': encoding } = request.headers
    const isPlain = transfer === undefined && encoding === undefined
    if (isPlain && (length === undefined || Number(length) <= smallBodyBytes)) return done(null, payload)
    try {
      const plain = encoding === undefined ? (payload as Readable) : decompress(payload as Readable, encoding)
      done(null, counted(plain, room, reply.raw))
    } catch (error) {
      done(error as Error)
    }
  }
  app.addHook('onRoute', (route) => {
    if (![route.method].flat().some((method) => methodsWithBody.includes(method))) return
    route.preParsing = [route.preParsing ?? [], takeIn].flat()
  })
}

/** The same bytes, as there is room for them. */
function counted(
  body: Readable & { readonly receivedEncodedLength?: number },
  room: BodyRoom,
  response: ServerResponse,
): Readable {
  let taken = 0
  let isOver = false
  const passed = new Transform({
    transform(chunk: Buffer, _encoding, pass) {
      room.take(passed, chunk.length, (error) => {
        if (error !== undefined) return pass(error)
        if (isOver) return room.giveBack(chunk.length)
        taken += chunk.length
        pass(null, chunk)
      })
    },
  })
  room.enter(passed)
  // What the framework compares with Content-Length.
  Object.defineProperty(passed, 'receivedEncodedLength', { get: () => body.receivedEncodedLength })
  body.once('error', (error: Error) => passed.destroy(error))
  const end = (): void => {
    if (isOver) return
    isOver = true
    room.leave(passed, taken)
    passed.destroy()
    body.unpipe(passed)
  }
  response.once('finish', end).once('close', end)
  return body.pipe(passed)
}
