/** The security database while the server runs: another file in its place is not what callers are known by. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { expect, it, onTestFinished } from 'vitest'
import { addRole, listRoles } from '../../src/security/custom-roles.ts'
import { SecurityDatabase } from '../../src/security/security-database.ts'
import { rule } from '../contract/rule.ts'

it('cannot be read once its file was deleted, though the process still has it open', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-store.'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const database = await SecurityDatabase.open(`lmdb:${directory}`)
  onTestFinished(() => database.close())
  expect(await database.revision()).toBeTypeOf('number')
  rmSync(join(directory, 'data.mdb'))
  await expect(database.revision()).rejects.toMatchObject({ type: 'StoreUnavailable' })
})

/** Does something to the database as a program of another version would. */
async function asOfVersion(address: string, version: number, change: (fd: FederatedDatabase) => Promise<unknown>) {
  const fd = await FederatedDatabase.open({ alias: 'x', store: await openStore(address) })
  await change(fd)
  const { chunks } = await fd.query({
    text: `UPDATE AshlarSecurity.State SET schemaVersion TO ${version} RETURN schemaVersion`,
  })
  for await (const { bytes } of chunks) expect(bytes.toString()).toContain(String(version))
  await fd.close()
}

rule(
  '9.2.5',
  'one of an earlier version gets what it lacks and keeps what it has; one of a later version is not opened',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'ashlar-store.'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const address = `lmdb:${directory}`
    await (await SecurityDatabase.open(address)).close()
    await asOfVersion(address, 1, async (fd) => {
      await fd.alterClass('AshlarSecurity.Role', { attributesToDelete: ['grants'] })
      await fd.createObject('AshlarSecurity.Role', { name: 'auditor', actions: ['read'] })
    })
    const database = await SecurityDatabase.open(address)
    const grants = [{ on: { kind: 'all' }, actions: ['read'], hidden: ['salary'] }]
    await addRole(database, 'team', { grants })
    expect((await listRoles(database)).filter(({ isBuiltIn }) => !isBuiltIn)).toEqual([
      { name: 'auditor', actions: ['read'], grants: [], isBuiltIn: false },
      { name: 'team', actions: [], grants, isBuiltIn: false },
    ])
    expect(await database.problems()).toEqual([])
    await database.close()
    await asOfVersion(address, 99, async () => undefined)
    await expect(SecurityDatabase.open(address)).rejects.toThrow(
      /is of version 99, and this program knows 2: start a newer one/,
    )
  },
)
