/** Traces with a real SDK of OpenTelemetry, registered as docs/operations.md says. */
import { readFileSync, rmSync } from 'node:fs'
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

function linesOf(file: string): Record<string, unknown>[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
