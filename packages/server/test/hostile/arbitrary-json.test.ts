/** Arbitrary JSON to every operation: a 2xx or 4xx with a clear body, never a fault, and a failed request changes nothing. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { problemEntry, problemTypes } from '../../src/errors/server-errors.ts'
import { operations } from '../../src/operations/table.ts'
import { defineGadget, openServer, type TestServer } from '../unit/open-server.ts'

const runs = Number(process.env.ASHLAR_RUNS ?? 1)

const oddNames = fc.constantFrom(
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  '.',
  '..',
  '\u0000',
  '\ud800',
)
const knownNames = fc.constantFrom(
  ...['class', 'attributes', 'className', 'classNumber', 'isReferenceable', 'superClass', 'attributeName'],
  ...['logicalType', 'encoding', 'storage', 'fixedLength', 'referencedClass', 'inverseAttribute', 'collectionTypeName'],
  ...['elementSpecification', 'keySpecification', 'name', 'indexedClass', 'isUnique', 'keyAttributes'],
  ...['keyedAttributes', 'properties', 'maxStoredStringLength', 'size', 'isNew', 'action', 'pairs', 'elements'],
  ...['query', 'language', 'parameters', 'more', 'classRename', 'attributesToDelete', 'attributesToRename'],
  ...['attributesToChange', 'attributesToAdd', 'originalName', 'newName', 'method', 'uri', 'body', 'result', 'id'],
  ...['tool', 'flags', 'unique'],
)
const knownWords = fc.constantFrom(
  ...['Shop.Gadget', 'Gadget', '1000000', '0-0-0-0', '3-3-1-1', 'true', '24', 'string', 'integer', 'reference', 'list'],
  ...['set', 'map', 'object', 'TreeSetOfReferences', 'NameToReferenceMap', 'utf8', 'b32', 'variable', 'name', 'size'],
  ...['keep', 'dispose', 'post', '/v1/object', '/v1/query', 'Verify', 'DropIndex', 'byTool'],
  ...['do', 'SHOW 1', 'FROM Shop.Gadget RETURN *', 'SHOW CLASSES;'],
)
/** What stands for numbers that a double does not hold, which JSON.stringify cannot write. */
const exactNumbers = new Map([
  ['#whole', '12345678901234567890'],
  ['#tiny', '1e-400'],
  ['#nearOne', '1.00000000000000000001'],
])
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, -1, 24, 1.5, 1e300, -0, ...exactNumbers.keys()),
    knownWords,
    fc.string({ unit: 'binary' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(fc.oneof({ arbitrary: knownNames, weight: 9 }, oddNames, fc.string()), tie('value')), {
        maxLength: 6,
      })
      .map(toObject),
  ),
})).value

/** With `__proto__` as an ordinary field. */
function toObject(fields: readonly (readonly [string, unknown])[]): object {
  const object = {}
  for (const [name, value] of fields) {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return object
}

/** What is near to right: a good request with one part replaced. */
function mutated(good: unknown): fc.Arbitrary<unknown> {
  const places = placesIn(good)
  return fc.tuple(fc.nat(places.length - 1), json).map(([place, value]) => replaceAt(good, places[place] ?? [], value))
}

function placesIn(value: unknown): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [[]]
  return [[], ...Object.entries(value).flatMap(([name, part]) => placesIn(part).map((path) => [name, ...path]))]
}

function replaceAt(value: unknown, path: readonly (string | number)[], replacement: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return replacement
  if (Array.isArray(value))
    return value.map((part, i) => (String(i) === step ? replaceAt(part, rest, replacement) : part))
  const parts = Object.entries(value as object)
  return toObject(parts.map(([name, part]) => [name, name === step ? replaceAt(part, rest, replacement) : part]))
}

const goodBodies: Readonly<Record<string, unknown>> = {
  'POST /v1/object': { class: 'Shop.Gadget', attributes: { name: 'x', size: 5, isNew: true } },
  'PUT /v1/object/:oid': { attributes: { name: 'x', size: '5', isNew: 'false' } },
  'POST /v1/index': {
    name: 'byName',
    indexedClass: 'Shop.Gadget',
    isUnique: false,
    keyAttributes: [{ attributeName: 'name', properties: { maxStoredStringLength: 24 } }],
  },
  'POST /v1/query': {
    query: 'FROM Shop.Gadget WHERE name = $name RETURN size + $more',
    language: 'do',
    parameters: { name: 'kept', more: 1 },
  },
  'PUT /v1/schema/:class': {
    attributesToRename: [{ originalName: 'name', newName: 'title' }],
    attributesToChange: [{ attributeName: 'size', logicalType: 'string', encoding: 'utf8' }],
    attributesToAdd: [{ attributeName: 'more', logicalType: 'real' }],
  },
  'POST /v1/transaction': [
    { method: 'post', uri: '/v1/object', body: { class: 'Shop.Gadget', attributes: { name: 'y' } }, id: 'made' },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how a transaction names an object.
    { method: 'PUT', uri: '/v1/object/${made}', body: { attributes: { size: 7 } }, result: 'dispose' },
    { method: 'get', uri: '/v1/schema/Shop.Gadget' },
  ],
  'POST /v1/tool': {
    tool: 'AddIndex',
    flags: { name: 'byTool', class: 'Shop.Gadget', attributes: 'name', unique: 'no' },
  },
  'PUT /v1/schema': schemaBody(),
  'POST /v1/schema': schemaBody(),
  // Without authentication there is nothing behind these.
  'POST /v1/security/session': { name: 'admin', password: 'a password' },
  'PUT /v1/security/password': { currentPassword: 'a password', newPassword: 'another one' },
  'POST /v1/security/user': { name: 'bob', password: 'a password', roles: ['reader'] },
  'PUT /v1/security/user/:name': { password: 'a password', roles: ['reader'], isDisabled: true },
  'POST /v1/security/token': { name: 'a', owner: 'bob', roles: ['reader'], expiresAt: '2100-01-01T00:00:00Z' },
  'POST /v1/security/role': { name: 'auditor', actions: ['read'] },
  'PUT /v1/security/role/:name': {
    actions: ['read'],
    grants: [{ on: { kind: 'class', className: 'Shop.Gadget' }, actions: ['read'], rules: { read: 'size = 5' } }],
  },
}

function schemaBody(): unknown {
  return [
    {
      className: 'Shop.Part',
      isReferenceable: true,
      superClass: null,
      attributes: [
        { attributeName: 'code', logicalType: 'string', encoding: 'utf8', storage: 'fixed', fixedLength: 4 },
        {
          attributeName: 'of',
          logicalType: 'list',
          elementSpecification: { logicalType: 'reference', referencedClass: 'Shop.Gadget' },
        },
      ],
    },
  ]
}

async function ask(app: TestServer, method: string, url: string, payload: unknown): Promise<number> {
  const reply = await app.inject({
    method: method as 'POST',
    url,
    headers: { 'content-type': 'application/json' },
    payload: (JSON.stringify(payload) ?? '').replace(
      /"(#[a-zA-Z]+)"(?!:)/g,
      (text, name) => exactNumbers.get(name) ?? text,
    ),
  })
  if (reply.statusCode >= 300) {
    const problem = reply.json()
    expect(problem).toMatchObject({ status: reply.statusCode, message: expect.any(String) })
    expect(problemTypes).toContain(problem.type)
    expect(problemEntry(problem.type).status).toBe(reply.statusCode)
    expect(problem.message.length).toBeGreaterThan(0)
    expect(problem.message.length).toBeLessThan(1_000)
    expect(reply.body).not.toMatch(/\.ts:|\.js:|node_modules|\[object Object\]|assertion failed/)
  }
  return reply.statusCode
}

/** All that can be read of the federated database. */
async function contents(app: TestServer, oid: string): Promise<string> {
  const urls = ['/v1/schema', '/v1/index', '/v1/schema/namespace', `/v1/object/${oid}`]
  return (await Promise.all(urls.map(async (url) => (await app.inject(url)).body))).join('\n')
}

describe.each(operations.filter(({ body }) => body !== undefined))('$method $path', ({ method, path }) => {
  it.each(['arbitrary JSON', 'a good body with one part replaced'])('takes %s without a fault', async (kind) => {
    const good = goodBodies[`${method} ${path}`]
    expect(good).toBeDefined()
    // As long as every request is refused, the server is as good as new: `before` says so.
    let fresh = await openGadgetServer()
    await fc.assert(
      fc.asyncProperty(fc.array(kind === 'arbitrary JSON' ? json : mutated(good), { maxLength: 8 }), async (bodies) => {
        const { app, oid, close } = fresh
        let isAsNew = false
        let before = await contents(app, oid)
        try {
          let taken = 0
          for (const body of bodies) {
            const status = await ask(app, method, path.replace(':oid', oid).replace(':class', 'Shop.Gadget'), body)
            expect(status).toBeLessThan(500)
            const after = await contents(app, oid)
            if (status >= 300) expect(after).toBe(before)
            else taken++
            before = after
          }
          isAsNew = taken === 0
        } finally {
          if (!isAsNew) {
            await close()
            fresh = await openGadgetServer()
          }
        }
      }),
      { numRuns: 20 * runs },
    )
  })
})

describe('arbitrary text in the place of each parameter', () => {
  it('is answered by 200, 400 or 404', async () => {
    const { app, close } = await openGadgetServer()
    await fc.assert(
      fc.asyncProperty(fc.oneof(knownWords, oddNames, fc.string({ unit: 'binary', maxLength: 300 })), async (text) => {
        // A lone surrogate cannot be part of a URL.
        const word = encodeURIComponent(text.toWellFormed())
        for (const { method, path } of operations) {
          if (!path.includes(':') || method === 'DELETE') continue
          const status = await ask(app, method, path.replace(/:\w+/, word), { attributes: {} })
          expect([200, 204, 400, 404, 405]).toContain(path.includes('/security/') && status === 409 ? 400 : status)
        }
        expect([400, 404]).toContain(await ask(app, 'GET', `/v1/schema?fdAlias=${word}`, undefined))
      }),
      { numRuns: 200 * runs },
    )
    await close()
  })
})

describe('arbitrary bytes as a body', () => {
  it('are refused, or taken as JSON', async () => {
    const { app, close } = await openGadgetServer()
    const encodings = fc.constantFrom(undefined, 'gzip', 'br', 'deflate', 'identity', 'x')
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), encodings, async (bytes, encoding) => {
        const headers = encoding === undefined ? {} : { 'content-encoding': encoding }
        const payload = Buffer.from(bytes)
        const reply = await app.inject({ method: 'POST', url: '/v1/object', headers, payload })
        expect([400, 415, 422]).toContain(reply.statusCode)
      }),
      { numRuns: 300 * runs },
    )
    await close()
  })
})

async function openGadgetServer(): Promise<{ app: TestServer; oid: string; close: () => Promise<void> }> {
  const { app, close } = await openServer()
  await defineGadget(app)
  const payload = { class: 'Shop.Gadget', attributes: { name: 'kept' } }
  const oid = (await app.inject({ method: 'POST', url: '/v1/object', payload })).json().__identifier__
  return { app, oid, close }
}
