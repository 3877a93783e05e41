/** Calls that end early, and servers that are not there: what is thrown, and how soon. */
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AshlarClient } from '../src/client.ts'
import { AshlarConnectionError, AshlarTimeoutError, type CallOptions, type Fetch } from '../src/index.ts'

/** Every method, with what it needs; the last argument of each is its options. */
const calls: Record<string, (client: AshlarClient, options: CallOptions) => Promise<unknown>> = {
  getService: (client, options) => client.getService(options),
  getReadiness: (client, options) => client.getReadiness(options),
  listResources: (client, options) => client.listResources(options),
  getFederatedDatabase: (client, options) => client.getFederatedDatabase(options),
  shutDown: (client, options) => client.shutDown(options),
  listClasses: (client, options) => client.listClasses(options),
  getClass: (client, options) => client.getClass('A', options),
  createClasses: (client, options) => client.createClasses([], options),
  defineClasses: (client, options) => client.defineClasses([], options),
  alterClass: (client, options) => client.alterClass('A', {}, options),
  alterClassInBackground: (client, options) => client.alterClassInBackground('A', {}, options),
  previewAlteration: (client, options) => client.previewAlteration('A', {}, options),
  deleteClass: (client, options) => client.deleteClass('A', options),
  listNamespaces: (client, options) => client.listNamespaces(options),
  getNamespace: (client, options) => client.getNamespace(null, options),
  createObject: (client, options) => client.createObject('A', {}, options),
  createObjects: (client, options) => client.createObjects([], options),
  loadObjects: (client, options) => client.loadObjects([{ class: 'A' }], options).next(),
  export: (client, options) => client.export(options).next(),
  readObject: (client, options) => client.readObject('3-3-1-1', options),
  readObjectWithEtag: (client, options) => client.readObjectWithEtag('3-3-1-1', options),
  updateObject: (client, options) => client.updateObject('3-3-1-1', {}, options),
  deleteObject: (client, options) => client.deleteObject('3-3-1-1', options),
  previewObjectDeletion: (client, options) => client.previewObjectDeletion('3-3-1-1', options),
  runTransaction: (client, options) => client.runTransaction([], options),
  createIndex: (client, options) => client.createIndex({} as never, options),
  startIndex: (client, options) => client.startIndex({} as never, options),
  listIndexes: (client, options) => client.listIndexes(options),
  getIndex: (client, options) => client.getIndex('i', options),
  deleteIndex: (client, options) => client.deleteIndex('i', options),
  query: (client, options) => client.query('SHOW 1', {}, options),
  queryStream: (client, options) => client.queryStream('SHOW 1', {}, options).next(),
  followQuery: (client, options) => client.followQuery('SHOW 1', {}, options).next(),
  explain: (client, options) => client.explain('SHOW 1', {}, options),
  explainAsText: (client, options) => client.explainAsText('SHOW 1', {}, options),
  listStatements: (client, options) => client.listStatements(options),
  stopStatement: (client, options) => client.stopStatement('1', options),
  listWebhooks: (client, options) => client.listWebhooks(options),
  resumeWebhook: (client, options) => client.resumeWebhook('w', options),
  listDeadLetters: (client, options) => client.listDeadLetters('w', 0, options),
  getDeadLetter: (client, options) => client.getDeadLetter('w', 1, options),
  redeliverDeadLetter: (client, options) => client.redeliverDeadLetter('w', 1, options),
  dropDeadLetter: (client, options) => client.dropDeadLetter('w', 1, options),
  listTools: (client, options) => client.listTools(options),
  runTool: (client, options) => client.runTool('Verify', {}, options),
  listChanges: (client, options) => client.listChanges(options),
  followChanges: (client, options) => client.followChanges({ ...options, wait: 0 }).next(),
  getCaller: ({ security }, options) => security.getCaller(options),
  signIn: ({ security }, options) => security.signIn({ name: 'a', password: 'b' }, options),
  signOut: ({ security }, options) => security.signOut(options),
  changePassword: ({ security }, options) => security.changePassword({} as never, options),
  listUsers: ({ security }, options) => security.listUsers(options),
  getUser: ({ security }, options) => security.getUser('u', options),
  addUser: ({ security }, options) => security.addUser({} as never, options),
  updateUser: ({ security }, options) => security.updateUser('u', {}, options),
  removeUser: ({ security }, options) => security.removeUser('u', options),
  listTokens: ({ security }, options) => security.listTokens(options),
  createToken: ({ security }, options) => security.createToken({} as never, options),
  revokeToken: ({ security }, options) => security.revokeToken('t', options),
  readAudit: ({ security }, options) => security.readAudit(options),
  listRoles: ({ security }, options) => security.listRoles(options),
  getRole: ({ security }, options) => security.getRole('r', options),
  addRole: ({ security }, options) => security.addRole({} as never, options),
  updateRole: ({ security }, options) => security.updateRole('r', {}, options),
  removeRole: ({ security }, options) => security.removeRole('r', options),
}

/** As a browser or Node does, without a server: never a reply, until the signal is aborted. */
const silent: Fetch = (_url, { signal }) =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))

/** A server that never replies; its sockets are closed at the end of the test. */
async function silentServer(): Promise<string> {
  const server = createServer(() => undefined).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An address at which no server listens. */
async function deadUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  await new Promise((resolve) => connect(port, '127.0.0.1').once('error', resolve))
  return `http://127.0.0.1:${port}`
}

const failing =
  (error: () => unknown): Fetch =>
  async () => {
    throw error()
  }

describe('every method', () => {
  it('is in this list', () => {
    const names = (prototype: object): string[] => Object.getOwnPropertyNames(prototype)
    const client = new AshlarClient({ baseUrl: 'http://x' })
    const classes = [
      AshlarClient.prototype,
      Object.getPrototypeOf(AshlarClient.prototype),
      Object.getPrototypeOf(client.security),
    ]
    const methods = classes.flatMap(names)
    expect(Object.keys(calls).sort()).toEqual(
      methods.filter((name) => !['constructor', 'withKey', 'request'].includes(name)).sort(),
    )
  })

  it.each(Object.entries(calls))('%s ends by its signal and by its time limit', async (_name, call) => {
    const client = new AshlarClient({ baseUrl: 'http://x', fetch: silent })
    const controller = new AbortController()
    const aborted = call(client, { signal: controller.signal })
    const reason = new Error('no longer needed')
    controller.abort(reason)
    await expect(aborted).rejects.toBe(reason)
    await expect(call(client, { timeoutMs: 1 })).rejects.toMatchObject({ name: 'AshlarTimeoutError', timeoutMs: 1 })
    const limited = new AshlarClient({ baseUrl: 'http://x', fetch: silent, timeoutMs: 1 })
    await expect(call(limited, {})).rejects.toBeInstanceOf(AshlarTimeoutError)
  })
})

describe('a time limit', () => {
  it('holds against a server, names the operation, and says that a change may have been made', async () => {
    const client = new AshlarClient({ baseUrl: await silentServer() })
    const failed = await client.createObject('A', {}, { timeoutMs: 20 }).catch((error: unknown) => error)
    expect(failed).toMatchObject({
      message: expect.stringMatching(/^POST \/v1\/object at http:.* within 20 ms .*may have been made/),
    })
    await expect(client.readObject('3-3-1-1', { timeoutMs: 20 })).rejects.toThrow(/^GET .*\(timeoutMs\)\.$/)
  })

  it('includes the repetitions', async () => {
    const lost = failing(() => new TypeError('fetch failed'))
    const client = new AshlarClient({ baseUrl: 'http://x', fetch: lost, retriesMax: 1_000, timeoutMs: 50 })
    await expect(client.listClasses()).rejects.toBeInstanceOf(AshlarTimeoutError)
  })

  it('of a stream ends when the reply begins, and a signal goes on', async () => {
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined
    const slow: Fetch = async (_url, { signal }) => {
      const body = new ReadableStream<Uint8Array>({
        start(given) {
          controller = given
        },
      })
      signal?.addEventListener('abort', () => controller?.error(new Error('as fetch says it')))
      return new Response(body)
    }
    const client = new AshlarClient({ baseUrl: 'http://x', fetch: slow, timeoutMs: 20 })
    const ending = new AbortController()
    const rows = client.queryStream<number>('SHOW 1', {}, { signal: ending.signal })
    const first = rows.next()
    await new Promise((resolve) => setTimeout(resolve, 60))
    controller?.enqueue(Buffer.from('1\n'))
    expect(await first).toEqual({ done: false, value: 1 })
    const second = rows.next()
    ending.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')
  })

  it('is a number of milliseconds', async () => {
    for (const timeoutMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
      expect(() => new AshlarClient({ baseUrl: 'http://x', timeoutMs })).toThrow(RangeError)
      await expect(new AshlarClient({ baseUrl: 'http://x' }).listClasses({ timeoutMs })).rejects.toThrow(RangeError)
    }
  })
})

it('an abort ends the wait before a repetition at once', async () => {
  const controller = new AbortController()
  const refused = () => new Response('{}', { status: 503, headers: { 'retry-after': '10' } })
  const busy: Fetch = async () => {
    setTimeout(() => controller.abort(new Error('enough')), 0)
    return refused()
  }
  const client = new AshlarClient({ baseUrl: 'http://x', fetch: busy })
  const beganMs = performance.now()
  await expect(client.listClasses({ signal: controller.signal })).rejects.toThrow('enough')
  expect(performance.now() - beganMs).toBeLessThan(5_000)
})

describe('a server that is not there', () => {
  it('is named with its address, at the first attempt, by every kind of call', async () => {
    const baseUrl = await deadUrl()
    let attempts = 0
    const counted: Fetch = (url, init) => {
      attempts++
      return fetch(url, init)
    }
    const client = new AshlarClient({ baseUrl, fetch: counted })
    for (const call of [
      'listClasses',
      'createObject',
      'queryStream',
      'followQuery',
      'followChanges',
      'loadObjects',
      'export',
    ]) {
      attempts = 0
      const failed = await calls[call]?.(client, {}).catch((error: unknown) => error)
      expect(failed).toBeInstanceOf(AshlarConnectionError)
      expect(failed).toMatchObject({ url: baseUrl, cause: { message: 'fetch failed' } })
      expect((failed as Error).message).toBe(
        `No server answers at ${baseUrl} (ECONNREFUSED): is it running, and is 'baseUrl' right?`,
      )
      expect([call, attempts]).toEqual([call, 1])
    }
  })

  it('is waited for if it has replied before: it may be starting again', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const outcomes = ['[]', undefined, '[7]']
    const client = new AshlarClient({
      baseUrl: 'http://x',
      async fetch() {
        const text = outcomes.shift()
        if (text === undefined) throw new TypeError('fetch failed', { cause })
        return new Response(text)
      },
    })
    await client.withKey('k').listClasses()
    expect(await client.listClasses()).toEqual([7])
  })

  it('of which a browser says nothing is named as well, with what else may be the cause', async () => {
    for (const words of ['Failed to fetch', 'NetworkError when attempting to fetch resource.', 'Load failed']) {
      let attempts = 0
      const fetch = failing(() => {
        attempts++
        return new TypeError(words)
      })
      const client = new AshlarClient({ baseUrl: 'http://db.example:8185', fetch })
      await expect(client.listClasses()).rejects.toThrow(/no reply from http:\/\/db.example:8185 \(.*--cors/)
      await expect(client.followQuery('FROM A RETURN *').next()).rejects.toBeInstanceOf(AshlarConnectionError)
      expect(attempts).toBe(2)
    }
  })
})

it('a lost connection is named with the number of attempts and its cause', async () => {
  const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  const fetch = failing(() => new TypeError('fetch failed', { cause }))
  const client = new AshlarClient({ baseUrl: 'http://x/', fetch, retriesMax: 1 })
  const message = `The connection to http://x was lost (ECONNRESET, 2 times) during GET /v1/schema.`
  await expect(client.listClasses()).rejects.toMatchObject({ name: 'AshlarConnectionError', url: 'http://x', message })
  await expect(client.deleteClass('A')).rejects.toThrow('may have been made')
  const custom = new AshlarConnectionError('http://x', 'the cable is cut')
  await expect(
    new AshlarClient({ baseUrl: 'http://x', fetch: failing(() => custom), retriesMax: 1 }).listClasses(),
  ).rejects.toBe(custom)
  const body = new ReadableStream({ start: (controller) => controller.error(new TypeError('terminated')) })
  const broken = new AshlarClient({ baseUrl: 'http://x', fetch: async () => new Response(body) })
  await expect(broken.export().next()).rejects.toMatchObject({
    url: 'http://x',
    message: expect.stringContaining('GET /v1/export'),
  })
})

describe('a mistake in a program', () => {
  it('is no lost connection: it is thrown at once, as it is', async () => {
    let attempts = 0
    const mistake = new TypeError("Failed to execute 'fetch' on 'Window': Illegal invocation")
    const fetch = failing(() => {
      attempts++
      return mistake
    })
    const client = new AshlarClient({ baseUrl: 'http://x', fetch })
    await expect(client.listClasses()).rejects.toBe(mistake)
    await expect(client.followQuery('FROM A RETURN *').next()).rejects.toBe(mistake)
    await expect(client.followChanges().next()).rejects.toBe(mistake)
    expect(attempts).toBe(3)
    const wrongHeader = new AshlarClient({ baseUrl: 'http://127.0.0.1:1', token: 'two\nlines' })
    await expect(wrongHeader.listClasses()).rejects.toThrow(/header/i)
  })

  it('in baseUrl is refused by the constructor, with what was given', () => {
    for (const baseUrl of ['localhost:8185', '127.0.0.1:8185', '', '/api', 'ftp://x', 'http://', 'http://x:99999']) {
      expect(() => new AshlarClient({ baseUrl })).toThrow(`baseUrl '${baseUrl}' is not the address of a server`)
    }
    expect(() => new AshlarClient({ baseUrl: 'http://x?fdAlias=a' })).toThrow(
      "baseUrl 'http://x?fdAlias=a' ends with its path",
    )
    expect(() => new AshlarClient({ baseUrl: 'http://ann:secret@x' })).toThrow(/^(?!.*secret).*'user'/)
  })
})
