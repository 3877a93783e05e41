/** The general rules of the interface, over HTTP. */
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
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

  rule('1.1.8', 'unknown paths, wrong methods, OPTIONS and HEAD', async () => {
    expectProblem(await server.get('/nope'), 404)
    expectProblem(await server.get('/v1/nope'), 404)
    const wrong = await server.delete('/v1/schema')
    expectProblem(wrong, 405, 'MethodNotAllowed')
    expect(wrong.headers.allow?.split(', ').sort()).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'])
    const options = await server.send('OPTIONS', '/v1/object/3-3-1-1')
    expect(options.status).toBe(204)
    expect(options.headers.allow?.split(', ').sort()).toEqual(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PUT'])
    const head = await server.send('HEAD', `/v1/schema${q}`)
    expect([head.status, head.text]).toEqual([200, ''])
  })

  rule('1.1.9', 'an unknown query parameter is refused by name', async () => {
    expect(expectProblem(await server.get(`/v1/schema${q}&limit=5`), 400, 'UnknownParameter')).toContain('limit')
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
    ]) {
      expect(expectProblem(reply, 400, 'UnknownField')).toContain('clasName')
    }
  })

  rule('1.2.10', 'bodies that cannot be read', async () => {
    const bodies = ['[', '{"a":1', 'nope', Buffer.from([0x5b, 0xff, 0x5d]), '', `${'['.repeat(65)}${']'.repeat(65)}`]
    for (const raw of bodies) {
      expectProblem(
        await server.send('PUT', `/v1/schema${q}`, { raw, headers: { 'content-type': 'application/json' } }),
        400,
      )
    }
    expectProblem(await server.send('POST', `/v1/object${q}`, { raw: '' }), 400)
    expectProblem(await server.send('POST', `/v1/object${q}`, { raw: '['.repeat(1_000_000) }), 400)
  })

  rule('1.2.11', 'bodies over the limit, compressed or not', async () => {
    const huge = Buffer.alloc(64 * 2 ** 20 + 1, 0x20)
    const packed = gzipSync(huge)
    const headers = { 'content-encoding': 'gzip' }
    expectProblem(await server.send('PUT', `/v1/schema${q}`, { raw: packed, headers }), 413)
    const reply = await server
      .send('PUT', `/v1/schema${q}`, { raw: huge })
      .catch((error: NodeJS.ErrnoException) => error.code)
    // The server may hang up before all is sent.
    if (typeof reply === 'object') expectProblem(reply, 413)
    else expect(['EPIPE', 'ECONNRESET']).toContain(reply)
  })

  rule('1.2.12', 'compression both ways', async () => {
    await server.put(`/v1/schema${q}`, schemaOf(...Array.from({ length: 20 }, (_, i) => `Many${i}`)))
    const plain = await server.get(`/v1/schema${q}`)
    const gzip = await server.send('GET', `/v1/schema${q}`, { headers: { 'accept-encoding': 'gzip' } })
    expect(gzip.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(gzip.bytes).toString()).toBe(plain.text)
    const br = await server.send('GET', `/v1/schema${q}`, { headers: { 'accept-encoding': 'br' } })
    expect(brotliDecompressSync(br.bytes).toString()).toBe(plain.text)
    const raw = gzipSync(JSON.stringify(schemaOf('Packed')))
    expect((await server.send('PUT', `/v1/schema${q}`, { raw, headers: { 'content-encoding': 'gzip' } })).status).toBe(
      201,
    )
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
})

describe('errors', () => {
  rule(['1.4.1', '1.4.5'], 'one body, naming class, attribute, value and near names', async () => {
    const reply = await server.post(`/v1/object${q}`, { class: 'Thing', attributes: { n: 'many' } })
    const message = expectProblem(reply, 400, 'MalformedValue')
    for (const word of ['Thing', 'n', 'many']) expect(message).toContain(word)
    expect(reply.json.errors).toEqual([{ pointer: '/attributes/n', message: expect.any(String) }])
    expect(Object.keys(reply.json)).toEqual(['type', 'title', 'status', 'message', 'errors'])
    expect(expectProblem(await server.post(`/v1/object${q}`, { class: 'Thign' }), 422, 'UnknownClass')).toContain(
      'Thing',
    )
  })

  rule('1.4.2', 'problem+json where it is asked for', async () => {
    const headers = { accept: 'application/problem+json, application/json' }
    const reply = await server.send('GET', `/v1/schema/Nope${q}`, { headers })
    expect(reply.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect((await server.get(`/v1/schema/Nope${q}`)).headers['content-type']).toMatch(/^application\/json/)
  })

  rule('1.4.3', 'what the URL names is 404, what the body names 422, what is stored 409', async () => {
    expectProblem(await server.get(`/v1/schema/Nope${q}`), 404, 'ClassNotFound')
    expectProblem(await server.post(`/v1/object${q}`, { class: 'Nope' }), 422, 'UnknownClass')
    expectProblem(await server.post(`/v1/schema${q}`, [thing]), 409, 'ClassExists')
    expectProblem(await server.post(`/v1/schema${q}`, {}), 400, 'MalformedRequest')
  })

  rule('1.4.4', 'a failed request changes nothing', async () => {
    const before = (await server.get(`/v1/schema${q}`)).text
    const bad = { ...thing, className: 'Late', attributes: [{ attributeName: 'x', logicalType: 'nope' }] }
    expectProblem(await server.put(`/v1/schema${q}`, [...schemaOf('Early'), bad]), 422)
    expect((await server.get(`/v1/schema${q}`)).text).toBe(before)
    const made = await server.post(`/v1/object${q}`, { class: 'Thing', attributes: { n: 1 } })
    expectProblem(await server.put(`${made.json.uri}${q}`, { attributes: { n: 2, nope: 1 } }), 422)
    expect((await server.get(`${made.json.uri}${q}`)).json.n).toBe(1)
  })
})
