/** Others have their turn while an object with one value of very many parts is created and changed, whatever the type of the parts. */
import { expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, withFd } from '../engine/open-fd.ts'
import { turnsDuring } from './count-work.ts'

const count = 20_000
const integer = { logicalType: 'integer' }
const listOf = (elementSpecification: object): object => ({ logicalType: 'list', elementSpecification })
const inner = classOf('Inner', { values: listOf(integer) }, { isReferenceable: false })
const line = classOf(
  'Line',
  {
    price: 'integer',
    net: { ...integer, default: { expression: 'price - 1' } },
    total: { ...integer, computed: { expression: 'price * 2' } },
  },
  { isReferenceable: false },
)

interface Kind {
  readonly classes?: readonly object[]
  readonly type: object
  /** A part of the value. */
  readonly part: (i: number) => unknown
}

const scalars: Readonly<Record<string, Kind>> = {
  decimal: { type: { logicalType: 'decimal', precision: 18, scale: 4 }, part: (i) => `${i}.2500` },
  integer: { type: integer, part: (i) => i },
  string: { type: { logicalType: 'string' }, part: (i) => `text ${i}` },
  bytes: { type: { logicalType: 'bytes' }, part: (i) => Buffer.from(`${i}`).toString('base64') },
  json: { type: { logicalType: 'json' }, part: (i) => ({ i }) },
  guid: {
    type: { logicalType: 'guid' },
    part: (i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
  },
  datetime: { type: { logicalType: 'datetime' }, part: (i) => new Date(1.6e12 + 1_000 * i).toISOString().slice(0, 19) },
  interval: { type: { logicalType: 'interval' }, part: (i) => `PT${i}S` },
  'embedded object with expressions': {
    classes: [line],
    type: { logicalType: 'object', class: 'Line' },
    part: (price) => ({ price }),
  },
}

// Each look at the clock is a millisecond later: one in a hundred parts, five of which are a slice.
const turnsOfPass = count / 100 / 6

for (const [name, { classes = [], type, part }] of Object.entries(scalars)) {
  it(`of a list, whose elements are of the type ${name}`, () =>
    withFd([...classes, classOf('Part', { title: 'string', list: listOf(type) })] as object[], async (fd) => {
      const list = Array.from({ length: count }, (_, i) => part(i))
      const oid = await created(fd, { title: 'a', list }, 2 * turnsOfPass)
      // The parts that are stored are decoded, and encoded again.
      await changed(fd, oid, { title: 'b' }, 2 * turnsOfPass)
      await changed(fd, oid, { list: { action: 'add', elements: [part(7)] } }, 2 * turnsOfPass)
      await changed(fd, oid, { list: { action: 'remove', elements: [part(7)] } }, 3 * turnsOfPass)
      await changed(fd, oid, { list: list.toReversed() }, 3 * turnsOfPass)
      const shown = JSON.parse((await fd.readObject(oid)).toString()) as { list: unknown[] }
      expect(shown.list).toHaveLength(count)
      expect(shown.list.at(-1)).toMatchObject(part(0) as object)
      expect((await fd.verify()).problems).toEqual([])
    }))
}

it('of a list in an embedded object, and in the elements of a list', () => {
  const one = { logicalType: 'object', class: 'Inner' }
  return withFd([inner, classOf('Part', { title: 'string', one, some: listOf(one) })], async (fd) => {
    const values = Array.from({ length: count }, (_, i) => i)
    for (const attributes of [{ one: { values } }, { some: [{ values: [1] }, { values }] }]) {
      const oid = await created(fd, { title: 'a', ...attributes }, 2 * turnsOfPass)
      await changed(fd, oid, { title: 'b' }, 2 * turnsOfPass)
      expect(JSON.parse((await fd.readObject(oid)).toString())).toMatchObject(attributes)
      if (attributes.one === undefined) continue
      await changed(fd, oid, { one: { values: { action: 'remove', elements: [7] } } }, 3 * turnsOfPass)
      const rest = values.filter((value) => value !== 7)
      expect(JSON.parse((await fd.readObject(oid)).toString())).toMatchObject({ one: { values: rest } })
    }
    expect((await fd.verify()).problems).toEqual([])
  })
})

const constrained: Readonly<Record<string, { readonly classes?: readonly object[]; readonly list: object }>> = {
  uniqueItems: { list: { ...listOf(integer), uniqueItems: true } },
  'minimum of elements': { list: listOf({ ...integer, minimum: 0 }) },
  'checks of embedded objects': {
    classes: [
      {
        ...classOf('Bounded', { n: 'integer' }, { isReferenceable: false }),
        checks: [{ name: 'notNegative', expression: 'n >= 0' }],
      },
    ],
    list: listOf({ logicalType: 'object', class: 'Bounded' }),
  },
}

for (const [name, { classes = [], list }] of Object.entries(constrained)) {
  it(`while constraints of a list are checked: ${name}`, () =>
    withFd([...classes, classOf('Part', { list })] as object[], async (fd) => {
      const one = (n: number): unknown => (classes.length === 0 ? n : { n })
      const valid = Array.from({ length: count }, (_, n) => one(n))
      const oid = await created(fd, { list: valid }, 3 * turnsOfPass)
      await changed(fd, oid, { list: valid.toReversed() }, 4 * turnsOfPass)
      const invalid = [...valid, name === 'uniqueItems' ? one(7) : one(-1)]
      const refusal = { type: 'ConstraintViolation' }
      await expect(fd.createObject('Part', { list: invalid })).rejects.toMatchObject(refusal)
      await expect(fd.updateObject(oid, { list: invalid })).rejects.toMatchObject(refusal)
    }))
}

async function created(fd: FederatedDatabase, attributes: Record<string, unknown>, least: number): Promise<string> {
  let oid = ''
  const turns = await turnsDuring(async () => {
    oid = await fd.createObject('Part', attributes)
  })
  expect(turns, 'while it is created').toBeGreaterThan(least)
  return oid
}

async function changed(fd: FederatedDatabase, oid: string, attributes: object, least: number): Promise<void> {
  const turns = await turnsDuring(() => fd.updateObject(oid, attributes as Record<string, unknown>))
  expect(turns, `while ${JSON.stringify(attributes).slice(0, 40)} is set`).toBeGreaterThan(least)
}
