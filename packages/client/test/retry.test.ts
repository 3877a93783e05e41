/** What is sent again, how often, and when not. */
import { describe, expect, it } from 'vitest'
import { AshlarClient } from '../src/client.ts'
import { AshlarRequestError } from '../src/errors.ts'
import { retryDelayMs } from '../src/retry.ts'

const busy = { type: 'TransactionContention', title: 't', status: 503, message: 'busy' } as const

/** A client whose server answers with these, one after the other, and then with success. */
function clientOf(answers: readonly Response[], retriesMax = 3): { client: AshlarClient; sent: string[] } {
  const sent: string[] = []
  const send: typeof fetch = async (_input, init) => {
    sent.push(String(init?.method))
    return answers[sent.length - 1] ?? new Response('[]', { status: 200 })
  }
  return { client: new AshlarClient({ baseUrl: 'http://x', retriesMax, fetch: send }), sent }
}

function refusal(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'retry-after': '0' } })
}

describe('a refused request', () => {
  it('is sent again after 503, until it succeeds', async () => {
    const { client, sent } = clientOf([refusal(503, busy), refusal(503, busy)])
    expect(await client.classes()).toEqual([])
    expect(sent).toEqual(['GET', 'GET', 'GET'])
  })

  it('is sent again a bounded number of times', async () => {
    const { client, sent } = clientOf(Array.from({ length: 9 }, () => refusal(503, busy)))
    await expect(client.createObject('X', {})).rejects.toMatchObject({ status: 503, type: 'TransactionContention' })
    expect(sent).toHaveLength(4)
  })

  it('is not sent again after any other status', async () => {
    for (const status of [400, 404, 409, 429, 500, 502]) {
      const { client, sent } = clientOf([refusal(status, { ...busy, type: 'SystemError', status })])
      await expect(client.classes()).rejects.toMatchObject({ status })
      expect(sent).toHaveLength(1)
    }
  })

  it('that changes something is sent again only where the server itself says that nothing was done', async () => {
    const changes: ((client: AshlarClient) => Promise<unknown>)[] = [
      (client) => client.createObject('X', {}),
      (client) => client.updateObject('3-3-1-1', { notes: { action: 'add', elements: ['paid 10'] } }),
      (client) => client.deleteIndex('x'),
    ]
    for (const change of changes) {
      for (const type of ['OutcomeUnknown', 'PartlyCommitted', 'SystemError']) {
        const { client, sent } = clientOf([refusal(503, { ...busy, type })])
        await expect(change(client)).rejects.toMatchObject({ type })
        expect(sent).toHaveLength(1)
      }
      const ofProxy = clientOf([new Response('<html>busy</html>', { status: 503 })])
      await expect(change(ofProxy.client)).rejects.toMatchObject({ type: 'Unknown', message: '<html>busy</html>' })
      expect(ofProxy.sent).toHaveLength(1)
      for (const type of ['TransactionContention', 'StoreUnavailable', 'ShuttingDown']) {
        const { client, sent } = clientOf([refusal(503, { ...busy, type })])
        await change(client)
        expect(sent).toHaveLength(2)
      }
    }
  })

  it('that only reads is sent again after any 503', async () => {
    const { client, sent } = clientOf([new Response('<html>busy</html>', { status: 503 })])
    expect(await client.classes()).toEqual([])
    expect(sent).toHaveLength(2)
  })
})

describe('retryDelayMs', () => {
  const error = (seconds?: number) => new AshlarRequestError(503, busy, seconds)

  it('waits as long as the server says, bounded, and a second where it says nothing', () => {
    expect(retryDelayMs('POST', error(2))).toBe(2_000)
    expect(retryDelayMs('POST', error(3_600))).toBe(10_000)
    expect(retryDelayMs('POST', error())).toBe(1_000)
  })
})
