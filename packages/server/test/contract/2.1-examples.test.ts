/** The examples of the OpenAPI document, sent to a new server as the reference page offers them. */
import { expect } from 'vitest'
import { operationExamples } from '../../src/openapi/operation-examples.ts'
import { operations } from '../../src/operations/table.ts'
import { basic, openSecureServer, passwordOf } from '../unit/open-secure-server.ts'
import { rule } from './rule.ts'

/** What the examples name and a new server does not have: webhooks, dead letters, a running statement, a token, the password, an audit log. */
const needsMore =
  /^(POST .*\/shutdown$|POST \/shutdown|.* \/v1\/webhook\/|DELETE \/v1\/(statement|security\/(token|session))|(POST|GET) \/v1\/security\/session|PUT \/v1\/security\/password|GET \/v1\/security\/audit)/

rule('2.1.9', 'the example of each operation works on a new server, classes first and deletions last', async () => {
  const { app } = await openSecureServer()
  const authorization = basic('admin', passwordOf('admin'))
  const first = operations.filter(({ method, path }) => method === 'PUT' && path === '/v1/schema')
  const deletions = operations.filter(({ method }) => method === 'DELETE').reverse()
  const others = operations.filter((operation) => !first.includes(operation) && !deletions.includes(operation))
  let sent = 0
  for (const { method, path, status } of [...first, ...others, ...deletions]) {
    const name = `${method} ${path}`
    if (needsMore.test(name)) continue
    const example = operationExamples[name]
    const url = path.replace(/:(\w+)/g, (_, parameter) => example?.path?.[parameter] ?? '')
    const bodies = [['application/json', example?.body], ...Object.entries(example?.otherBodies ?? {})] as const
    for (const [type, payload] of bodies) {
      const headers = { authorization, ...(payload !== undefined && { 'content-type': type }) }
      const reply = await app.inject({
        method,
        url,
        headers,
        ...(payload !== undefined && { payload: payload as object }),
      })
      const expected = type === 'application/x-ndjson' ? 200 : status
      expect([name, type, reply.statusCode, reply.statusCode < 400 ? '' : reply.body]).toEqual([
        name,
        type,
        expected,
        '',
      ])
      sent++
    }
  }
  expect(sent).toBeGreaterThan(35)
})
