/** Bodies that end together are put together a few in a turn of the event loop. */
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { collectBody } from '../../src/http/collect-body.ts'

const request = { headers: {} }
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

it.each([
  { bytes: 400_000, inATurn: 2 },
  { bytes: 600_000, inATurn: 1 },
  { bytes: 20_000, inATurn: 52 },
])(
  'of a hundred bodies of $bytes bytes no more than $inATurn begin in a turn, and each is whole',
  async ({ bytes, inATurn }) => {
    const bodies: Buffer[] = []
    const ends: (() => void)[] = []
    for (let i = 0; i < 100; i++) {
      const payload = new PassThrough()
      collectBody(request, payload, 2 * bytes, (_error, body) => bodies.push(body as Buffer))
      for (const byte of [i, 255 - i]) payload.emit('data', Buffer.alloc(bytes / 2, byte))
      ends.push(() => void payload.emit('end'))
    }
    await nextTurn()
    for (const end of ends) end()
    // From one look to the next may be parts of two turns.
    let most = bodies.length
    for (let before = bodies.length; bodies.length < 100; before = bodies.length) {
      await nextTurn()
      most = Math.max(most, bodies.length - before)
    }
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThanOrEqual(2 * inATurn)
    const firsts = bodies.map((body) => [body.length, body[0], body.at(-1)])
    expect(firsts.sort((one, other) => Number(one[1]) - Number(other[1]))).toEqual(
      Array.from({ length: 100 }, (_, i) => [bytes, i, 255 - i]),
    )
  },
)
