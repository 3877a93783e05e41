/** The general rules of the interface, over HTTP. */
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
const q = '?fdAlias=one'
const thing = {
  className: 'Thing',
  isReferenceable: true,
  attributes: [{ attributeName: 'n', logicalType: 'integer' }],
}
const schemaOf = (...names: string[]) => names.map((className) => ({ ...thing, className }))

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'one', '--fd', 'two', '--fd', 'three'] })
  await server.put(`/v1/schema${q}`, [thing])
})
afterAll(() => server.remove())

describe('addresses', () => {
  rule(['1.1.1', '1.2.1'], 'data is served below /v1, as JSON', async () => {
    const reply = await server.get(`/v1/schema${q}`)
    expect(reply.status).toBe(200)
    expect(reply.headers['content-type']).toMatch(/^application\/json/)
    expect(reply.json[0].className).toBe('Thing')
  })

  rule('1.1.2', 'a slash at the end makes no difference', async () => {
    expect((await server.get(`/v1/schema/${q}`)).text).toBe((await server.get(`/v1/schema${q}`)).text)
    expect((await server.get('/v1/')).status).toBe(200)
  })

  rule(['1.1.3', '1.1.7'], 'fdAlias names the FD, and FDs are separate', async () => {
    expect((await server.get('/v1/schema/Thing?fdAlias=one')).status).toBe(200)
    expectProblem(await server.get('/v1/schema/Thing?fdAlias=two'), 404, 'ClassNotFound')
    const there = await server.post('/v1/object?fdAlias=one', { class: 'Thing', attributes: { n: 1 } })
    expectProblem(await server.get(`/v1/object/${there.json.__identifier__}?fdAlias=two`), 404, 'ObjectNotFound')
  })

  rule(['1.1.4', '1.1.5'], 'no alias, unknown, empty and repeated ones', async () => {
    expectProblem(await server.get('/v1/schema'), 400, 'FederatedDatabaseRequired')
    expectProblem(await server.get('/v1/schema?fdAlias=nope'), 404, 'FederatedDatabaseNotFound')
    expectProblem(await server.get('/v1/schema?fdAlias='), 400)
    expectProblem(await server.get('/v1/schema?fdAlias=one&fdAlias=one'), 400)
  })

  rule('1.1.6', 'the service itself ignores fdAlias', async () => {
    for (const path of ['/?fdAlias=nope', '/v1?fdAlias=nope']) expect((await server.get(path)).status).toBe(200)
  })

  rule('1.1.8', 'unknown paths', async () => {
    for (const path of [
      '/nope',
      '/v1/nope',
      '/v1/schema/Thing/attributes',
      '/v2',
      '//v1/schema',
      '/v1/object/3-3-1-1/x',
    ]) {
      expectProblem(await server.get(`${path}${q}`), 404, 'ResourceNotFound')
      expectProblem(await server.send('OPTIONS', path), 404, 'ResourceNotFound')
    }
  })

  rule(['1.1.11', '1.1.12', '1.1.13'], 'wrong methods, OPTIONS and HEAD', async () => {
    const wrong = await server.delete('/v1/schema')
    expectProblem(wrong, 405, 'MethodNotAllowed')
    expect(wrong.headers.allow?.split(', ').sort()).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'])
    for (const method of ['PATCH', 'DELETE', 'TRACE']) {
      const reply = await server.send(method, '/v1/index', {
        raw: '{broken',
        headers: { 'content-type': 'text/plain' },
      })
      expectProblem(reply, 405, 'MethodNotAllowed')
    }
    const options = await server.send('OPTIONS', '/v1/object/3-3-1-1')
    expect(options.status).toBe(204)
    expect(options.headers.allow?.split(', ').sort()).toEqual(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PUT'])
    const head = await server.send('HEAD', `/v1/schema${q}`)
    expect([head.status, head.text]).toEqual([200, ''])
    const { headers } = await server.get(`/v1/schema${q}`)
    expect([head.headers['content-type'], head.headers['content-length']]).toEqual([
      headers['content-type'],
      headers['content-length'],
    ])
    for (const path of [`/v1/object/9-9-9-9${q}`, `/v1/schema/Nope${q}`, '/nope']) {
      const missing = await server.send('HEAD', path)
      expect([missing.status, missing.text]).toEqual([404, ''])
    }
    expect((await server.send('HEAD', '/v1/object')).status).toBe(405)
  })

  rule('1.1.9', 'an unknown query parameter is refused by name', async () => {
    expect(expectProblem(await server.get(`/v1/schema${q}&limit=5`), 400, 'UnknownParameter')).toContain('limit')
    expectProblem(await server.get('/?fdalias=one'), 400, 'UnknownParameter')
    const made = await server.post(`/v1/object${q}`, { class: 'Thing' })
    expectProblem(await server.delete(`${made.json.uri}${q}&force=true`), 400, 'UnknownParameter')
    expectProblem(await server.put(`/v1/schema${q}&force=true`, schemaOf('Forced')), 400, 'UnknownParameter')
    expect((await server.get(`${made.json.uri}${q}`)).status).toBe(200)
    expectProblem(await server.get(`/v1/schema/Forced${q}`), 404)
  })

  rule('1.1.10', 'a path that cannot be decoded', async () => {
    expectProblem(await server.get(`/v1/schema/%zz${q}`), 400)
  })
})

describe('bodies', () => {
  rule('1.2.2', 'JSON under the content types that clients send', async () => {
    const types = [
      'application/json,Accept:application/json',
      'application/json; charset=utf-8',
      'APPLICATION/JSON',
      '',
    ]
    for (const [i, type] of types.entries()) {
      const reply = await server.send('PUT', `/v1/schema${q}`, {
        raw: JSON.stringify(schemaOf(`Typed${i}`)),
        headers: { 'content-type': type },
      })
      expect(reply.status, type).toBe(201)
    }
  })

  rule('1.2.3', 'a content type without a body does no harm', async () => {
    const headers = { 'content-type': 'application/json' }
    expect((await server.send('GET', `/v1/schema${q}`, { headers })).status).toBe(200)
    const made = await server.post(`/v1/object${q}`, { class: 'Thing' })
    expect((await server.send('DELETE', `${made.json.uri}${q}`, { headers })).status).toBe(204)
  })

  rule('1.2.4', 'other content types', async () => {
    for (const type of ['text/plain', 'application/xml', 'multipart/form-data']) {
      const reply = await server.send('PUT', `/v1/schema${q}`, { raw: '[]', headers: { 'content-type': type } })
      expectProblem(reply, 415, 'UnsupportedMediaType')
    }
  })

  rule('1.2.5', 'Accept', async () => {
    const status = async (accept: string) =>
      (await server.send('GET', `/v1/schema${q}`, { headers: { accept } })).status
    expect(await status('text/html')).toBe(406)
    expect(await status('application/json;q=0')).toBe(406)
    for (const accept of ['*/*', 'application/*', 'text/html, application/json;q=0.5', 'text/html,*/*;q=0.1']) {
      expect(await status(accept), accept).toBe(200)
    }
  })

  rule(['1.2.6', '1.2.7'], 'quoted numbers and booleans, and nothing else, are coerced', async () => {
    const good = await server.put(`/v1/schema${q}`, [{ ...thing, className: 'Quoted', isReferenceable: 'true' }])
    expect(good.status).toBe(201)
    expect((await server.post(`/v1/object${q}`, { class: 'Thing', attributes: { n: '150' } })).status).toBe(201)
    for (const isReferenceable of [null, '', 0, 'yes', 1]) {
      expectProblem(await server.put(`/v1/schema${q}`, [{ ...thing, className: 'Bad', isReferenceable }]), 400)
    }
    expectProblem(await server.put(`/v1/schema${q}`, [{ ...thing, className: 5 }]), 400)
    expectProblem(await server.post(`/v1/object${q}`, { class: 5 }), 400)
  })

  rule('1.2.8', 'type words in any case', async () => {
    const definition = { attributeName: 'n', logicalType: 'INTEGER', encoding: 'Unsigned', storage: 'B16' }
    await server.put(`/v1/schema${q}`, [{ className: 'Cased', isReferenceable: true, attributes: [definition] }])
    const { json } = await server.get(`/v1/schema/Cased${q}`)
    expect(json.attributes[0]).toEqual({
      attributeName: 'n',
      logicalType: 'integer',
      encoding: 'unsigned',
      storage: 'b16',
    })
  })

  rule('1.2.9', 'unknown fields are refused by name', async () => {
    for (const reply of [
      await server.put(`/v1/schema${q}`, [{ ...thing, clasName: 'x' }]),
      await server.put(`/v1/schema${q}`, [
        { ...thing, attributes: [{ attributeName: 'a', logicalType: 'integer', clasName: 1 }] },
      ]),
      await server.post(`/v1/object${q}`, { class: 'Thing', clasName: 1 }),
      await server.post(`/v1/index${q}`, {
        name: 'i',
        indexedClass: 'Thing',
        isUnique: true,
        keyAttributes: [],
        clasName: 1,
      }),
      await server.put(`/v1/schema${q}`, [
        { ...thing, attributes: [{ attributeName: 'l', logicalType: 'list', elementSpecification: { clasName: 1 } }] },
      ]),
      await server.post(`/v1/index${q}`, {
        name: 'i',
        indexedClass: 'Thing',
        isUnique: true,
        keyAttributes: [{ attributeName: 'n', properties: { clasName: 1 } }],
      }),
    ]) {
      expect(expectProblem(reply, 400, 'UnknownField')).toContain('clasName')
    }
  })

  rule('1.2.10', 'bodies that cannot be read', async () => {
    const bodies = ['[', '{"a":1', 'nope', "['a']", '[1,]', '[01]', '[1]x', Buffer.from([0x5b, 0xff, 0x5d])]
    for (const raw of bodies) {
      expectProblem(await server.send('PUT', `/v1/schema${q}`, { raw }), 400, 'MalformedRequest')
    }
  })

  rule('1.2.13', 'bodies that are missing', async () => {
    const made = await server.post(`/v1/object${q}`, { class: 'Thing' })
    for (const [method, path] of [
      ['PUT', '/v1/schema'],
      ['POST', '/v1/schema'],
      ['POST', '/v1/object'],
      ['PUT', made.json.uri],
      ['POST', '/v1/index'],
    ] as const) {
      expectProblem(await server.send(method, `${path}${q}`), 400)
      expectProblem(await server.send(method, `${path}${q}`, { raw: '' }), 400)
      expectProblem(await server.send(method, `${path}${q}`, { raw: ' \n' }), 400)
    }
  })

  rule('1.2.14', 'bodies nested too deep', async () => {
    for (const levels of [65, 1_000, 1_000_000]) {
      const objects = `${'{"attributes":'.repeat(levels)}1${'}'.repeat(levels)}`
      for (const raw of [`${'['.repeat(levels)}${']'.repeat(levels)}`, '['.repeat(levels), objects]) {
        expect(expectProblem(await server.send('POST', `/v1/object${q}`, { raw }), 400)).toContain('64')
      }
    }
    const within = await server.send('PUT', `/v1/schema${q}`, { raw: `${'['.repeat(64)}${']'.repeat(64)}` })
    expect(expectProblem(within, 400)).not.toContain('64')
  })

  rule('1.2.11', 'bodies over the limit, compressed or not', async () => {
    const huge = Buffer.alloc(64 * 2 ** 20 + 1, 0x20)
    const packed = gzipSync(huge)
    const headers = { 'content-encoding': 'gzip' }
    expectProblem(await server.send('PUT', `/v1/schema${q}`, { raw: packed, headers }), 413, 'BodyTooLarge')
    const reply = await server
      .send('PUT', `/v1/schema${q}`, { raw: huge })
      .catch((error: NodeJS.ErrnoException) => error.code)
    // The server may hang up before all is sent.
    if (typeof reply === 'object') expectProblem(reply, 413)
    else expect(['EPIPE', 'ECONNRESET']).toContain(reply)
  })

  rule(['1.2.12', '1.2.15'], 'compression both ways', async () => {
    await server.put(`/v1/schema${q}`, schemaOf(...Array.from({ length: 20 }, (_, i) => `Many${i}`)))
    const plain = await server.get(`/v1/schema${q}`)
    const gzip = await server.send('GET', `/v1/schema${q}`, { headers: { 'accept-encoding': 'gzip' } })
    expect(gzip.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(gzip.bytes).toString()).toBe(plain.text)
    const br = await server.send('GET', `/v1/schema${q}`, { headers: { 'accept-encoding': 'br' } })
    expect(brotliDecompressSync(br.bytes).toString()).toBe(plain.text)
    for (const [encoding, pack] of [
      ['gzip', gzipSync],
      ['br', brotliCompressSync],
    ] as const) {
      const raw = pack(JSON.stringify(schemaOf(`Packed${encoding}`)))
      const headers = { 'content-encoding': encoding }
      expect((await server.send('PUT', `/v1/schema${q}`, { raw, headers })).status, encoding).toBe(201)
      expect((await server.get(`/v1/schema/Packed${encoding}${q}`)).status).toBe(200)
    }
    const broken = await server.send('PUT', `/v1/schema${q}`, { raw: '[]', headers: { 'content-encoding': 'gzip' } })
    expectProblem(broken, 400)
    const unknown = await server.send('PUT', `/v1/schema${q}`, { raw: '[]', headers: { 'content-encoding': 'zip' } })
    expectProblem(unknown, 415)
  })
})

describe('names', () => {
  const put = (className: string, attributeName = 'a') =>
    server.put('/v1/schema?fdAlias=two', [
      { className, isReferenceable: true, attributes: [{ attributeName, logicalType: 'integer' }] },
    ])

  rule('1.3.1', 'class and attribute names', async () => {
    for (const name of ['1a', 'a-b', 'a b', 'ä', '__a', 'a..b', '.a', 'a.', 'x.__y']) {
      expectProblem(await put(name), 422, 'InvalidName')
    }
    for (const name of ['1a', 'a-b', '', '__a', 'a.b', 'a::b']) {
      const reply = await put('Fine', name)
      expectProblem(reply, name === '' ? 400 : 422)
    }
    expect((await server.get('/v1/schema?fdAlias=two')).json).toEqual([])
    expect((await put('_a.B_1.c2', '_x9')).status).toBe(201)
  })

  rule('1.3.2', 'namespaces, and how long a name may be', async () => {
    expect((await put(`Long.${'x'.repeat(250)}`)).status).toBe(201)
    expectProblem(await put(`Long.${'x'.repeat(251)}`), 422, 'InvalidName')
    expect((await server.get('/v1/schema/namespace/_a.B_1?fdAlias=two')).json.classes[0].className).toBe('_a.B_1.c2')
    expect((await server.get(`/v1/schema/${`Long.${'x'.repeat(250)}`}?fdAlias=two`)).status).toBe(200)
  })

  rule('1.3.3', 'no class called namespace', async () => {
    expectProblem(await put('namespace'), 422)
    expect((await put('space.namespace')).status).toBe(201)
  })

  rule('1.3.4', 'index names', async () => {
    const post = (name: string) =>
      server.post(`/v1/index${q}`, {
        name,
        indexedClass: 'Thing',
        isUnique: false,
        keyAttributes: [{ attributeName: 'n' }],
      })
    for (const name of ['1a', 'a b', '.a', '-a', 'ä', 'x'.repeat(129)])
      expectProblem(await post(name), 422, 'InvalidName')
    expect((await post('a.b-c_9')).status).toBe(201)
    expect((await server.get(`/v1/index/a.b-c_9${q}`)).status).toBe(200)
  })

  rule('1.3.5', 'names that JavaScript gives a meaning', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const raw = `{"class":"Thing","attributes":{"${name}":1}}`
      expectProblem(await server.send('POST', `/v1/object${q}`, { raw }), 422, 'UnknownAttribute')
      expectProblem(await server.get(`/v1/schema/${name}${q}`), 404)
      expectProblem(await server.get(`/v1/index/${name}${q}`), 404)
      expectProblem(await server.send('POST', `/v1/object${q}`, { raw: `{"class":"${name}"}` }), 422, 'UnknownClass')
    }
    expect((await put('Odd', 'constructor')).status).toBe(201)
    const made = await server.post('/v1/object?fdAlias=two', { class: 'Odd', attributes: { constructor: 7 } })
    expect((await server.get(`${made.json.uri}?fdAlias=two`)).json.constructor).toBe(7)
  })

  rule('1.3.6', 'a class by its number, wherever it is named', async () => {
    const at = (path: string) => `${path}?fdAlias=three`
    await server.put(at('/v1/schema'), [
      { className: 'N.A', isReferenceable: true, attributes: [{ attributeName: 'n', logicalType: 'integer' }] },
      { className: 'N.E', isReferenceable: false, attributes: [] },
    ])
    const attributes = [
      { attributeName: 'one', logicalType: 'reference', referencedClass: '1000000' },
      {
        attributeName: 'many',
        logicalType: 'list',
        elementSpecification: { logicalType: 'reference', referencedClass: '1000000' },
      },
      { attributeName: 'part', logicalType: 'object', class: '1000001' },
    ]
    const sub = { className: 'N.B', isReferenceable: true, superClass: '1000000', attributes }
    expect((await server.put(at('/v1/schema'), [sub])).json.classNumbers).toEqual(['1000002'])
    const read = (await server.get(at('/v1/schema/1000002'))).json
    expect(read).toMatchObject({ className: 'N.B', superClass: 'N.A' })
    expect(read.attributes[0].referencedClass).toBe('N.A')
    expect(read.attributes[1].elementSpecification.referencedClass).toBe('N.A')
    expect(read.attributes[2].class).toBe('N.E')
    const made = await server.post(at('/v1/object'), { class: '1000002', attributes: { n: 3 } })
    expect((await server.get(at(made.json.uri))).json).toMatchObject({ __class__: 'N.B', n: 3 })
    const keyAttributes = [{ attributeName: 'n' }]
    const index = { name: 'byNumber', indexedClass: '1000002', isUnique: false, keyAttributes }
    expect((await server.post(at('/v1/index'), index)).status).toBe(201)
    expect((await server.get(at('/v1/index/byNumber'))).json.indexedClass).toBe('N.B')
  })

  rule('1.3.7', 'names are told apart by case', async () => {
    expect((await put('Cased', 'name')).status).toBe(201)
    expect((await put('cased', 'Name')).status).toBe(201)
    const at = (path: string) => `${path}?fdAlias=two`
    expect((await server.get(at('/v1/schema/cased'))).json.attributes[0].attributeName).toBe('Name')
    expectProblem(await server.get(at('/v1/schema/CASED')), 404, 'ClassNotFound')
    expectProblem(
      await server.post(at('/v1/object'), { class: 'Cased', attributes: { Name: 1 } }),
      422,
      'UnknownAttribute',
    )
  })
})
