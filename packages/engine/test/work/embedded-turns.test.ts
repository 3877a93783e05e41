/** Others have their turn while an object with very many embedded objects that have computed attributes is read or changed. */
import { expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, withFd } from '../engine/open-fd.ts'
import { turnsDuring } from './count-work.ts'

const count = 6_000
const integer = 'integer'
const computed = (expression: string): object => ({ logicalType: integer, computed: { expression } })
const line = classOf(
  'Line',
  { price: integer, total: computed('price * 2'), gross: computed('total + 1') },
  { isReferenceable: false },
)
const lines = { logicalType: 'list', elementSpecification: { logicalType: 'object', class: 'Line' } }
const classes = [
  line,
  classOf('Page', { lines }, { isReferenceable: false }),
  classOf('Order', { title: 'string', lines }),
  classOf('Book', { title: 'string', page: { logicalType: 'object', class: 'Page' }, last: 'string' }),
]
const given = Array.from({ length: count }, (_, price) => ({ price }))
const shown = given.map(({ price }) => ({ price, total: 2 * price, gross: 2 * price + 1 }))

async function read(fd: FederatedDatabase, oid: string): Promise<unknown> {
  return JSON.parse((await fd.readObject(oid)).toString())
}

it('while it is read, also where the list is within an embedded object', () =>
  withFd(classes, async (fd) => {
    const order = await fd.createObject('Order', { title: 'a', lines: given })
    const book = await fd.createObject('Book', { title: 'b', page: { lines: given }, last: 'z' })
    expect(await read(fd, order)).toMatchObject({ title: 'a', lines: shown })
    expect(await read(fd, book)).toMatchObject({ title: 'b', page: { lines: shown }, last: 'z' })
    // Each look at the clock is a millisecond later: one in a hundred elements.
    for (const oid of [order, book]) expect(await turnsDuring(async () => fd.readObject(oid))).toBeGreaterThan(8)
  }))

it('while it is exported', () =>
  withFd(classes, async (fd) => {
    await fd.createObject('Order', { title: 'a', lines: given })
    const texts: string[] = []
    const turns = await turnsDuring(async () => {
      for await (const { bytes } of (await fd.export({ class: 'Order' })).objects) texts.push(bytes.toString())
    })
    expect(JSON.parse(texts.join(''))).toMatchObject({ title: 'a', lines: shown })
    expect(turns).toBeGreaterThan(8)
  }))

it('between the steps in which one attribute of it is changed', () =>
  withFd(classes, async (fd) => {
    const small = await fd.createObject('Order', { lines: given.slice(0, 5) })
    const order = await fd.createObject('Order', { lines: given })
    const turnsOf = async (oid: string): Promise<number> => {
      // Otherwise a turn that is already planned for what was done before would be the first one.
      for (let i = 0; i < 3; i++) await new Promise(setImmediate)
      return turnsDuring(() => fd.updateObject(oid, { title: 'b' }))
    }
    expect(await turnsOf(order)).toBeGreaterThan(await turnsOf(small))
    expect(await read(fd, order)).toMatchObject({ title: 'b', lines: shown })
    for (let i = 0; i < 3; i++) await new Promise(setImmediate)
    const removal = { lines: { action: 'remove', elements: [{ price: 0 }] } }
    expect(await turnsDuring(() => fd.updateObject(order, removal))).toBeGreaterThan(1)
    expect(await read(fd, order)).toMatchObject({ lines: shown.slice(1) })
  }))
