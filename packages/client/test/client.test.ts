/** The client against a real server, operation by operation. */
import { describe, expect, it } from 'vitest'
import { operations } from '../../server/src/operations/table.ts'
import { type OpenServer, openServer, type ServerSetting } from '../../server/test/unit/open-server.ts'
import { chunksOf, stubQuery } from '../../server/test/unit/stub-query.ts'
import { AshlarClient } from '../src/client.ts'
import { AshlarRequestError } from '../src/errors.ts'

const gadget = {
  className: 'Shop.Gadget',
  isReferenceable: true,
  attributes: [
    { attributeName: 'name', logicalType: 'string' },
    { attributeName: 'size', logicalType: 'integer', encoding: 'unsigned', storage: 'b64' },
  ],
}

async function connect(setting: ServerSetting = {}): Promise<{ baseUrl: string; server: OpenServer }> {
  const server = await openServer(setting)
  return { baseUrl: await server.app.listen({ host: '127.0.0.1', port: 0 }), server }
}

describe('AshlarClient', () => {
  it('sends a user, and tells whether the server is ready', async () => {
    const { baseUrl } = await connect()
    const sent: (string | null)[] = []
    const client = new AshlarClient({
      baseUrl,
      user: { name: 'änn', password: 'p:w' },
      fetch: (url, init) => {
        sent.push(new Headers(init.headers).get('authorization'))
        return fetch(url, init)
      },
    })
    expect(await client.getReadiness()).toEqual({ status: 'ready', federatedDatabases: ['default'] })
    expect(sent).toEqual([`Basic ${Buffer.from('änn:p:w').toString('base64')}`])
  })

  it('waits for a change of a class in the background, and throws its failure', async () => {
    const { baseUrl } = await connect()
    const sent: string[] = []
    const client = new AshlarClient({
      baseUrl,
      fetch: (url, init) => {
        const prefer = new Headers(init.headers).get('prefer')
        sent.push(`${init.method}${prefer === null ? '' : ` ${prefer}`}`)
        return fetch(url, init)
      },
    })
    await client.createClasses([gadget])
    for (let size = 0; size < 3; size++) await client.createObject('Shop.Gadget', { name: `g${size}`, size })
    const constrain = (fields: object) => ({ attributesToConstrain: [{ attributeName: 'size', ...fields }] })
    const progress: unknown[] = []
    const onProgress = (one: unknown): void => void progress.push(one)
    sent.length = 0
    expect(await client.alterClassInBackground('Shop.Gadget', constrain({ maximum: 2 }), { onProgress })).toEqual({
      classNumbers: ['1000000'],
      uris: ['/v1/schema/1000000'],
    })
    expect([...new Set(sent)]).toEqual(['PUT respond-async', 'GET'])
    expect((await client.getClass('Shop.Gadget')).attributes[1]).toMatchObject({ maximum: 2 })
    for (const one of progress) expect(one).toMatchObject({ objectsTotal: expect.any(Number) })
    const failed = client.alterClassInBackground('Shop.Gadget', constrain({ maximum: 1 }))
    await expect(failed).rejects.toMatchObject({
      status: 409,
      type: 'ObjectsViolateConstraint',
      message: expect.stringContaining('1 object violates maximum of attribute size'),
    })
    sent.length = 0
    await client.alterClassInBackground('Shop.Gadget', constrain({ title: 'Size' }))
    expect(sent).toEqual(['PUT respond-async'])
  })

  it('has a method for every operation', async () => {
    const { baseUrl, server } = await connect({ isShutdownAllowed: true })
    const used = new Set<string>()
    const client = new AshlarClient({
      baseUrl,
      fetch: (input, init) => {
        used.add(`${init?.method} ${new URL(String(input)).pathname}`)
        return fetch(input, init)
      },
    })
    expect(await client.getService()).toMatchObject({ versions: ['v1'] })
    expect((await client.listResources()).version).toBe('v1')
    expect((await client.getFederatedDatabase()).alias).toBe('default')
    expect(await client.createClasses([gadget])).toEqual({ classNumbers: ['1000000'], uris: ['/v1/schema/1000000'] })
    expect((await client.defineClasses([gadget])).classNumbers).toEqual(['1000000'])
    expect(await client.listClasses()).toEqual([await client.getClass('Shop.Gadget')])
    expect(await client.listNamespaces()).toEqual([{ name: null }, { name: 'Shop' }])
    expect((await client.getNamespace('Shop')).classes).toHaveLength(1)
    expect((await client.getNamespace(null)).classes).toEqual([])
    const { __identifier__: oid } = await client.createObject('Shop.Gadget', { name: 'x' })
    const [second] = await client.createObjects([{ class: 'Shop.Gadget' }])
    await client.deleteObject(second?.__identifier__ ?? '')
    expect(await client.updateObject(oid, { size: 2n ** 64n - 1n })).toBeUndefined()
    expect((await client.readObject(oid)).name).toBe('x')
    const index = {
      name: 'by.name',
      indexedClass: 'Shop.Gadget',
      isUnique: true,
      keyAttributes: [{ attributeName: 'name' }],
    }
    expect(await client.createIndex(index)).toEqual({ name: 'by.name', uri: '/v1/index/by.name' })
    expect(await client.listIndexes()).toEqual([await client.getIndex('by.name')])
    expect(await client.deleteIndex('by.name')).toBeUndefined()
    expect(await client.startIndex(index)).toEqual({ name: 'by.name', uri: '/v1/index/by.name' })
    const { app } = server
    expect((await app.inject(`/v1/object/${oid}`)).body).toContain('18446744073709551615')
    const { object, etag } = await client.readObjectWithEtag(oid)
    expect(object).toEqual(await client.readObject(oid))
    expect(await client.updateObject(oid, { name: 'y' }, { ifMatch: etag })).toBeUndefined()
    await expect(client.updateObject(oid, { name: 'z' }, { ifMatch: etag })).rejects.toMatchObject({
      type: 'PreconditionFailed',
      status: 412,
    })
    await expect(client.deleteObject(oid, { ifMatch: etag })).rejects.toThrow(AshlarRequestError)
    const text = { attributesToChange: [{ attributeName: 'size', logicalType: 'integer', storage: 'b8' }] }
    const planned = await client.previewAlteration('Shop.Gadget', text, { allowLoss: true })
    expect(planned).toMatchObject({ objects: 1, valuesLost: [{ attributeName: 'size', values: 1 }] })
    expect(await client.alterClass('Shop.Gadget', text, { allowLoss: true })).toMatchObject({
      classNumbers: ['1000000'],
    })
    await expect(client.alterClass('Shop.Gadget', { ...text, classRename: 'X' })).rejects.toThrow(AshlarRequestError)
    const failing = client.runTransaction([{ method: 'get', uri: '/v1/schema/Nobody' }])
    await expect(failing).rejects.toMatchObject({ type: 'ClassNotFound', operation: 1 })
    const [made] = await client.runTransaction([
      { method: 'post', uri: '/v1/object', body: { class: 'Shop.Gadget' }, id: 'made' },
      { method: 'delete', uri: `/v1/object/${oid}` },
    ])
    expect(made).toMatchObject({ responseCode: '201' })
    expect((await client.listTools()).map(({ name }) => name)).toContain('Verify')
    expect(await client.runTool('DropIndex', { name: 'by.name' })).toMatchObject({ returnCode: 0 })
    await expect(client.deleteClass('Shop.Gadget')).rejects.toMatchObject({ type: 'ClassInUse' })
    await expect(client.deleteObject(oid)).rejects.toMatchObject({ type: 'ObjectNotFound' })
    stubQuery(server.federatedDatabases[0], () => chunksOf('1'))
    expect(await client.query('SHOW 1')).toEqual([1])
    expect((await client.listChanges()).isAtEnd).toBe(true)
    expect(await client.listStatements()).toEqual([])
    await expect(client.stopStatement('none')).rejects.toMatchObject({ type: 'StatementNotFound' })
    expect(await client.listWebhooks()).toEqual([])
    const none = { type: 'WebhookNotFound' }
    await expect(client.resumeWebhook('none')).rejects.toMatchObject(none)
    await expect(client.listDeadLetters('none')).rejects.toMatchObject(none)
    await expect(client.getDeadLetter('none', 1)).rejects.toMatchObject(none)
    await expect(client.redeliverDeadLetter('none', 1)).rejects.toMatchObject(none)
    await expect(client.dropDeadLetter('none', 1)).rejects.toMatchObject(none)
    await client.shutDown()
    const paths = [...used].map((path) => path.replace(/object\/[\d-]+/, 'object/:oid').replace('by.name', ':name'))
    const named = paths.map((path) =>
      path
        .replace(/namespace\/\w+$/, 'namespace/:name')
        .replace('Shop.Gadget', ':class')
        .replace('webhook/none', 'webhook/:name')
        .replace('dead-letter/1', 'dead-letter/:number')
        .replace('statement/none', 'statement/:id'),
    )
    const table = operations
      .map(({ method, path }) => `${method} ${path}`)
      // Exports have a test of their own, metrics are for Prometheus, and the client of security has the rest.
      .filter((path) => !['POST /shutdown', 'GET /v1/export', 'GET /metrics'].includes(path))
      .filter((path) => !path.includes('/v1/security/'))
    expect(new Set(named)).toEqual(new Set(table))
  })

  it('speaks to the federated database it is told', async () => {
    const { baseUrl } = await connect({ aliases: ['a', 'b'] })
    await new AshlarClient({ baseUrl: `${baseUrl}/`, fdAlias: 'b' }).defineClasses([gadget])
    expect(await new AshlarClient({ baseUrl, fdAlias: 'a' }).listClasses()).toEqual([])
    await expect(new AshlarClient({ baseUrl }).listClasses()).rejects.toMatchObject({
      type: 'FederatedDatabaseRequired',
    })
  })

  it('throws what the server refuses, with its type, status, message and places', async () => {
    const { baseUrl } = await connect()
    const client = new AshlarClient({ baseUrl })
    await client.defineClasses([gadget])
    const refused = await client.createObject('Shop.Gadget', { size: -1 }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(AshlarRequestError)
    expect(refused).toMatchObject({ status: 422, type: 'ValueNotAllowed', errors: [{ pointer: '/attributes/size' }] })
    expect((refused as Error).message).toMatch(/size/)
  })
})
