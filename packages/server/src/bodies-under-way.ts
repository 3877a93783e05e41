/** What the bodies of all requests take together while they arrive and are worked on. */
import { Transform } from 'node:stream'
import { AshlarError } from '@ashlar/engine'
import type { FastifyInstance } from 'fastify'
import { type ServerLimits, smallBodyBytes } from './limits.ts'

type BodyLimits = Pick<ServerLimits, 'bodyBytesMax' | 'bodiesBytesMax' | 'bodyTurnMsMax'>

interface Waiting {
  readonly bytes: number
  readonly go: (error?: Error) => void
}

/** Bytes that bodies hold, and those that wait for room, in the order in which they came. */
class BodyRoom {
  private held = 0
  private waiting: readonly Waiting[] = []
  private readonly limits: BodyLimits
  private readonly bytesMax: number

  constructor(limits: BodyLimits) {
    this.limits = limits
    // One body alone has always room.
    this.bytesMax = Math.max(limits.bodiesBytesMax, limits.bodyBytesMax)
  }

  /** `go` is called once there is room, maybe at once; with ServerBusy, and nothing held, where none came in time. */
  take(bytes: number, go: (error?: Error) => void): void {
    if (this.waiting.length === 0 && this.held + bytes <= this.bytesMax) {
      this.held += bytes
      go()
      return
    }
    const timeout = setTimeout(() => {
      this.waiting = this.waiting.filter((one) => one !== entry)
      const message = `The bodies of requests under way take ${this.bytesMax} bytes, the most that they may (bodiesBytesMax).`
      entry.go(new AshlarError('ServerBusy', message))
      this.admit()
    }, this.limits.bodyTurnMsMax)
    const entry: Waiting = {
      bytes,
      go(error) {
        clearTimeout(timeout)
        go(error)
      },
    }
    this.waiting = [...this.waiting, entry]
  }

  giveBack(bytes: number): void {
    this.held -= bytes
    this.admit()
  }

  private admit(): void {
    for (;;) {
      const [next, ...others] = this.waiting
      if (next === undefined || this.held + next.bytes > this.bytesMax) return
      this.waiting = others
      this.held += next.bytes
      next.go()
    }
  }
}

/**
 * Lets bodies in as long as there is room; the others wait, unread, up to `bodyTurnMsMax` (contract 1.5.12). What a request has taken it
 * gives back at its end. Small bodies are not counted: as many as there are connections do not matter.
 */
export function limitBodies(app: FastifyInstance, limits: BodyLimits): void {
  const room = new BodyRoom(limits)
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': transfer, 'content-encoding': encoding } = request.headers
    const isPlain = transfer === undefined && encoding === undefined
    if (isPlain && (length === undefined || Number(length) <= smallBodyBytes)) return done(null, payload)
    let taken = 0
    let isOver = false
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, pass) {
        room.take(chunk.length, (error) => {
          if (error !== undefined) return pass(error)
          if (isOver) return room.giveBack(chunk.length)
          taken += chunk.length
          pass(null, chunk)
        })
      },
    })
    // What the framework compares with Content-Length.
    Object.defineProperty(counted, 'receivedEncodedLength', { get: () => payload.receivedEncodedLength })
    payload.once('error', (error: Error) => counted.destroy(error))
    const end = (): void => {
      isOver = true
      room.giveBack(taken)
      taken = 0
      counted.destroy()
    }
    reply.raw.once('finish', end).once('close', end)
    done(null, payload.pipe(counted))
  })
}
