/** A damaged file: requests that meet the damage fail and name what is damaged, others go on, and Verify reports it. */

import { describe, expect, it } from 'vitest'
import { catalogPartRange } from '../../src/catalog/catalog-keys.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { objectKey } from '../../src/records/object-key.ts'
import { shapeNumberOf } from '../../src/records/record-format.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Oid } from '../../src/types/oid.ts'
import { checkStore } from '../../src/verify/check-store.ts'
import { rowTexts } from '../row-texts.ts'
import { flipBit } from '../store/damage.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'
import { classOf, index, read, toMany, toOne } from './open-fd.ts'

const fleet = [
  classOf('Hub', { name: 'string', cars: toMany('Car', 'hub') }),
  classOf('Car', { license: 'string', hub: toOne('Hub', 'cars') }),
]

interface Fleet {
  readonly fd: FederatedDatabase
  readonly hub: string
  readonly cars: readonly string[]
}

function open(directory: string): Promise<FederatedDatabase> {
  return openStore(`lmdb:${directory}`).then((store) => FederatedDatabase.open({ alias: 'test', store }))
}

/** A hub with three cars, indexed by licence; `harm` has the file while nobody has it open. */
async function damagedFleet(harm: (directory: string, made: Fleet) => void): Promise<Fleet> {
  const directory = await temporaryDirectory()
  const fd = await open(directory)
  await fd.defineClasses(fleet, 'create')
  await fd.createIndex(index('byLicense', 'Car', true, 'license'))
  const hub = await fd.createObject('Hub', { name: 'harbour' })
  const cars: string[] = []
  for (const license of ['AA-1', 'BB-2', 'CC-3']) cars.push(await fd.createObject('Car', { license, hub }))
  await fd.close()
  harm(directory, { fd, hub, cars })
  return { fd: await open(directory), hub, cars }
}

async function rows(fd: FederatedDatabase, text: string): Promise<string> {
  return (await rowTexts(await fd.query({ text }))).join(',')
}

describe('a damaged record', () => {
  it('fails what reads or changes the object, by a sentence that names it, and nothing else', async () => {
    const { fd, hub, cars } = await damagedFleet((directory) => flipBit(directory, 'harbour', { at: 2 }))
    const message = `Object ${hub} of class Hub is damaged in the store: its checksum does not fit. Run 'ashlar verify' on the store, and restore a backup.`
    const corruption = { type: 'DataCorruption', message }
    await expect(read(fd, hub)).rejects.toMatchObject(corruption)
    await expect(fd.updateObject(hub, { name: 'port' })).rejects.toMatchObject(corruption)
    await expect(fd.deleteObject(hub)).rejects.toMatchObject(corruption)
    await expect(fd.createObject('Car', { license: 'DD-4', hub })).rejects.toMatchObject(corruption)
    await expect(rows(fd, 'FROM Hub RETURN name')).rejects.toMatchObject(corruption)
    expect(await read(fd, cars[0] ?? '')).toMatchObject({ license: 'AA-1' })
    await fd.updateObject(cars[1] ?? '', { license: 'BB-9' })
    expect((await fd.verify()).problems).toEqual([message])
    await fd.close()
  })
})

describe('a damaged index entry', () => {
  it('fails queries that go by it, and is told by Verify with the name of the index', async () => {
    const { fd, cars } = await damagedFleet((directory) => {
      // Key: space, number, text, end of text.
      flipBit(directory, Buffer.from('\x05\0\0\0\x01', 'latin1'), { at: 10 })
    })
    expect(await read(fd, cars[0] ?? '')).toMatchObject({ license: 'AA-1' })
    const { problems } = await fd.verify()
    expect(problems.join('\n')).toContain('An entry of index byLicense is damaged in the store')
    await expect(rows(fd, "FROM Car WHERE license >= 'A' ORDER BY license RETURN license")).rejects.toMatchObject({
      type: 'DataCorruption',
    })
    await fd.close()
  })
})

describe('a damaged link', () => {
  it('fails reading its owner, and is told by Verify with owner and attribute', async () => {
    const { fd, hub } = await damagedFleet((directory, { cars }) => {
      const [database = 0, container = 0, page = 0, slot = 0] = (cars[1] ?? '').split('-').map(Number)
      const target = Buffer.alloc(8)
      for (const [at, part] of [database, container, page, slot].entries()) target.writeUInt16BE(part, at * 2)
      // What follows the owner, the attribute, the kind and the position in the key.
      flipBit(directory, target, { at: 7 })
    })
    const message = `A link of object ${hub} of class Hub in attribute cars is damaged in the store: its checksum does not fit. Run 'ashlar verify' on the store, and restore a backup.`
    await expect(read(fd, hub)).rejects.toMatchObject({ type: 'DataCorruption', message })
    expect((await fd.verify()).problems).toContain(message)
    await fd.close()
  })
})

describe('a stored value of a computed attribute', () => {
  it('that is not that of its expression is a problem of Verify, in embedded objects too', async () => {
    const store = await openStoreOfRun()
    const fd = await FederatedDatabase.open({ alias: 'test', store })
    const computed = { expression: "name + '!'", isStored: true }
    const attributes = { name: 'string', loud: { logicalType: 'string', computed } }
    const part = { logicalType: 'object', class: 'Part' }
    const parts = { logicalType: 'list', elementSpecification: part }
    await fd.defineClasses(
      [classOf('Part', attributes, { isReferenceable: false }), classOf('Hub', { ...attributes, part, parts })],
      'create',
    )
    const oid = await fd.createObject('Hub', { name: 'ann', part: { name: 'ann' }, parts: [{ name: 'ann' }] })
    expect((await fd.verify()).problems).toEqual([])
    const snapshot = await store.snapshot()
    const key = objectKey(oid as Oid)
    const record = Buffer.from((await snapshot.read([key])).values[0]!)
    snapshot.release()
    const value = Buffer.from(record.toString('latin1').replaceAll('ann!', 'bob!'), 'latin1')
    await store.commit({ changes: [{ kind: 'put', key, value }], preconditions: [] })
    const problem = `object ${oid} of class Hub has a value of computed attribute loud that is not that of its expression`
    expect((await fd.verify()).problems).toEqual([problem, problem, problem])
    await fd.close()
  })
})

describe('an object of a shape that the catalog does not have', () => {
  it('is damage in every operation, which says so, and a problem of Verify; other objects are served', async () => {
    const store = await openStoreOfRun()
    const fd = await FederatedDatabase.open({ alias: 'test', store })
    await fd.defineClasses(fleet, 'create')
    const [hub, other] = [await fd.createObject('Hub', { name: 'a' }), await fd.createObject('Hub', { name: 'b' })]
    const snapshot = await store.snapshot()
    const key = objectKey(hub as Oid)
    const record = Buffer.from((await snapshot.read([key])).values[0]!)
    snapshot.release()
    record.writeUInt32BE(4_711, 0)
    expect(shapeNumberOf(record)).toBe(4_711)
    await store.commit({ changes: [{ kind: 'put', key, value: record }], preconditions: [] })
    const damage = {
      type: 'DataCorruption',
      message: expect.stringContaining('there is an object of shape 4711, which the catalog does not have'),
    }
    await expect(read(fd, hub)).rejects.toMatchObject(damage)
    await expect(fd.updateObject(hub, { name: 'c' })).rejects.toMatchObject(damage)
    await expect(rows(fd, 'FROM Hub RETURN name')).rejects.toMatchObject(damage)
    expect(await read(fd, other)).toMatchObject({ name: 'b' })
    const problem = 'cannot be understood: there is an object of shape 4711, which the catalog does not have'
    expect((await fd.verify()).problems).toEqual([expect.stringMatching(new RegExp(`${problem}$`))])
    await fd.close()
  })
})

describe('a damaged catalog', () => {
  it.each([
    ['is no text', '\x01\x02'],
    ['is no description', 'null'],
    ['lacks what it should have', '{}'],
  ])('whose class %s, though its checksum fits, is a problem of the check, and not its end', async (_name, value) => {
    const directory = await temporaryDirectory()
    const fd = await open(directory)
    await fd.defineClasses(fleet, 'create')
    await fd.close()
    const store = await openStore(`lmdb:${directory}`)
    const { ranges } = await (await store.snapshot()).read([], [catalogPartRange('class')])
    const { key } = ranges[0]![0]!
    await store.commit({ preconditions: [], changes: [{ kind: 'put', key, value: Buffer.from(value) }] })
    await store.close()
    const { problems } = await checkStore(`lmdb:${directory}`)
    expect(problems).toEqual([expect.stringContaining('cannot be understood')])
  })

  it('is an error at the start that names the entry', async () => {
    const harmed = damagedFleet((directory) => flipBit(directory, '"name":"license"', { at: 10 }))
    await expect(harmed).rejects.toMatchObject({
      type: 'DataCorruption',
      message: expect.stringContaining('The catalog entry for a class'),
    })
  })
})
