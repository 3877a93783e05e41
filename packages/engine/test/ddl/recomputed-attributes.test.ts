/** Stored computed attributes with another expression: what is stored of it, and how many objects may have index entries. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, index, outcome, read, withFd } from '../engine/open-fd.ts'

const stored = (expression: string): object => ({ computed: { expression, isStored: true } })
const thing = classOf('Thing', { a: 'integer', b: { logicalType: 'integer', ...stored('a + 1') } })
const change = (fd: FederatedDatabase, expression: string): Promise<unknown> => {
  return fd.alterClass('Thing', { attributesToConstrain: [{ attributeName: 'b', ...stored(expression) }] })
}

it('has the values of the last expression after the store is opened again, and objects are rewritten with them', () =>
  withFd([thing], async (fd, store) => {
    const oids = [await fd.createObject('Thing', { a: 1 })]
    await change(fd, 'a * 10')
    oids.push(await fd.createObject('Thing', { a: 2 }))
    await change(fd, 'a * 100')
    oids.push(await fd.createObject('Thing', { a: 3 }))
    await fd.alterClass('Thing', { attributesToAdd: [{ attributeName: 'c', logicalType: 'string' }] })
    const values = (of: FederatedDatabase) => Promise.all(oids.map(async (oid) => (await read(of, oid)).b))
    const other = await FederatedDatabase.open({ alias: 'other', store })
    for (const one of [fd, other]) expect(await values(one)).toEqual([100, 200, 300])
    expect((await other.verify()).problems).toEqual([])
    await fd.upgradeObjects({})
    expect(await values(other)).toEqual([100, 200, 300])
  }))

it('is changed for any number of objects without an index, and for a limited number with one', () =>
  withFd(
    [thing],
    async (fd) => {
      for (const a of [1, 2, 3]) await fd.createObject('Thing', { a })
      await change(fd, 'a + 2')
      await fd.createIndex(index('byB', 'Thing', false, 'b'))
      expect(await outcome(change(fd, 'a + 3'))).toBe('LimitExceeded')
      await fd.deleteIndex('byB')
      expect(await outcome(change(fd, 'a + 3'))).toBe('ok')
    },
    { transactionIndexObjectsMax: 2 },
  ))
