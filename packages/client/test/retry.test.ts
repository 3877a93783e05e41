/** What is sent again, how often, and when not. */
import { describe, expect, it } from 'vitest'
import { AshlarClient } from '../src/client.ts'
import { AshlarRequestError } from '../src/errors.ts'
import type { ClientOptions } from '../src/options.ts'
import { retryDelayMs } from '../src/retry.ts'

const busy = { type: 'TransactionContention', title: 't', status: 503, message: 'busy' } as const

type Answer = Response | (() => Promise<Response> | Response)

interface Attempts {
  readonly client: AshlarClient
  readonly sent: string[]
  /** The Idempotency-Key of each attempt. */
  readonly keys: (string | undefined)[]
}

/** A client whose server answers with these, one after the other, and then with success. */
function clientOf(answers: readonly Answer[], options: Partial<ClientOptions> = {}): Attempts {
  const sent: string[] = []
  const keys: (string | undefined)[] = []
  const send: typeof fetch = async (_input, init) => {
    sent.push(String(init?.method))
    keys.push(new Headers(init?.headers).get('idempotency-key') ?? undefined)
    const answer = answers[sent.length - 1] ?? new Response('[]', { status: 200 })
    return typeof answer === 'function' ? answer() : answer
  }
  return { client: new AshlarClient({ baseUrl: 'http://x', fetch: send, ...options }), sent, keys }
}

const changes: readonly ((client: AshlarClient) => Promise<unknown>)[] = [
  (client) => client.createObject('X', {}),
  (client) => client.updateObject('3-3-1-1', { notes: { action: 'add', elements: ['paid 10'] } }),
  (client) => client.deleteIndex('x'),
]

/** Whether anything was done is not known. */
const losses: readonly (() => Response | Promise<Response>)[] = [
  () => refusal(503, { ...busy, type: 'OutcomeUnknown' }),
  () => refusal(504, 'of a proxy'),
  () => Promise.reject(new TypeError('fetch failed')),
  () => brokenOff(),
]

/** A reply whose connection is lost amid the body. */
function brokenOff(): Response {
  const body = new ReadableStream({ start: (controller) => controller.error(new TypeError('terminated')) })
  return new Response(body, { status: 200 })
}

function refusal(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'retry-after': '0' } })
}

describe('a refused request', () => {
  it('is sent again after 503, until it succeeds', async () => {
    const { client, sent } = clientOf([refusal(503, busy), refusal(503, busy)])
    expect(await client.listClasses()).toEqual([])
    expect(sent).toEqual(['GET', 'GET', 'GET'])
  })

  it('is not sent again where the server does not say that waiting helps', async () => {
    const lasting = () => new Response(JSON.stringify({ ...busy, type: 'StoreUnavailable' }), { status: 503 })
    const { client, sent } = clientOf([lasting()])
    await expect(client.listClasses()).rejects.toMatchObject({ status: 503, type: 'StoreUnavailable' })
    expect(sent).toHaveLength(1)
  })

  it('is sent again a bounded number of times', async () => {
    const { client, sent } = clientOf(Array.from({ length: 9 }, () => refusal(503, busy)))
    await expect(client.createObject('X', {})).rejects.toMatchObject({ status: 503, type: 'TransactionContention' })
    expect(sent).toHaveLength(4)
  })

  it('is not sent again after any other status', async () => {
    for (const status of [400, 404, 409, 429, 500, 502]) {
      const { client, sent } = clientOf([refusal(status, { ...busy, type: 'SystemError', status })])
      await expect(client.listClasses()).rejects.toMatchObject({ status })
      expect(sent).toHaveLength(1)
    }
  })

  it('that changes something without a key is sent again only where the server itself says that nothing was done', async () => {
    for (const change of changes) {
      for (const lost of losses) {
        const { client, sent } = clientOf([lost], { areChangesKeyed: false })
        await expect(change(client)).rejects.toThrow()
        expect(sent).toHaveLength(1)
      }
      for (const type of ['TransactionContention', 'StoreUnavailable', 'ShuttingDown']) {
        const { client, sent } = clientOf([refusal(503, { ...busy, type })], { areChangesKeyed: false })
        await change(client)
        expect(sent).toHaveLength(2)
      }
    }
  })

  it('that changes something is sent again with the same key, also where it may have been done or is under way', async () => {
    const [, change = () => Promise.reject(new Error('there are changes'))] = changes
    for (const lost of [...losses, () => refusal(409, { ...busy, type: 'RequestInProgress', status: 409 })]) {
      const { client, keys } = clientOf([lost, lost])
      await change(client)
      expect(keys).toHaveLength(3)
      expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
      expect(new Set(keys).size).toBe(1)
    }
  })

  it('that has been carried out, or in part, is not sent again', async () => {
    for (const type of ['PartlyCommitted', 'ReplyNotKept', 'IdempotencyKeyReused', 'SystemError']) {
      const { client, sent } = clientOf([refusal(503, { ...busy, type })])
      await expect(client.createObject('X', {})).rejects.toMatchObject({ type })
      expect(sent).toHaveLength(1)
    }
  })

  it('has a key of its own, the one that is given, or none', async () => {
    const { client, keys } = clientOf([])
    await client.createObject('X', {})
    await client.createObject('X', {})
    expect(new Set(keys).size).toBe(2)
    await client.withKey('mine').createObject('X', {})
    await client.listClasses()
    await client.shutDown()
    expect(keys.slice(2)).toEqual(['mine', undefined, undefined])
    const without = clientOf([], { areChangesKeyed: false })
    await without.client.createObject('X', {})
    expect(without.keys).toEqual([undefined])
  })

  it('is not sent again once it is aborted', async () => {
    const controller = new AbortController()
    const { client, sent } = clientOf([() => Promise.reject(new TypeError('fetch failed'))])
    controller.abort()
    const rows = client.queryStream('FROM X RETURN *', {}, { signal: controller.signal })
    await expect(rows.next()).rejects.toBe(controller.signal.reason)
    expect(sent).toEqual([])
  })

  it('that only reads is sent again after any 503', async () => {
    const { client, sent } = clientOf([new Response('<html>busy</html>', { status: 503 })])
    expect(await client.listClasses()).toEqual([])
    expect(sent).toHaveLength(2)
  })
})

describe('retryDelayMs', () => {
  const error = (seconds?: number) => new AshlarRequestError(503, busy, seconds)

  it('waits as long as the server says, bounded, and longer from attempt to attempt where it says nothing', () => {
    expect(retryDelayMs(false, error(2), 0)).toBe(2_000)
    expect(retryDelayMs(false, error(3_600), 0)).toBe(10_000)
    for (const [attempt, longest] of [500, 1_000, 2_000, 4_000, 8_000, 10_000].entries()) {
      const delayMs = retryDelayMs(false, error(), attempt) ?? 0
      expect(delayMs).toBeGreaterThanOrEqual(longest / 2)
      expect(delayMs).toBeLessThanOrEqual(longest)
    }
  })
})
