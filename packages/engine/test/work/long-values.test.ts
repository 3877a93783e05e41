/** One value of very many elements, or a very long text, is read, changed and shown. */
import { expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, withFd } from '../engine/open-fd.ts'

const numbers = { logicalType: 'list', elementSpecification: { logicalType: 'integer' } }
const texts = { logicalType: 'list', elementSpecification: { logicalType: 'string' } }
const many = Array.from({ length: 100_000 }, (_, i) => i)
const escaped = '"\n€😀'.repeat(2 ** 19)

const embedded = (logicalType: object): object[] => [
  { className: 'Inner', isReferenceable: false, attributes: [{ attributeName: 'values', ...logicalType }] },
  classOf('Part', { title: 'string', inner: { logicalType: 'object', class: 'Inner' } }),
]

/** Of each: its classes, the value and another one. */
const kinds: Record<string, { classes: object[]; attribute: string; values: unknown[] }> = {
  'a list of numbers': {
    classes: [classOf('Part', { title: 'string', numbers })],
    attribute: 'numbers',
    values: [many, many.toReversed()],
  },
  'a list of texts': {
    classes: [classOf('Part', { title: 'string', texts })],
    attribute: 'texts',
    values: [many.map(String), many.map((i) => `${i} €`)],
  },
  'a list in an embedded object': {
    classes: embedded(numbers),
    attribute: 'inner',
    values: [{ values: many }, { values: many.toReversed() }],
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
  },
}

async function objectOf(fd: FederatedDatabase, oid: string): Promise<Record<string, unknown>> {
  return JSON.parse((await fd.readObject(oid)).toString()) as Record<string, unknown>
}

for (const [what, { classes, attribute, values }] of Object.entries(kinds)) {
  it(`${what} is created, read, left as it is, and replaced`, () =>
    withFd(classes, async (fd) => {
      const [first, second] = values
      const oid = await fd.createObject('Part', { [attribute]: first })
      expect((await objectOf(fd, oid))[attribute]).toEqual(first)
      await fd.updateObject(oid, { title: 'new' })
      expect((await objectOf(fd, oid))[attribute]).toEqual(first)
      await fd.updateObject(oid, { [attribute]: second })
      expect((await objectOf(fd, oid))[attribute]).toEqual(second)
      expect((await fd.verify()).problems).toEqual([])
    }))
}

it('a long text is written and read', () =>
  withFd([classOf('Part', { title: 'string', text: 'string' })], async (fd) => {
    for (const text of ['x'.repeat(2 ** 22), escaped, `x${escaped}`, `\0\u001f\u007f\u2028${escaped}`]) {
      const oid = await fd.createObject('Part', { text })
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
