/** The example of the page on the storage format is what is stored, byte for byte. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { storageFormat } from '../../src/storage/storage-format.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { tablesVersion } from '../../src/store/postgres/schema.ts'
import { classOf, index } from '../engine/open-fd.ts'
import { entriesOf } from './fixture-files.ts'

const page = readFileSync(new URL('../../../../docs/storage-format.md', import.meta.url), 'utf8')

it('shows an object and an index entry as they are stored', async () => {
  const store = await openMemoryStore()
  const fd = await FederatedDatabase.open({ alias: 'example', store })
  await fd.defineClasses([classOf('Car', { license: 'string', mileage: 'integer' })], 'create')
  await fd.createIndex(index('byLicense', 'Car', true, 'license'))
  await fd.createObject('Car', { license: 'AB 123', mileage: 40_000 })
  const stored = await entriesOf(store)
  await fd.close()
  const shown = [...page.matchAll(/^key ([\da-f ]+)$[\s\S]*?^value ([\da-f ]+)$/gm)].map(([, key, value]) => {
    return `${key?.replaceAll(' ', '')} ${value?.replaceAll(' ', '')}`
  })
  expect(shown).toEqual(stored.filter((entry) => /^0[35]/.test(entry)))
})

it('tells the versions that there are', () => {
  expect(page).toContain(`**storage format ${storageFormat.version}**`)
  expect(page).toContain(`version (now ${tablesVersion})`)
})
