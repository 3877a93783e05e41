/** Elements are removed from collections at the cost of looking at each once: counted, since time depends on the machine. */
import { expect, it } from 'vitest'
import { ByteWriter } from '../../src/bytes/byte-writer.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import type { Attributes } from '../../src/requests/read-object-command.ts'
import { classOf, read, toOne, withFd } from '../engine/open-fd.ts'
import { searchedBy } from './count-work.ts'

const list = (elementSpecification: object): object => ({ logicalType: 'list', elementSpecification })
const classes = [
  { className: 'Place', isReferenceable: false, attributes: [{ attributeName: 'city', logicalType: 'string' }] },
  {
    className: 'Part',
    isReferenceable: false,
    attributes: [
      { attributeName: 'codes', ...list({ logicalType: 'string' }) },
      { attributeName: 'set', logicalType: 'set', elementSpecification: toOne('Target') },
      {
        attributeName: 'map',
        logicalType: 'map',
        keySpecification: { logicalType: 'string' },
        elementSpecification: toOne('Target'),
      },
    ],
  },
  classOf('Target', {}),
  classOf('Holder', {
    numbers: list({ logicalType: 'integer' }),
    reals: list({ logicalType: 'real' }),
    places: list({ logicalType: 'object', class: 'Place' }),
    part: { logicalType: 'object', class: 'Part' },
    parts: list({ logicalType: 'object', class: 'Part' }),
  }),
]

const upTo = <T>(n: number, of: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => of(i))
const even = <T>(elements: readonly T[]): T[] => elements.filter((_, i) => i % 2 === 0)
const removing = (elements: readonly unknown[]): object => ({ action: 'remove', elements })

/** Elements that are searched through, and encoded, for each that there is. */
async function workEach(n: number, act: () => Promise<unknown>): Promise<number> {
  const { copy } = ByteWriter.prototype
  let encoded = 0
  ByteWriter.prototype.copy = function (this: ByteWriter) {
    encoded += 1
    return copy.call(this)
  }
  try {
    return (encoded + (await searchedBy(act))) / n
  } finally {
    ByteWriter.prototype.copy = copy
  }
}

async function statement(fd: FederatedDatabase, text: string, parameters: Record<string, unknown>): Promise<void> {
  const { chunks } = await fd.query({ text, parameters })
  for await (const _ of chunks);
}

interface Removal {
  readonly before: (n: number, oids: readonly string[]) => Attributes
  readonly act: (fd: FederatedDatabase, oid: string, n: number, oids: readonly string[]) => Promise<unknown>
  readonly after: (n: number, oids: readonly string[]) => object
}

const odd = <T>(elements: readonly T[]): T[] => elements.filter((_, i) => i % 2 === 1)
/** Of equal length: they stand in order. */
const keyOf = (i: number): string => `k${1_000 + i}`
const place = (i: number): object => ({ city: `c${i}` })

const removals: Record<string, Removal> = {
  'a list of numbers': {
    before: (n) => ({ numbers: upTo(n, (i) => i) }),
    act: (fd, oid, n) => fd.updateObject(oid, { numbers: removing(even(upTo(n, (i) => i))) }),
    after: (n) => ({ numbers: odd(upTo(n, (i) => i)) }),
  },
  'a list of embedded objects': {
    before: (n) => ({ places: upTo(n, place) }),
    act: (fd, oid, n) => fd.updateObject(oid, { places: removing(even(upTo(n, place))) }),
    after: (n) => ({ places: odd(upTo(n, place)).map((one) => expect.objectContaining(one)) }),
  },
  'a list of numbers, by REMOVE': {
    before: (n) => ({ numbers: upTo(n, (i) => i) }),
    act: (fd, _oid, n) => statement(fd, 'UPDATE Holder REMOVE $gone FROM numbers', { gone: even(upTo(n, (i) => i)) }),
    after: (n) => ({ numbers: odd(upTo(n, (i) => i)) }),
  },
  'a list within elements, by REMOVE': {
    before: (n) => ({ parts: [{ codes: upTo(n, (i) => `c${i}`) }] }),
    act: (fd, _oid, n) =>
      statement(fd, 'UPDATE Holder REMOVE $gone FROM parts[0].codes', { gone: even(upTo(n, (i) => `c${i}`)) }),
    after: (n) => ({ parts: [expect.objectContaining({ codes: odd(upTo(n, (i) => `c${i}`)) })] }),
  },
  'a set': {
    before: (_n, oids) => ({ part: { set: oids } }),
    act: (fd, oid, _n, oids) => fd.updateObject(oid, { part: { set: removing(even(oids)) } }),
    after: (_n, oids) => ({ part: expect.objectContaining({ set: odd(oids) }) }),
  },
  'a map': {
    before: (n, [oid]) => ({
      part: { map: { action: 'override', pairs: upTo(n, (i) => ({ key: keyOf(i), value: oid })) } },
    }),
    act: (fd, oid, n) => fd.updateObject(oid, { part: { map: removing(even(upTo(n, keyOf))) } }),
    after: (n, [oid]) => ({
      part: expect.objectContaining({ map: Object.fromEntries(odd(upTo(n, (i) => [keyOf(i), oid]))) }),
    }),
  },
}

for (const [name, { before, act, after }] of Object.entries(removals)) {
  it(`half of the elements are removed from ${name} by looking at each once`, async () => {
    const works: number[] = []
    for (const n of [50, 400]) {
      await withFd(classes, async (fd) => {
        const oids = await fd.createObjects(upTo(n, () => ({ class: 'Target', attributes: {} })))
        const oid = await fd.createObject('Holder', before(n, oids))
        works.push(await workEach(n, () => act(fd, oid, n, oids)))
        expect(await read(fd, oid)).toMatchObject(after(n, oids))
      })
    }
    const [few, many] = works as [number, number]
    expect(many).toBeLessThan(2 * few)
  })
}

it('0 is removed where -0 is meant, and -0 where 0 is', () =>
  withFd(classes, async (fd) => {
    const oid = await fd.createObject('Holder', { reals: [-0, 1.5, 0, -1.5] })
    await fd.updateObject(oid, { reals: removing([0]) })
    expect(await read(fd, oid)).toMatchObject({ reals: [1.5, -1.5] })
    await fd.updateObject(oid, { reals: { action: 'add', elements: [0, -0, 2] } })
    await fd.updateObject(oid, { reals: removing([-0, 2, 7]) })
    expect(await read(fd, oid)).toMatchObject({ reals: [1.5, -1.5] })
  }))

it('more elements are given to a statement than a call may have arguments', () =>
  withFd(classes, async (fd) => {
    const oid = await fd.createObject('Holder', { numbers: [1, 2] })
    const many = upTo(150_000, (i) => i + 2)
    await statement(fd, 'UPDATE Holder ADD $many TO numbers', { many })
    await statement(fd, 'UPDATE Holder SET numbers[1:2] TO $many', { many })
    await statement(fd, 'UPDATE Holder REMOVE $many FROM numbers', { many })
    expect(await read(fd, oid)).toMatchObject({ numbers: [1] })
  }))
