/** Arbitrary requests to every route: never a fault of the server, and no secret in a reply or in the log. `npm run fuzz` is the long run. */
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { operations } from '../../src/operations/table.ts'
import { Authenticator, unauthenticated } from '../../src/security/authenticator.ts'
import { makeCaller } from '../../src/security/caller.ts'
import { openServer } from '../unit/open-server.ts'

const requests = Number(process.env.ASHLAR_FUZZ ?? 10_000)
/** After which no further server is begun. */
const minutesMax = Number(process.env.ASHLAR_FUZZ_MINUTES ?? Number.NaN) || Number.POSITIVE_INFINITY
/** Requests of one server: what they have created is thrown away with it. */
const requestsPerServer = 10_000
const secret = `s3cret${randomBytes(12).toString('hex')}`

const segment = fc.oneof(
  fc.constantFrom(
    '1-1-1-1',
    '3-3-1-1',
    'Shop.Gadget',
    'ooObj',
    '0-0-0-0',
    '',
    '.',
    '..',
    '%00',
    '%ff',
    '%2e%2e',
    '__proto__',
    'constructor',
  ),
  fc.string({ maxLength: 20 }).map(encodeURIComponent),
)
const query = fc.oneof(
  fc.constant(''),
  fc.constantFrom(
    '?fdAlias=default',
    '?fdAlias=none',
    '?dryRun=true',
    '?limit=1',
    '?before=x',
    '?a=1&a=2',
    '?%',
    '?__proto__=1',
  ),
)
const headerValue = fc.oneof(
  fc.constantFrom(
    'application/json',
    'text/plain',
    'text/html',
    '*/*',
    'gzip',
    'br',
    'chunked',
    '"x"',
    '*',
    'localhost',
    'evil.example',
    'null',
    '-1',
    '99999999999999',
  ),
  fc.string({ maxLength: 30 }).map((text) => text.replace(/[^\x20-\x7e]/g, 'x')),
)
const headerName = fc.constantFrom(
  'accept',
  'content-type',
  'content-encoding',
  'accept-encoding',
  'if-match',
  'if-none-match',
  'prefer',
  'idempotency-key',
  'origin',
  'sec-fetch-site',
  'host',
  'x-request-id',
  'traceparent',
  'expect',
  'range',
  'x-forwarded-for',
  'x-http-method-override',
  'x-no-compression',
)
const authorization = fc.oneof(
  fc.constant(`Bearer ${secret}`),
  fc.constantFrom('Bearer right', 'Bearer some'),
  fc.constantFrom('Bearer', 'Basic', 'Basic !!!!', 'Bearer ash_', 'Bearer a.b.c', 'Negotiate x', 'Basic Og=='),
  fc.string({ maxLength: 60 }).map((text) => `Basic ${Buffer.from(`${text}:${secret}`).toString('base64')}`),
)
const cookie = fc.oneof(
  fc.constant(`__Host-ashlar=${secret}`),
  fc.constantFrom('ashlar=', ';;;', 'a=b; a=b', '='.repeat(100)),
)
const statement = fc.constantFrom(
  'FROM Shop.Gadget RETURN name',
  'RETURN',
  'DELETE ooObj',
  'UPDATE Shop.Gadget SET size TO 1',
  'MATCH (a)-[*1..3]->(b) RETURN a',
  `FROM Shop.Gadget WHERE name = '${secret}'`,
)
const body = fc.oneof(
  fc.constant(undefined),
  fc.json({ maxDepth: 3 }),
  statement,
  statement.map((text) => JSON.stringify({ query: text })),
  fc.constant(JSON.stringify({ class: 'Shop.Gadget', attributes: { name: secret, size: 1, isNew: true } })),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
)
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'] as const
const paths = [
  ...new Set(operations.map(({ path }) => path)),
  '/openapi.json',
  '/docs/',
  '/health/ready',
  '/health/live',
  '/nothing',
]

const request = fc.record({
  method: fc.constantFrom(...methods),
  path: fc.constantFrom(...paths),
  segments: fc.array(segment, { minLength: 3, maxLength: 3 }),
  query,
  headers: fc.dictionary(headerName, headerValue, { maxKeys: 4 }),
  authorization: fc.option(authorization, { nil: undefined }),
  cookie: fc.option(cookie, { nil: undefined }),
  body,
})

const admin = makeCaller({
  kind: 'token',
  name: 'ann',
  identity: 'token:t1',
  grants: [{ role: 'admin', aliases: undefined }],
  claims: {},
  credential: { kind: 'token', id: 't1' },
  expiresAtMs: Number.POSITIVE_INFINITY,
})

/** Who sees some of the objects without one attribute, and changes some. */
const clerk = makeCaller({
  kind: 'token',
  name: 'bob',
  identity: 'token:t2',
  grants: [{ role: 'clerk', aliases: undefined }],
  customRoles: new Map([
    [
      'clerk',
      {
        actions: [],
        grants: [
          {
            on: { kind: 'class', className: 'Shop.Gadget' },
            actions: ['read', 'query', 'create', 'update', 'delete', 'define', 'index'],
            hidden: ['size'],
            readOnly: ['isNew'],
            rules: { read: `name != '${secret}'`, update: 'name != $$USER.name' },
          },
        ],
      },
    ],
  ]),
  claims: {},
  credential: { kind: 'token', id: 't2' },
  expiresAtMs: Number.POSITIVE_INFINITY,
})

const authenticator = new Authenticator([
  {
    async authenticate(asked) {
      if (asked.headers.authorization === 'Bearer right') return admin
      if (asked.headers.authorization === 'Bearer some') return clerk
      if (asked.headers.authorization === undefined) return undefined
      throw unauthenticated(asked, 'The token is not valid.')
    },
  },
])

type Asked = typeof request extends fc.Arbitrary<infer T> ? T : never

function headersOf({ headers, authorization: given, cookie: sent, body: payload }: Asked): Record<string, string> {
  return {
    ...headers,
    ...(given === undefined ? {} : { authorization: given }),
    ...(sent === undefined ? {} : { cookie: sent }),
    ...(payload === undefined || 'content-type' in headers ? {} : { 'content-type': 'application/json' }),
  }
}

function urlOf({ path, segments, query: search }: Asked): string {
  let i = 0
  return `${path.replace(/:\w+/g, () => segments[i++] ?? '')}${search}`
}

it(`${requests} arbitrary requests: no 500, and no secret in a reply or in the log`, {
  timeout: requests * 20 + 60_000,
}, async () => {
  const startedAtMs = performance.now()
  let sent = 0
  while (sent < requests && performance.now() - startedAtMs < minutesMax * 60_000) {
    const lines: string[] = []
    const { app, close } = await openServer({ authenticator, onLog: (line) => lines.push(line) })
    const headers = { authorization: 'Bearer right' }
    const attributes = [{ attributeName: 'name', logicalType: 'string' }]
    const payload = [{ className: 'Shop.Gadget', isReferenceable: true, attributes }]
    expect((await app.inject({ method: 'PUT', url: '/v1/schema', payload, headers })).statusCode).toBe(201)
    const property = fc.asyncProperty(request, async (asked) => {
      const reply = await app.inject({
        method: asked.method,
        url: urlOf(asked),
        headers: headersOf(asked),
        ...(asked.body === undefined ? {} : { payload: asked.body }),
      })
      expect(reply.statusCode, reply.body).not.toBe(500)
      // The reply to what a caller reads or writes may hold it; what a credential was may not.
      if (asked.authorization !== 'Bearer right' && asked.authorization !== 'Bearer some')
        expect(reply.body).not.toContain(secret)
      expect(JSON.stringify(reply.headers)).not.toContain(secret)
    })
    await fc.assert(property, { numRuns: Math.min(requests - sent, requestsPerServer) })
    sent += Math.min(requests - sent, requestsPerServer)
    expect(lines.filter((line) => line.includes(secret))).toEqual([])
    expect(lines.filter((line) => line.includes('"level":50'))).toEqual([])
    await close()
  }
  if (requests > requestsPerServer)
    console.log(`${sent} requests in ${Math.round((performance.now() - startedAtMs) / 1_000)} s`)
})
