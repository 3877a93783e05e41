/** What holds for every request: content types, aliases, parameters, methods, paths (REST interface, section 1). */
import { brotliCompressSync, brotliDecompressSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { operations } from '../../src/operations/table.ts'
import { defineGadget, openServer } from './open-server.ts'

const missing = '{"class":"Missing","attributes":{}}'

describe('bodies', () => {
  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json,Accept:application/json',
    undefined,
  ])('are JSON under Content-Type %s', async (contentType) => {
    const { app } = await openServer()
    const headers = contentType === undefined ? {} : { 'content-type': contentType }
    const reply = await app.inject({ method: 'POST', url: '/v1/object', headers, payload: Buffer.from(missing) })
    expect(reply.json()).toMatchObject({ type: 'UnknownClass' })
  })

  it('are refused under other content types, whatever they hold', async () => {
    const { app } = await openServer()
    for (const contentType of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded']) {
      const headers = { 'content-type': contentType }
      const reply = await app.inject({ method: 'POST', url: '/v1/object', headers, payload: missing })
      expect([reply.statusCode, reply.json().type]).toEqual([415, 'UnsupportedMediaType'])
    }
  })

  it('may be announced and missing on GET, DELETE, HEAD and shutdown, and are ignored there', async () => {
    const { app } = await openServer({ isShutdownAllowed: true })
    const headers = { 'content-type': 'application/json' }
    const ask = (method: 'GET' | 'HEAD' | 'DELETE' | 'POST', url: string, payload?: string) =>
      app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
    expect((await ask('GET', '/v1/schema')).statusCode).toBe(200)
    expect((await ask('HEAD', '/v1/schema')).statusCode).toBe(200)
    expect((await ask('DELETE', '/v1/object/3-3-1-1')).statusCode).toBe(404)
    expect((await ask('DELETE', '/v1/object/3-3-1-1', '{"broken')).statusCode).toBe(404)
    expect((await ask('POST', '/shutdown')).statusCode).toBe(204)
  })

  it.each([
    ['POST', '/v1/object'],
    ['PUT', '/v1/object/3-3-1-1'],
    ['POST', '/v1/schema'],
    ['PUT', '/v1/schema'],
    ['POST', '/v1/index'],
  ] as const)('are needed by %s %s', async (method, url) => {
    const { app } = await openServer()
    const reply = await app.inject({ method, url, headers: { 'content-type': 'application/json' } })
    expect([reply.statusCode, reply.json().type]).toEqual([400, 'MalformedRequest'])
  })

  it('with unknown fields are refused, naming all of them', async () => {
    const { app } = await openServer()
    const payload = '{"class":"X","__proto__":1,"a/b~":2,"constructor":3}'
    const reply = await app.inject({ method: 'POST', url: '/v1/object', payload })
    expect(reply.json()).toMatchObject({ type: 'UnknownField', status: 400 })
    expect(reply.json().message).toMatch(/'__proto__', 'a\/b~', 'constructor'/)
    const pointers = reply.json().errors.map((error: { pointer: string }) => error.pointer)
    expect(pointers).toEqual(['/__proto__', '/a~1b~0', '/constructor'])
  })

  it('keep wrong JSON types from being coerced', async () => {
    const { app } = await openServer()
    for (const payload of [
      '{"class":5}',
      '{"class":null}',
      '{"class":"X","attributes":[]}',
      '[[]]',
      '5',
      'null',
      '""',
    ]) {
      const reply = await app.inject({ method: 'POST', url: '/v1/object', payload })
      expect([payload, reply.statusCode]).toEqual([payload, 400])
    }
  })

  it('larger than the limit are refused, compressed or not', async () => {
    const { app } = await openServer({ limits: { bodyBytesMax: 10_000 } })
    const large = JSON.stringify({ class: 'X', attributes: { a: 'x'.repeat(1_000_000) } })
    const plain = await app.inject({ method: 'POST', url: '/v1/object', payload: large })
    expect([plain.statusCode, plain.json().type]).toEqual([413, 'BodyTooLarge'])
    for (const [encoding, payload] of encodings(large)) {
      expect(payload.length).toBeLessThan(10_000)
      const headers = { 'content-encoding': encoding }
      const reply = await app.inject({ method: 'POST', url: '/v1/object', headers, payload })
      expect([encoding, reply.statusCode, reply.json().type]).toEqual([encoding, 413, 'BodyTooLarge'])
    }
  })

  it('may come as gzip, br and deflate; other encodings and broken ones are refused', async () => {
    const { app } = await openServer()
    const send = (encoding: string, payload: Buffer) =>
      app.inject({ method: 'POST', url: '/v1/object', headers: { 'content-encoding': encoding }, payload })
    for (const [encoding, payload] of encodings(missing)) {
      expect((await send(encoding, payload)).json().type).toBe('UnknownClass')
      expect((await send(encoding, payload.subarray(0, -4))).json()).toMatchObject({
        status: 400,
        type: 'MalformedRequest',
      })
      expect((await send(encoding, Buffer.from(missing))).json()).toMatchObject({
        status: 400,
        type: 'MalformedRequest',
      })
    }
    expect((await send('compress', Buffer.from(missing))).json()).toMatchObject({ status: 415 })
  })

  it('name their encoding in any case', async () => {
    const { app } = await openServer()
    for (const encoding of ['GZIP', 'Gzip', ' gzip ']) {
      const headers = { 'content-encoding': encoding }
      const reply = await app.inject({ method: 'POST', url: '/v1/object', headers, payload: gzipSync(missing) })
      expect([encoding, reply.json().type]).toEqual([encoding, 'UnknownClass'])
    }
  })
})

function encodings(text: string): [string, Buffer][] {
  return [
    ['gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
  ]
}

describe('replies', () => {
  it('are JSON in UTF-8, and say so', async () => {
    const { app } = await openServer()
    const reply = await app.inject('/v1/schema')
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
    })
    expect(reply.headers).not.toHaveProperty('server')
  })

  it('are refused where Accept excludes JSON', async () => {
    const { app } = await openServer()
    const reply = await app.inject({ url: '/v1/schema', headers: { accept: 'text/html' } })
    expect([reply.statusCode, reply.json().type]).toEqual([406, 'NotAcceptable'])
  })

  it('are compressed where they are long and the client takes it', async () => {
    const { app } = await openServer()
    await defineGadget(app)
    const attributes = { name: 'x'.repeat(5_000) }
    const { uri } = (
      await app.inject({ method: 'POST', url: '/v1/object', payload: { class: 'Shop.Gadget', attributes } })
    ).json()
    const plain = await app.inject(uri)
    const read = (encoding: string) => app.inject({ url: uri, headers: { 'accept-encoding': encoding } })
    for (const [encoding, decompress] of [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const) {
      const reply = await read(encoding)
      expect(reply.headers).toMatchObject({ 'content-encoding': encoding, vary: 'accept-encoding' })
      expect(reply.rawPayload.length).toBeLessThan(1_000)
      expect(decompress(reply.rawPayload).toString()).toBe(plain.body)
    }
    expect((await read('identity')).body).toBe(plain.body)
    expect((await app.inject({ url: '/', headers: { 'accept-encoding': 'gzip' } })).headers).not.toHaveProperty(
      'content-encoding',
    )
  })
})

describe('fdAlias', () => {
  it('may be left out with one federated database', async () => {
    const { app } = await openServer({ aliases: ['only'] })
    expect((await app.inject('/v1/fd')).json().alias).toBe('only')
    expect((await app.inject('/v1/fd?fdAlias=only')).json().alias).toBe('only')
  })

  it('is needed with several and no default', async () => {
    const { app } = await openServer({ aliases: ['a', 'b'] })
    const reply = await app.inject('/v1/fd')
    expect([reply.statusCode, reply.json().type]).toEqual([400, 'FederatedDatabaseRequired'])
    expect((await app.inject('/v1/fd?fdAlias=b')).json().alias).toBe('b')
  })

  it('defaults to the one marked default', async () => {
    const { app } = await openServer({ aliases: ['a', 'b'], defaultAlias: 'b' })
    expect((await app.inject('/v1/fd')).json().alias).toBe('b')
    expect((await app.inject('/v1/fd?fdAlias=a')).json().alias).toBe('a')
  })

  it.each([
    ['fdAlias=zz', 404, 'FederatedDatabaseNotFound'],
    ['fdAlias=DEFAULT', 404, 'FederatedDatabaseNotFound'],
    ['fdAlias=__proto__', 404, 'FederatedDatabaseNotFound'],
    ['fdAlias=', 400, 'MalformedAlias'],
    ['fdAlias', 400, 'MalformedAlias'],
    ['fdAlias=default&fdAlias=default', 400, 'MalformedAlias'],
    ['fdalias=default', 400, 'UnknownParameter'],
  ])('%s is answered by %i %s', async (query, status, type) => {
    const { app } = await openServer()
    for (const url of ['/v1/fd', '/v1/schema', '/v1/index', '/v1/object/3-3-1-1']) {
      const reply = await app.inject(`${url}?${query}`)
      expect([url, reply.statusCode, reply.json().type]).toEqual([url, status, type])
    }
  })

  it('is accepted and ignored on the service itself', async () => {
    const { app } = await openServer({ aliases: ['a', 'b'] })
    for (const url of ['/', '/v1', '/?fdAlias=zz', '/v1?fdAlias=', '/v1?fdAlias=a&fdAlias=b']) {
      expect((await app.inject(url)).statusCode).toBe(200)
    }
  })

  it('keeps federated databases wholly separate', async () => {
    const { app } = await openServer({ aliases: ['a', 'b'] })
    await defineGadget(app, '?fdAlias=a')
    expect((await app.inject('/v1/schema?fdAlias=a')).json()).toHaveLength(1)
    expect((await app.inject('/v1/schema?fdAlias=b')).json()).toHaveLength(0)
    const payload = { class: 'Shop.Gadget', attributes: {} }
    const refused = await app.inject({ method: 'POST', url: '/v1/object?fdAlias=b', payload })
    expect(refused.json().type).toBe('UnknownClass')
  })
})

describe('parameters, paths and methods', () => {
  it('names every unknown parameter', async () => {
    const { app } = await openServer()
    const reply = await app.inject('/v1/schema?x=1&fdAlias=default&y')
    expect([reply.statusCode, reply.json().type]).toEqual([400, 'UnknownParameter'])
    expect(reply.json().message).toMatch(/'x', 'y'/)
  })

  it('ignores a trailing slash', async () => {
    const { app } = await openServer()
    for (const url of ['/v1/', '/v1/fd/', '/v1/schema/', '/v1/schema/namespace/', '/v1/index/?fdAlias=default']) {
      expect((await app.inject(url)).statusCode).toBe(200)
    }
  })

  it.each(['/v2', '/v1/nothing', '/v1/object/1-2-3-4/x', '//v1', '/v1/queries', '/v1/transactions', '/v1/tools'])(
    'has nothing at %s',
    async (url) => {
      const { app } = await openServer()
      for (const method of ['GET', 'POST', 'OPTIONS'] as const) {
        const reply = await app.inject({ method, url })
        expect([reply.statusCode, reply.json().type]).toEqual([404, 'ResourceNotFound'])
      }
    },
  )

  it('refuses percent-encoding that does not decode, and decodes the rest', async () => {
    const { app } = await openServer()
    await defineGadget(app)
    for (const url of ['/v1/schema/%zz', '/v1/schema/%ff', '/v1/object/%']) {
      const reply = await app.inject(url)
      expect([reply.statusCode, reply.json().type]).toEqual([400, 'MalformedUrl'])
    }
    expect((await app.inject('/v1/schema/Shop%2EGadget')).statusCode).toBe(200)
    expect((await app.inject('/v1/schema/%31000000')).statusCode).toBe(200)
    expect((await app.inject('/v1/schema/namespace/%53hop')).statusCode).toBe(200)
    expect((await app.inject('/v1/schema/Shop%2FGadget')).json().type).toBe('ClassNotFound')
  })

  it('answers OPTIONS and wrong methods with what each path of the table allows', async () => {
    const { app } = await openServer()
    for (const path of new Set(operations.map((operation) => operation.path))) {
      const has = new Set<string>(operations.filter((operation) => operation.path === path).map(({ method }) => method))
      if (has.has('GET')) has.add('HEAD')
      const url = path.replace(/:\w+/g, 'x')
      const options = await app.inject({ method: 'OPTIONS', url })
      expect(options.statusCode).toBe(204)
      expect(new Set(String(options.headers.allow).split(', '))).toEqual(new Set([...has, 'OPTIONS']))
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'] as const) {
        if (has.has(method)) continue
        const reply = await app.inject({ method, url, payload: '{' })
        expect([method, url, reply.statusCode, reply.headers.allow]).toEqual([method, url, 405, options.headers.allow])
        expect(reply.json().type).toBe('MethodNotAllowed')
      }
    }
  })

  it('answers HEAD as GET without the body', async () => {
    const { app } = await openServer()
    await defineGadget(app)
    const payload = { class: 'Shop.Gadget', attributes: {} }
    const { uri } = (await app.inject({ method: 'POST', url: '/v1/object', payload })).json()
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    for (const url of ['/', '/v1', '/v1/schema', uri, '/v1/object/9-9-9-9', '/v1/index/none']) {
      const get = await fetch(`${address}${url}`, { headers: { 'accept-encoding': 'identity' } })
      const head = await fetch(`${address}${url}`, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } })
      expect([head.status, await head.text()]).toEqual([get.status, ''])
      expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'))
      if (url !== '/') expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
      await get.text()
    }
  })
})
