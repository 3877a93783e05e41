/** A store that an early build has made: `ashlar serve` names the command that brings it over, and that command does. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { expect, it } from 'vitest'
import { fixture } from '../../../engine/test/format/fixture-files.ts'
import { start, temporaryDirectory } from '../../../server/test/executable/process.ts'

it('is refused with the command that copies it, and served once that is done', async () => {
  const [old, copy] = [temporaryDirectory(), join(temporaryDirectory(), 'new')]
  const { lmdb, content } = fixture('unversioned')
  writeFileSync(join(old, 'data.mdb'), lmdb)
  const refused = await start(['--port', '0', '--fd', `a=lmdb:${old}`]).ended
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  const command = /bring it over with: ashlar (copy lmdb:\S+) lmdb:<new directory>\n$/.exec(refused.stderr)?.[1] ?? ''
  const copied = await start([...command.split(' '), `lmdb:${copy}`]).ended
  expect(copied).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Copied .* compared, SHA-256 [0-9a-f]{64}\n$/),
  })
  const server = start(['--port', '0', '--fd', `a=lmdb:${copy}`])
  const client = new AshlarClient({ baseUrl: await server.url })
  for (const oid of ['3-3-1-2', '3-5-1-1', '3-7-1-1']) {
    expect(await client.readObject(oid)).toEqual(JSON.parse(content.objects[oid] as string))
  }
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})
