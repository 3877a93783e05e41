/** Stores are opened by address; what is wrong with an address is said in one sentence. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openStore } from '../../src/storage/open-store.ts'
import { addressOfDirectory, storeDirectory } from '../../src/storage/store-address.ts'
import { commitChanges, put, valueIn } from './bytes.ts'
import { temporaryDirectory } from './temporary-stores.ts'

it('opens lmdb:<directory>, making the directory, whatever its name', async () => {
  const directory = join(await temporaryDirectory(), 'deep', 'flights.v2')
  const store = await openStore(`lmdb:${directory}`)
  expect(store.capabilities).toMatchObject({ kind: 'lmdb', location: directory, isDurable: true })
  await commitChanges(store, put('a', '1'))
  await store.close()
  const again = await openStore(`lmdb:${directory}`)
  expect(await valueIn(again, 'a')).toBe('1')
  await again.close()
})

it('opens memory:', async () => {
  const store = await openStore('memory:')
  expect(store.capabilities).toMatchObject({ kind: 'memory', isDurable: false })
  await store.close()
})

it.each([
  ['', 'names no kind'],
  ['data', 'names no kind'],
  ['lmdb:', 'names no directory'],
  ['memory:data', 'has more than its kind'],
  ['C:\\data', 'unknown kind'],
])('refuses the address %j', async (address, reason) => {
  await expect(openStore(address)).rejects.toThrow(reason)
})

it('says which directory cannot be opened', async () => {
  await expect(openStore('lmdb:/dev/null/data')).rejects.toThrow('The LMDB store in /dev/null/data cannot be opened')
})

it.each([
  ['lmdb:/data/flights', '/data/flights'],
  ['lmdb:a\nb', 'a\nb'],
  ['lmdb:', undefined],
  ['postgres://lmdb:secret@host/database', undefined],
  ['memory:', undefined],
  ['/data/flights', undefined],
])('the directory of the store at %j is %j', (address, directory) => {
  expect(storeDirectory(address)).toBe(directory)
  if (directory !== undefined) expect(addressOfDirectory(directory)).toBe(address)
})
