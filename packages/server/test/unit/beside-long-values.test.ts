/** A small request beside each one that is long: how many slices of the long one there are between two answers, and how many answers in all. */
import { beforeEach, expect, it, vi } from 'vitest'
import { type OpenServer, openServer } from './open-server.ts'

let server: OpenServer

beforeEach(async () => {
  server = await openServer()
})

interface Sent {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly url: string
  readonly payload?: object
}

async function send(sent: Sent): Promise<{ readonly statusCode: number; readonly body: string }> {
  const { statusCode, body } = await server.app.inject(sent)
  return { statusCode, body }
}

interface Beside {
  readonly statusCode: number
  readonly answers: number
  /** Looks at the clock between two answers, of which five are a slice, at the most. */
  readonly most: number
}

/** Each look at the clock is a millisecond after the one before, however long it takes; the probe is sent once in a turn of the event loop. */
async function beside(long: Sent): Promise<Beside> {
  let now = performance.now()
  let [looks, most, answers, isOver] = [0, 0, 0, false]
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    looks++
    return now++
  })
  try {
    const reply = send(long).finally(() => {
      isOver = true
    })
    while (!isOver) {
      const { statusCode } = await send({ method: 'GET', url: '/health/live' })
      expect(statusCode).toBe(200)
      if (!isOver) answers++
      most = Math.max(most, looks)
      looks = 0
      await new Promise(setImmediate)
    }
    return { statusCode: (await reply).statusCode, answers, most }
  } finally {
    clock.mockRestore()
  }
}

const count = 50_000
/** Elements between two looks at the clock, at the most, and looks of a slice with the one that begins the next. */
const slicesOf = (elements: number): number => elements / 1_024 / 6
const foreign = '"ж€'.repeat(2 ** 19)

it('others are answered between the slices of long values that are sent and read', async () => {
  const numbers = { attributeName: 'numbers', logicalType: 'list', elementSpecification: { logicalType: 'integer' } }
  const texts = { attributeName: 'text', logicalType: 'string' }
  const classes = [{ className: 'Long', isReferenceable: true, attributes: [numbers, texts] }]
  expect((await send({ method: 'PUT', url: '/v1/schema', payload: classes })).statusCode).toBe(201)
  const create = (attributes: object): Sent => {
    return { method: 'POST', url: '/v1/object', payload: { class: 'Long', attributes } }
  }
  const list = Array.from({ length: count }, (_, i) => i)
  const { uri } = JSON.parse((await send(create({ numbers: list, text: 'a' }))).body) as { uri: string }
  for (const [long, slices] of [
    [create({ numbers: list }), 2 * slicesOf(count)],
    [{ method: 'PUT', url: uri, payload: { attributes: { numbers: list.toReversed() } } }, 2 * slicesOf(count)],
    [{ method: 'GET', url: uri }, slicesOf(count)],
    [create({ text: foreign }), foreign.length / 65_536 / 6],
  ] as const) {
    const name = JSON.stringify(long).slice(0, 120)
    const { statusCode, answers, most } = await beside(long)
    expect(statusCode, name).toBeLessThan(300)
    expect(answers, name).toBeGreaterThan(slices)
    expect(most, name).toBeLessThan(40)
  }
})
