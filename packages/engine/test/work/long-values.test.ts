/** Turns that others get while one value of very many elements, or a very long text, is read, changed and shown. */
import { expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, withFd } from '../engine/open-fd.ts'
import { turnsDuring } from './count-work.ts'

const numbers = { logicalType: 'list', elementSpecification: { logicalType: 'integer' } }
const texts = { logicalType: 'list', elementSpecification: { logicalType: 'string' } }
const many = Array.from({ length: 100_000 }, (_, i) => i)
// Each look at the clock is a millisecond later: one in 1,024 elements, five of which are a slice.
const turnsOfMany = many.length / 1_024 / 6
const escaped = '"\n€😀'.repeat(2 ** 19)

const embedded = (logicalType: object): object[] => [
  { className: 'Inner', isReferenceable: false, attributes: [{ attributeName: 'values', ...logicalType }] },
  classOf('Part', { title: 'string', inner: { logicalType: 'object', class: 'Inner' } }),
]

/** Of each: its classes, the value, another one, and how many turns others get at least while it is worked on. */
const kinds: Record<string, { classes: object[]; attribute: string; values: unknown[]; turns: number }> = {
  'a list of numbers': {
    classes: [classOf('Part', { title: 'string', numbers })],
    attribute: 'numbers',
    values: [many, many.toReversed()],
    turns: turnsOfMany,
  },
  'a list of texts': {
    classes: [classOf('Part', { title: 'string', texts })],
    attribute: 'texts',
    values: [many.map(String), many.map((i) => `${i} €`)],
    turns: turnsOfMany,
  },
  'a list in an embedded object': {
    classes: embedded(numbers),
    attribute: 'inner',
    values: [{ values: many }, { values: many.toReversed() }],
    turns: turnsOfMany,
  },
  'a list of embedded objects': {
    classes: [
      { className: 'Inner', isReferenceable: false, attributes: [{ attributeName: 'n', logicalType: 'integer' }] },
      classOf('Part', {
        title: 'string',
        inner: { logicalType: 'list', elementSpecification: { logicalType: 'object', class: 'Inner' } },
      }),
    ],
    attribute: 'inner',
    values: [many.map((n) => ({ n })), many.toReversed().map((n) => ({ n }))],
    turns: turnsOfMany,
  },
}

async function objectOf(fd: FederatedDatabase, oid: string): Promise<Record<string, unknown>> {
  return JSON.parse((await fd.readObject(oid)).toString()) as Record<string, unknown>
}

for (const [what, { classes, attribute, values, turns }] of Object.entries(kinds)) {
  it(`others have their turn while ${what} is created, read, replaced, and left as it is`, () =>
    withFd(classes, async (fd) => {
      const [first, second] = values
      let oid = ''
      const works: Record<string, { act: () => Promise<unknown>; turns: number; shown: unknown }> = {
        create: {
          act: async () => {
            oid = await fd.createObject('Part', { [attribute]: first })
          },
          turns: 2 * turns,
          shown: first,
        },
        read: { act: async () => fd.readObject(oid), turns, shown: first },
        'change of another attribute': {
          act: () => fd.updateObject(oid, { title: 'new' }),
          turns: 2 * turns,
          shown: first,
        },
        replace: { act: () => fd.updateObject(oid, { [attribute]: second }), turns: 3 * turns, shown: second },
      }
      for (const [name, { act, turns: least, shown }] of Object.entries(works)) {
        expect(await turnsDuring(act), name).toBeGreaterThan(least)
        expect((await objectOf(fd, oid))[attribute], name).toEqual(shown)
      }
    }))
}

it('others have their turn while a long text is written and read', () =>
  withFd([classOf('Part', { title: 'string', text: 'string' })], async (fd) => {
    for (const text of ['x'.repeat(2 ** 22), escaped, `x${escaped}`]) {
      let oid = ''
      const turns = await turnsDuring(async () => {
        oid = await fd.createObject('Part', { text })
      })
      // A piece has 65,536 characters or bytes.
      expect(turns).toBeGreaterThan(text.length / 65_536 / 8)
      expect(await turnsDuring(async () => fd.readObject(oid))).toBeGreaterThan(text.length / 65_536 / 8)
      expect((await objectOf(fd, oid)).text).toBe(text)
      await fd.updateObject(oid, { title: 'new' })
      expect((await objectOf(fd, oid)).text).toBe(text)
    }
  }))

it('a fault within very many elements is told with its place', () =>
  withFd([...embedded(numbers), classOf('Plain', { numbers })], async (fd) => {
    const faulty = [...many, 'x']
    for (const [className, attributes, place] of [
      ['Plain', { numbers: faulty }, ['attributes', 'numbers', many.length]],
      ['Plain', { numbers: { action: 'add', elements: faulty } }, ['attributes', 'numbers', 'elements', many.length]],
      ['Part', { inner: { values: faulty } }, ['attributes', 'inner', 'values', many.length]],
    ] as const) {
      await expect(fd.createObject(className, attributes)).rejects.toMatchObject({
        type: 'MalformedValue',
        errors: [{ place }],
      })
    }
  }))
