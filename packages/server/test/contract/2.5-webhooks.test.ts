/** Contract 2.5: changes that are posted to receivers, by a server as it is started from a configuration. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { describe, expect } from 'vitest'
import { configFromJson } from '../../src/config/config-file.ts'
import { mergeConfig } from '../../src/config/merge-config.ts'
import { type RunningServer, startServer } from '../../src/start-server.ts'
import { temporaryDirectory } from '../executable/process.ts'
import { rule } from './rule.ts'
import type { Loose } from './server-under-test.ts'

interface Got {
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly data: Loose
}

/** Replies as `answer` says: a status, with headers. */
class Receiver {
  readonly got: Got[] = []
  /** Undefined: no reply. */
  answer: (nth: number) => { status: number; headers?: Record<string, string> } | undefined = () => ({ status: 204 })
  private readonly server: Server

  constructor() {
    this.server = createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        const body = Buffer.concat(parts).toString()
        this.got.push({ headers: request.headers, body, data: JSON.parse(body).data })
        const answer = this.answer(this.got.length)
        if (answer !== undefined) response.writeHead(answer.status, answer.headers).end()
      })
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook?key=1`
  }

  close(): void {
    this.server.closeAllConnections()
    this.server.close()
  }

  /** What the changes were about, of all deliveries. */
  get names(): unknown[] {
    return this.got.flatMap(({ data }) => data.changes.map((change: Loose) => change.after?.name ?? change.change))
  }
}

interface Setup {
  readonly hook?: object
  readonly webhooks?: object
  readonly limits?: object
  readonly store?: string
}

interface Asked {
  readonly receiver: Receiver
  readonly secret: string
  readonly server: RunningServer
  create(name: string): Promise<void>
  send(method: string, path: string): Promise<{ status: number; body: Loose }>
  hook(): Promise<Loose>
}

async function started(url: string, { hook = {}, webhooks = {}, limits = {}, store = 'memory:' }: Setup) {
  const directory = temporaryDirectory()
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const secretFile = join(directory, 'secret')
  writeFileSync(secretFile, `${secret}\n`)
  const hooks = [{ name: 'ports', url, secretFile, ...hook }]
  const setting = {
    webhooks: { allowedHosts: ['127.0.0.1'], allowPrivateAddresses: true, hooks, ...webhooks },
    limits: { webhookRetryMsMin: 20, webhookRetryMsMax: 50, ...limits },
  }
  const file = configFromJson(JSON.stringify(setting), 'test.json')
  const merged = mergeConfig([{ port: 0, federatedDatabases: [{ alias: 'default', store, changeLog: 'on' }] }, file])
  // As a worker gets it.
  const config = JSON.parse(JSON.stringify(merged)) as typeof merged
  return { server: await startServer(config, pino({ level: 'silent' })), secret }
}

async function withHook(setup: Setup, use: (asked: Asked) => Promise<void>): Promise<void> {
  const receiver = new Receiver()
  const url = await receiver.listen()
  const { server, secret } = await started(url, setup)
  const send = async (method: string, path: string, body?: object): Promise<{ status: number; body: Loose }> => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${server.url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  try {
    const attributes = [
      { attributeName: 'name', logicalType: 'string' },
      { attributeName: 'depth', logicalType: 'integer' },
    ]
    await send('PUT', '/v1/schema', [{ className: 'Port', isReferenceable: true, attributes }])
    await use({
      receiver,
      secret,
      server,
      send,
      hook: async () => (await send('GET', '/v1/webhook')).body[0],
      async create(name) {
        const reply = await send('POST', '/v1/object', { class: 'Port', attributes: { name, depth: name.length } })
        expect(reply.status).toBe(201)
      },
    })
  } finally {
    await server.stop()
    receiver.close()
  }
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(10)
}

const objectsAlone = { class: 'Port', where: 'depth > 0' }

describe('deliveries', () => {
  rule(['2.5.1', '2.5.2', '2.5.5'], 'have the changes, in their order, and a signature that receivers can check', () =>
    withHook({ hook: objectsAlone }, async ({ receiver, secret, create, hook, server }) => {
      for (const name of ['Valparaiso', 'Genova', 'Bergen']) await create(name)
      await until(() => receiver.names.length === 3)
      expect(receiver.names).toEqual(['Valparaiso', 'Genova', 'Bergen'])
      const { headers, body, data } = receiver.got[0] as Got
      expect(data).toMatchObject({ webhook: 'ports', fd: 'default', position: expect.any(String) })
      const signed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
      expect(new Webhook(secret).verify(body, signed)).toMatchObject({ type: 'changes' })
      expect(() => new Webhook(secret).verify(`${body} `, signed)).toThrow()
      await until(async () => (await hook()).deliveries === receiver.got.length)
      expect(await hook()).toMatchObject({ name: 'ports', state: 'delivering', failures: 0, deadLetters: 0 })
      const metrics = await (await fetch(`${server.url}/metrics`)).text()
      expect(metrics).toContain(
        `ashlar_webhook_deliveries_total{fd="default",webhook="ports"} ${receiver.got.length}\n`,
      )
      expect((await hook()).url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/hook$/)
    }),
  )

  rule(['2.5.2', '2.5.3'], 'are tried again with the same id until they are taken, and hold up what follows', () =>
    withHook({ hook: { ...objectsAlone, changesMax: 1 } }, async ({ receiver, create, hook }) => {
      const statuses = [500, 302, 429]
      receiver.answer = (nth) => ({ status: statuses[nth - 1] ?? 200, headers: { location: 'http://127.0.0.1:1/' } })
      await create('Oslo')
      await create('Turku')
      await until(() => receiver.names.length === 5)
      expect(receiver.names).toEqual(['Oslo', 'Oslo', 'Oslo', 'Oslo', 'Turku'])
      const ids = receiver.got.map(({ headers }) => headers['webhook-id'])
      expect(new Set(ids.slice(0, 4)).size).toBe(1)
      expect(ids[4]).not.toBe(ids[0])
      await until(async () => (await hook()).deliveries === 2)
      expect(await hook()).toMatchObject({ failures: 3, attempts: 0 })
    }),
  )

  rule('2.5.3', 'that are not taken in time are tried again', () =>
    withHook({ hook: objectsAlone, limits: { webhookTimeoutMs: 100 } }, async ({ receiver, create, hook }) => {
      receiver.answer = (nth) => (nth === 1 ? undefined : { status: 200 })
      await create('Cork')
      await until(async () => (await hook()).deliveries === 1)
      expect(receiver.names).toEqual(['Cork', 'Cork'])
    }),
  )

  rule(['2.5.3', '2.5.6'], 'become dead letters after a while, which are listed, shown, sent again and dropped', () =>
    withHook({ hook: { ...objectsAlone, changesMax: 1, retryFor: '1s' } }, async ({ receiver, create, hook, send }) => {
      let isOpen = false
      receiver.answer = () => ({ status: isOpen ? 200 : 503 })
      await create('Bari')
      await create('Ancona')
      await until(async () => (await hook()).deadLetters === 2)
      const list = await send('GET', '/v1/webhook/ports/dead-letter')
      expect(list.body).toMatchObject([
        { number: 1, changes: 1, error: 'status 503' },
        { number: 2, changes: 1 },
      ])
      expect((await send('GET', '/v1/webhook/ports/dead-letter?after=1')).body).toHaveLength(1)
      const shown = await send('GET', '/v1/webhook/ports/dead-letter/1')
      expect(JSON.parse(shown.body.body).data.changes[0].after.name).toBe('Bari')
      const refused = await send('POST', '/v1/webhook/ports/dead-letter/1/redeliver')
      expect(refused).toMatchObject({ status: 409, body: { type: 'DeliveryFailed' } })
      isOpen = true
      const before = receiver.got.length
      expect((await send('POST', '/v1/webhook/ports/dead-letter/1/redeliver')).status).toBe(204)
      expect(receiver.got[before]?.headers['webhook-id']).toBe(shown.body.id)
      expect((await send('DELETE', '/v1/webhook/ports/dead-letter/2')).status).toBe(204)
      expect((await send('DELETE', '/v1/webhook/ports/dead-letter/2')).body).toMatchObject({
        type: 'DeadLetterNotFound',
      })
      expect((await send('GET', '/v1/webhook/ports/dead-letter')).body).toEqual([])
      expect(await hook()).toMatchObject({ deadLetters: 0 })
      await create('Pola')
      await until(() => receiver.names.at(-1) === 'Pola')
    }),
  )

  rule(['2.5.3', '2.5.6'], 'end with 410, until somebody resumes the webhook: nothing is left out then', () =>
    withHook({ hook: objectsAlone }, async ({ receiver, create, hook, send }) => {
      receiver.answer = (nth) => ({ status: nth === 1 ? 410 : 200 })
      await create('Riga')
      await until(async () => (await hook()).state === 'disabled')
      await create('Memel')
      expect(receiver.names).toEqual(['Riga'])
      expect((await send('POST', '/v1/webhook/ports/resume')).status).toBe(204)
      await until(() => receiver.names.length === 3)
      expect(receiver.names).toEqual(['Riga', 'Riga', 'Memel'])
      expect((await send('POST', '/v1/webhook/none/resume')).body).toMatchObject({ type: 'WebhookNotFound' })
    }),
  )

  rule('2.5.7', 'go on after a restart where they were, and tell what was missed', async () => {
    const store = `lmdb:${temporaryDirectory()}/data`
    await withHook({ store, hook: objectsAlone }, async ({ receiver, create, hook }) => {
      await create('Nantes')
      await until(() => receiver.names.length === 1)
      // Until it is known to have been delivered, a restart delivers it once more.
      await until(async () => (await hook()).deliveries === 1)
    })
    await withHook({ store, hook: objectsAlone }, async ({ receiver, create, send, hook }) => {
      await create('Brest')
      await until(() => receiver.names.length === 1)
      expect(receiver.names).toEqual(['Brest'])
      await until(async () => (await hook()).deliveries === 2)
      expect((await send('GET', '/v1/webhook')).status).toBe(200)
    })
    // Another log: positions of the one before are gone.
    const { server } = await startedWithout(store)
    await server.stop()
    await withHook({ store, hook: objectsAlone }, async ({ receiver, create }) => {
      await create('Calais')
      await until(() => receiver.names.length === 1)
      expect(receiver.got[0]?.data).toMatchObject({ missed: true })
    })
  })

  rule('2.5.2', 'keep their id and their content where another process makes the next attempt', async () => {
    const store = `lmdb:${temporaryDirectory()}/data`
    const bodies: Got[] = []
    const isTried = (hook: Loose): boolean => hook?.attempts > 0
    await withHook({ store, hook: objectsAlone }, async ({ receiver, create, hook }) => {
      // Taken, and the reply is lost.
      receiver.answer = () => ({ status: 500 })
      await create('Narvik')
      await until(async () => isTried(await hook()))
      for (const name of ['Bodo', 'Tromso']) await create(name)
      bodies.push(receiver.got[0] as Got)
    })
    await withHook({ store, hook: objectsAlone }, async ({ receiver, hook }) => {
      await until(async () => (await hook()).deliveries === 2)
      expect(receiver.names).toEqual(['Narvik', 'Bodo', 'Tromso'])
      bodies.push(...receiver.got)
    })
    const [before, after, next] = bodies.map(({ headers, body }) => [headers['webhook-id'], body])
    expect(after).toEqual(before)
    expect(next?.[0]).not.toBe(before?.[0])
  })

  rule('2.5.2', 'are others where the webhook is configured anew in between, and nothing is left out', async () => {
    const store = `lmdb:${temporaryDirectory()}/data`
    const ids: unknown[] = []
    await withHook({ store, hook: { ...objectsAlone, where: 'depth = 4' } }, async ({ receiver, create, hook }) => {
      receiver.answer = () => ({ status: 500 })
      await create('Oslo')
      await until(async () => (await hook()).attempts > 0)
      for (const name of ['Bergen', 'Bari']) await create(name)
      ids.push(receiver.got[0]?.headers['webhook-id'])
    })
    await withHook({ store, hook: objectsAlone }, async ({ receiver }) => {
      await until(() => receiver.names.length === 3)
      expect(receiver.names).toEqual(['Oslo', 'Bergen', 'Bari'])
      ids.push(receiver.got[0]?.headers['webhook-id'])
    })
    expect(ids[0]).not.toBe(ids[1])
  })

  rule('2.5.5', 'that cannot be made for want of a class are failing, in the metrics too', async () => {
    await withHook({ hook: { class: 'Nowhere' } }, async ({ create, hook, server }) => {
      await create('Kiel')
      await until(async () => (await hook())?.state === 'failing')
      const failing = /ashlar_webhook_failing_seconds\{fd="default",webhook="ports"\} (\S+)/
      const metrics = async () => (await fetch(`${server.url}/metrics`)).text()
      await until(async () => Number(failing.exec(await metrics())?.[1]) > 0)
    })
  })

  rule('2.5.4', 'do not go to this machine or private networks unless that is allowed, by name or by address', () =>
    withHook({ hook: objectsAlone, webhooks: { allowPrivateAddresses: false } }, async ({ receiver, create, hook }) => {
      await create('Malmo')
      await until(async () => (await hook()).attempts > 0)
      expect((await hook()).reason).toMatch(/127\.0\.0\.1, an address of this machine/)
      expect(receiver.got).toEqual([])
    }),
  )
})

async function startedWithout(store: string): Promise<{ server: RunningServer }> {
  const config = mergeConfig([{ port: 0, federatedDatabases: [{ alias: 'default', store, changeLog: 'off' }] }])
  return { server: await startServer(config, pino({ level: 'silent' })) }
}

describe('the setting', () => {
  const base = { name: 'a', url: 'https://hooks.example.com/x', secretVariable: 'ASHLAR_TEST_NO_SECRET' }
  const read = (webhooks: object): unknown => configFromJson(JSON.stringify({ webhooks }), 'test.json')

  rule('2.5.1', 'is refused with a sentence where it cannot be', () => {
    const refused = (hook: object, allowedHosts = ['hooks.example.com']): (() => unknown) => {
      return () => read({ allowedHosts, hooks: [{ ...base, ...hook }] })
    }
    expect(refused({ url: 'https://other.example.com/' })).toThrow(
      /other\.example\.com, which is not one of allowedHosts/,
    )
    expect(refused({ url: 'https://example.com/' }, ['*.example.com'])).toThrow(/not one of allowedHosts/)
    expect(refused({ url: 'ftp://hooks.example.com/' })).toThrow(/an address by https or http/)
    expect(refused({ url: 'https://me:secret@hooks.example.com/' })).toThrow(/no user and password/)
    expect(refused({})).toThrow(/ASHLAR_TEST_NO_SECRET, the secret of webhook a, is not set/)
    expect(refused({ secretFile: '/nowhere' })).toThrow(/either secretFile or secretVariable/)
    expect(refused({ secretVariable: undefined, secretFile: '/nowhere' })).toThrow(/there is no such file/)
    expect(refused({ where: 'x > 1' })).toThrow(/needs class/)
    expect(refused({ clas: 'Port' })).toThrow(/has no field clas\. Did you mean 'class'\?|has no field clas\./)
    process.env.ASHLAR_TEST_NO_SECRET = 'whsec_c2hvcnQ='
    try {
      expect(refused({})).toThrow(/is not whsec_ and 24 to 64 bytes/)
    } finally {
      delete process.env.ASHLAR_TEST_NO_SECRET
    }
  })
})
