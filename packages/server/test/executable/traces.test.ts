/** Traces with a real SDK of OpenTelemetry, registered as docs/operations.md says. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startServer } from '../contract/server-under-test.ts'

const sdk = new URL('trace-to-file.mjs', import.meta.url)

it('a request is a span, part of the trace that its client names', async () => {
  const file = join(tmpdir(), `ashlar-traces-${process.pid}-${Date.now()}.ndjson`)
  onTestFinished(() => rmSync(file, { force: true }))
  const environment = { NODE_OPTIONS: `--import ${sdk.href}`, TRACE_FILE: file }
  const server = await startServer({ words: ['--fd', 'fleet'], environment })
  try {
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
    expect((await server.send('GET', '/v1/fd', { headers })).status).toBe(200)
    expect((await server.send('GET', '/v1/object/3-3-3-3')).status).toBe(404)
    let spans: Record<string, unknown>[] = []
    while (spans.length < 2) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      spans = linesOf(file)
    }
    expect(spans[0]).toMatchObject({
      name: 'GET /v1/fd',
      kind: 1,
      traceId,
      parent: 'b7ad6b7169203331',
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/v1/fd',
        'http.response.status_code': 200,
        'db.namespace': 'fleet',
      },
    })
    expect(spans[1]).toMatchObject({
      name: 'GET /v1/object/{oid}',
      attributes: { 'http.response.status_code': 404, 'error.type': 'ObjectNotFound' },
    })
    expect(spans[1]?.traceId).not.toBe(traceId)
    expect(spans[1]?.parent).toBeUndefined()
  } finally {
    await server.remove()
  }
})

it('what a request does has spans of its own: parse, plan, execute, commit', async () => {
  const file = join(tmpdir(), `ashlar-traces-${process.pid}-${Date.now()}-parts.ndjson`)
  onTestFinished(() => rmSync(file, { force: true }))
  const environment = { NODE_OPTIONS: `--import ${sdk.href}`, TRACE_FILE: file }
  // In a thread a statement has one span, and a slow machine makes any statement take longer than a slice.
  const config = `${file}.config.json`
  writeFileSync(config, JSON.stringify({ limits: { statementThreadsMax: 0 } }))
  onTestFinished(() => rmSync(config, { force: true }))
  const server = await startServer({ words: ['--fd', 'fleet', '--config', config], environment })
  try {
    const attributes = [{ attributeName: 'name', logicalType: 'string' }]
    await server.send('PUT', '/v1/schema', { body: [{ className: 'Car', isReferenceable: true, attributes }] })
    const large = { class: 'Car', attributes: { name: 'x'.repeat(200_000) } }
    const create = (body: object) => server.send('POST', '/v1/object', { body })
    expect((await create({ class: 'Car', attributes: { name: 'a' } })).status).toBe(201)
    expect((await create(large)).status).toBe(201)
    const query = (text: string) => server.send('POST', '/v1/query', { body: { query: text } })
    for (const text of [
      'FROM Car RETURN name',
      'FROM Car RETURN name',
      "CREATE Car {name: 'b'}",
      'FROM Car RETURN nme',
    ])
      await query(text)
    const partsOf = (): unknown[] => {
      const spans = linesOf(file)
      const requests = spans.filter(({ name }) => /^(POST|PUT) /.test(String(name)))
      return requests.map(({ name, spanId, traceId }) => {
        const parts = spans.filter(({ parent }) => parent === spanId)
        expect(parts.every((part) => part.traceId === traceId)).toBe(true)
        return [name, ...parts.map((part) => part.name)]
      })
    }
    await expect.poll(() => partsOf().length).toBe(7)
    expect(partsOf()).toEqual([
      ['PUT /v1/schema', expect.stringMatching('commit')],
      // With that of a page of OIDs, for the objects to come.
      ['POST /v1/object', 'commit', 'commit'],
      ['POST /v1/object', 'commit'],
      ['POST /v1/query', 'parse', 'plan', 'execute'],
      ['POST /v1/query', 'parse', 'execute'],
      ['POST /v1/query', 'parse', 'plan', 'commit', 'execute'],
      ['POST /v1/query', 'parse', 'plan', 'execute'],
    ])
    const failed = linesOf(file).filter(({ status }) => (status as { code: number }).code === 2)
    expect(failed.map(({ name, attributes }) => [name, (attributes as Record<string, unknown>)['error.type']])).toEqual(
      [
        ['plan', 'QueryError'],
        ['execute', 'QueryError'],
      ],
    )
  } finally {
    await server.remove()
  }
})

function linesOf(file: string): Record<string, unknown>[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
