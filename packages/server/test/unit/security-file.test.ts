/** The security database while the server runs: another file in its place is not what callers are known by. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { SecurityDatabase } from '../../src/security/security-database.ts'

it('cannot be read once its file was deleted, though the process still has it open', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-store.'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const database = await SecurityDatabase.open(`lmdb:${directory}`)
  onTestFinished(() => database.close())
  expect(await database.revision()).toBeTypeOf('number')
  rmSync(join(directory, 'data.mdb'))
  await expect(database.revision()).rejects.toMatchObject({ type: 'StoreUnavailable' })
})
