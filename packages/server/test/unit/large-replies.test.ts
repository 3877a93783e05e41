/** A large body is handed to the operating system in pieces, each in a turn of the event loop of its own. */
import { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { HttpRequest } from '../../src/http/http-request.ts'
import { sendReply } from '../../src/http/send-reply.ts'

const pieceBytes = 524_288

class TakenResponse extends Writable {
  readonly req = { method: 'GET', headers: {} }
  readonly pieces: Buffer[] = []
  head: unknown
  /** While it is not, its client takes nothing. */
  isRead: boolean
  private readonly left: (() => void)[] = []

  constructor(isRead: boolean) {
    super({ highWaterMark: 16_384 })
    this.isRead = isRead
  }

  getHeader(): undefined {
    return undefined
  }

  writeHead(_status: number, head: unknown): void {
    this.head = head
  }

  readOn(): void {
    this.isRead = true
    for (const done of this.left.splice(0)) done()
  }

  override _write(piece: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.pieces.push(piece)
    if (this.isRead) done()
    else this.left.push(done)
  }
}

function requestWith(response: TakenResponse): HttpRequest {
  return { response, headers: {}, isAnswered: false } as unknown as HttpRequest
}

async function untilFinished(raw: TakenResponse): Promise<number> {
  let turns = 0
  for (; !raw.writableFinished; turns++) await nextTurn()
  return turns
}

const body = Buffer.from(Uint8Array.from({ length: 3 * pieceBytes + 10 }, (_, i) => i))

test('a body of some megabytes goes out in pieces with turns for others in between, and has its length', async () => {
  const raw = new TakenResponse(true)
  sendReply(requestWith(raw), 200, { etag: '"a"' }, 'application/json', body)
  expect(await untilFinished(raw)).toBeGreaterThan(3)
  expect(raw.pieces.map(({ length }) => length)).toEqual([pieceBytes, pieceBytes, pieceBytes, 10])
  expect(Buffer.concat(raw.pieces).equals(body)).toBe(true)
  expect(raw.head).toEqual(expect.arrayContaining(['etag', '"a"', 'content-length', body.length]))
})

test('no further piece is handed over before the client has taken those before', async () => {
  const raw = new TakenResponse(false)
  sendReply(requestWith(raw), 200, undefined, 'application/json', body)
  for (let turn = 0; turn < 50; turn++) await nextTurn()
  expect(raw.pieces).toHaveLength(1)
  raw.readOn()
  await untilFinished(raw)
  expect(Buffer.concat(raw.pieces).equals(body)).toBe(true)
})
