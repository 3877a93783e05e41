/** The program on PostgreSQL, as the documents print it: one line of configuration, many servers, copies there and back. */
import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { describe, expect, inject, it } from 'vitest'
import { start, temporaryDirectory } from '../../../server/test/executable/process.ts'

const gadget = {
  className: 'Gadget',
  isReferenceable: true,
  attributes: [{ attributeName: 'name', logicalType: 'string' }],
}
const byName = { name: 'byName', indexedClass: 'Gadget', isUnique: true, keyAttributes: [{ attributeName: 'name' }] }

function freshAddress(): string {
  return `${inject('postgres')}?schema=test_${randomBytes(8).toString('hex')}`
}

describe('on PostgreSQL', () => {
  it('many servers share a federated database, at once, by option, environment or file; the password is not printed', async () => {
    const address = freshAddress()
    const directory = temporaryDirectory()
    const file = join(directory, 'ashlar.json')
    const { password } = new URL(address)
    writeFileSync(
      file,
      JSON.stringify({ federatedDatabases: [{ alias: 'big', store: address.replace(`:${password}`, '') }] }),
    )
    const one = start(['--port', '0', '--fd', `big=${address}`])
    const other = start(['--port', '0', '--config', file], { PGPASSWORD: password })
    const [first, second] = [await one.url, await other.url].map((baseUrl) => new AshlarClient({ baseUrl }))
    await first!.defineClasses([gadget])
    await second!.createIndex(byName)
    const { __identifier__: oid } = await first!.createObject('Gadget', { name: 'shared' })
    expect(await second!.readObject(oid)).toMatchObject({ name: 'shared' })
    await expect(second!.createObject('Gadget', { name: 'shared' })).rejects.toMatchObject({ type: 'UniqueViolation' })
    for (const { child, ended } of [one, other]) {
      child.kill('SIGTERM')
      const { code, stdout, stderr } = await ended
      expect(code).toBe(0)
      expect(stdout).toContain('big (postgres postgres://127.0.0.1:')
      expect(stdout + stderr).not.toContain(password)
    }
  })

  it('a server that cannot reach its database says so in one line, without the password', async () => {
    const server = start(['--fd', 'big=postgres://ashlar:sesame@127.0.0.1:9/none?patienceMs=0'])
    const { code, stderr } = await server.ended
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^ashlar: The federated database big \(postgres:\/\/127\.0\.0\.1:9\/none\) cannot be opened: .*\n$/,
    )
    expect(stderr).not.toContain('sesame')
    server.url.catch(() => undefined)
  })

  it('ashlar copy moves a federated database there and back', async () => {
    const directory = temporaryDirectory()
    const address = freshAddress()
    const embedded = start(['--port', '0', '--data', directory])
    const before = new AshlarClient({ baseUrl: await embedded.url })
    await before.defineClasses([gadget])
    const { __identifier__: oid } = await before.createObject('Gadget', { name: 'moved' })
    embedded.child.kill('SIGTERM')
    await embedded.ended
    const places = [`lmdb:${join(directory, 'default')}`, address, `lmdb:${join(directory, 'again')}`]
    const checksums: (string | undefined)[] = []
    for (const [from, to] of [places.slice(0, 2), places.slice(1)] as [string, string][]) {
      const { code, stdout, stderr } = await start(['copy', from, to]).ended
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      checksums.push(
        /^Copied .* → .*: \d+ entries, [\d,]+ bytes, compared, SHA-256 ([0-9a-f]{64})\n$/.exec(stdout)?.[1],
      )
    }
    expect(checksums[0]).toBeDefined()
    expect(checksums[1]).toBe(checksums[0])
    const again = start(['--port', '0', '--fd', `again=${places[2]}`])
    expect(await new AshlarClient({ baseUrl: await again.url }).readObject(oid)).toMatchObject({ name: 'moved' })
    again.child.kill('SIGTERM')
    await again.ended
    const missing = await start(['copy', `lmdb:${join(directory, 'typo')}`, `lmdb:${join(directory, 'new')}`]).ended
    expect(missing).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^ashlar: The LMDB store in .*typo cannot be opened: there is no such directory; check the address\n$/,
      ),
    })
    for (const made of ['typo', 'new']) expect(existsSync(join(directory, made))).toBe(false)
    const same = await start(['copy', places[0]!, places[0]!]).ended
    expect(same).toMatchObject({ code: 2, stderr: 'ashlar: A store cannot be copied into itself.\n' })
    const refused = await start(['copy', places[0]!, places[2]!]).ended
    expect(refused).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/^ashlar: The store .*again is not empty.*\n$/),
    })
  })
})
