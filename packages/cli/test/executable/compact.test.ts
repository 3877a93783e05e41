/** `ashlar compact`: beside a server of several workers, which answers everything meanwhile. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { rule } from '../../../server/test/contract/rule.ts'
import { start, temporaryDirectory } from '../../../server/test/executable/process.ts'

type Loose = ReturnType<typeof JSON.parse>

rule(
  '8.1.18',
  'workers answer every request while their store is compacted, and see what each other has changed',
  async () => {
    // On Windows a file that is open cannot be replaced.
    if (process.platform === 'win32') return
    const directory = temporaryDirectory()
    const server = start(['--port', '0', '--workers', '2', '--log-level', 'silent'], {}, directory)
    const url = await server.url
    const ask = async (method: string, path: string, body?: unknown): Promise<{ status: number; json: Loose }> => {
      const sent = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      // A connection of its own each: they go to the workers in turn.
      const headers = { 'content-type': 'application/json', connection: 'close' }
      const reply = await fetch(`${url}${path}`, { ...sent, headers })
      const text = await reply.text()
      return { status: reply.status, json: text === '' ? undefined : JSON.parse(text) }
    }
    const attributes = [
      { attributeName: 'text', logicalType: 'string' },
      { attributeName: 'count', logicalType: 'integer' },
    ]
    await ask('PUT', '/v1/schema', [{ className: 'Note', isReferenceable: true, attributes }])
    const { json } = await ask('POST', '/v1/object', { class: 'Note', attributes: { text: 'kept', count: 0 } })
    for (let round = 0; round < 3; round++)
      await ask('POST', '/v1/object', { class: 'Note', attributes: { text: 'x'.repeat(400_000), count: -1 } })
    await ask('POST', '/v1/query', { query: 'DELETE Note WHERE count = -1' })
    const data = join(directory, 'data', 'default', 'data.mdb')
    const before = statSync(data).size
    const compacted = start(['compact', 'lmdb:data/default'], {}, directory)
    const ended = { isSo: false }
    void compacted.ended.then(() => {
      ended.isSo = true
    })
    let count = 0
    for (; !ended.isSo || count < 20; count++) {
      const change = await ask('PUT', json.uri, { attributes: { count: count + 1 } })
      expect(change.status, JSON.stringify(change.json)).toBe(204)
      for (const _ of [1, 2]) expect((await ask('GET', json.uri)).json.count).toBe(count + 1)
      expect((await ask('GET', '/health/ready')).status).toBe(200)
    }
    const { code, stdout, stderr } = await compacted.ended
    expect(stderr).toBe('')
    expect(stdout).toMatch(
      /^Compacted lmdb:data\/default: [\d,]+ → [\d,]+ bytes, \d+ entries; commits waited for \d+ ms while/,
    )
    expect(code).toBe(0)
    expect(statSync(data).size).toBeLessThan(before)
    const rows = await ask('POST', '/v1/query', { query: 'FROM Note RETURN text, count' })
    expect(rows.json).toEqual([{ text: 'kept', count }])
  },
)

rule('8.1.18', 'of a store on PostgreSQL the command says in a sentence what does it there', async () => {
  const { code, stderr } = await start(['compact', 'postgres://db.example/production']).ended
  expect(code).toBe(1)
  expect(stderr).toMatch(/^ashlar: PostgreSQL uses the space .*VACUUM FULL .*docs\/postgresql\.md#space\.\n$/)
})
