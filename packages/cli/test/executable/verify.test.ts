/** `ashlar verify`: a readable report, and an exit code for scripts. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyStore, FederatedDatabase, openStore } from '@ashlar/engine'
import { afterAll, beforeAll, describe, expect, inject } from 'vitest'
import { fixture } from '../../../engine/test/format/fixture-files.ts'
import { rule } from '../../../server/test/contract/rule.ts'

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ashlar-verify.'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

async function verify(address: string): Promise<{ code: number | null; out: string; error: string }> {
  const child = spawn(process.execPath, [inject('server'), 'verify', address], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, error]: [Buffer[], Buffer[]] = [[], []]
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => error.push(chunk))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, out: Buffer.concat(out).toString(), error: Buffer.concat(error).toString() }
}

async function open(): Promise<FederatedDatabase> {
  return FederatedDatabase.open({ alias: 'test', store: await openStore(`lmdb:${join(directory, 'store')}`) })
}

describe('ashlar verify', () => {
  rule('8.1.16', 'of a sound store tells what was looked at, also while it is served, and ends with 0', async () => {
    const fd = await open()
    const attributes = [{ attributeName: 'name', logicalType: 'string' }]
    await fd.defineClasses([{ className: 'Port', isReferenceable: true, attributes }], 'create')
    await fd.createIndex({
      name: 'byName',
      indexedClass: 'Port',
      isUnique: true,
      keyAttributes: [{ attributeName: 'name' }],
    })
    await fd.createObject('Port', { name: 'Valparaiso' })
    const served = await verify(`lmdb:${join(directory, 'store')}`)
    expect(served.out).toBe(
      `File: not checked, since process ${process.pid} has the store open. ` +
        'To check it too, stop every process that uses the store first, or verify a backup of it.\n' +
        'Content: 1 object, 0 link entries, 1 index entry.\nNo problem found in what was checked.\n',
    )
    expect(served).toMatchObject({ code: 0, error: '' })
    await fd.close()
    const closed = await verify(`lmdb:${join(directory, 'store')}`)
    expect(closed.out).toMatch(
      /^File: \d+ pages, \d+ entries\.\nContent: 1 object, 0 link entries, 1 index entry\.\nNo problem found\.\n$/,
    )
    expect(closed).toMatchObject({ code: 0, error: '' })
  })

  rule('8.1.16', 'of a copy that is not finished says so, and ends with 1', async () => {
    const address = `lmdb:${join(directory, 'half')}`
    const [source, target] = [await openStore(`lmdb:${join(directory, 'store')}`), await openStore(address)]
    const stop = (): never => {
      throw new Error('stopped')
    }
    await expect(copyStore(source, target, { onProgress: stop })).rejects.toThrow('stopped')
    await Promise.all([source.close(), target.close()])
    const { code, out } = await verify(address)
    expect(out).toContain('Content: not checked, since the copy is not finished.\n1 problem:\n- A copy of ')
    expect(out).toContain('is not finished; start that copy again.')
    expect(code).toBe(1)
  })

  rule('8.1.16', 'of a store without checksums says that damaged values cannot be told', async () => {
    const old = join(directory, 'old')
    mkdirSync(old)
    writeFileSync(join(old, 'data.mdb'), fixture('unversioned').lmdb)
    const { code, out } = await verify(`lmdb:${old}`)
    expect(out).toMatch(
      /^File: \d+ pages, \d+ entries\.\nChecksums: not checked, since a store of an earlier version has none/,
    )
    expect(out).toContain(`Bring it over with: ashlar copy lmdb:${old} lmdb:<new directory>\n`)
    expect(out).toMatch(
      /\nContent: \d+ objects, \d+ link entries, \d+ index entries\.\nNo problem found in what was checked\.\n$/,
    )
    expect(code).toBe(0)
  })

  rule('8.1.16', 'of a damaged store names what is damaged, changes nothing, and ends with 1', async () => {
    const path = join(directory, 'store', 'data.mdb')
    const file = readFileSync(path)
    for (let at = file.indexOf('Valparaiso'); at >= 0; at = file.indexOf('Valparaiso', at + 1)) file[at + 1] = 0x41
    writeFileSync(path, file)
    const { code, out } = await verify(`lmdb:${join(directory, 'store')}`)
    expect(out).toContain('Object 3-3-1-1 of class Port is damaged in the store: its checksum does not fit.')
    expect(out).toContain('An entry of index byName is damaged in the store')
    expect(code).toBe(1)
    expect(readFileSync(path).equals(file)).toBe(true)
  })

  rule('8.1.16', 'of what cannot be checked tells why in one line, and ends with 2', async () => {
    const missing = await verify(`lmdb:${join(directory, 'nowhere')}`)
    expect(missing).toEqual({
      code: 2,
      out: '',
      error: `ashlar: The LMDB store in ${join(directory, 'nowhere')} cannot be checked: there is no such directory; check the address\n`,
    })
    truncateSync(join(directory, 'store', 'data.mdb'), 8_192)
    const cut = await verify(`lmdb:${join(directory, 'store')}`)
    expect(cut.code).toBe(1)
    expect(cut.out).toContain('problem')
    const unknown = await verify('ftp://somewhere')
    expect(unknown.code).toBe(2)
    expect(unknown.error).toContain('names an unknown kind of store')
  })
})
