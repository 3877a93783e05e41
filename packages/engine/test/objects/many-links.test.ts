/** Objects of very many links: a read writes their text while it reads them, and what it holds counts. */
import { expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import type { EngineLimits } from '../../src/limits.ts'
import { classOf, outcome, read, toMany, toOne, withFd } from '../engine/open-fd.ts'

const ofParts = { logicalType: 'reference', referencedClass: 'Part' }
const classes = [
  classOf('Whole', {
    parts: toMany('Part', 'whole'),
    marked: { logicalType: 'set', elementSpecification: { ...ofParts, inverseAttribute: 'markers' } },
    named: { logicalType: 'map', keySpecification: { logicalType: 'string' }, elementSpecification: ofParts },
  }),
  classOf('Part', { whole: toOne('Whole', 'parts'), markers: toMany('Whole', 'marked') }),
]

function partsOf(fd: FederatedDatabase, whole: string, count: number): Promise<string[]> {
  return fd.createObjects(Array.from({ length: count }, () => ({ class: 'Part', attributes: { whole } })))
}

it('the representation has all links of lists, sets and maps, in their order', async () => {
  await withFd(classes, async (fd) => {
    const hub = await fd.createObject('Whole', {})
    const parts = await partsOf(fd, hub, 2_100)
    const named = Object.fromEntries(parts.map((part, i) => [`part ${i}`, part]))
    await fd.updateObject(hub, { marked: parts, named })
    const shown = await read(fd, hub)
    expect(shown.parts).toEqual(parts)
    expect(new Set(shown.marked as string[])).toEqual(new Set(parts))
    expect(shown.named).toEqual(named)
    const few = await fd.createObject('Whole', { marked: parts.slice(0, 3) })
    expect(await read(fd, few)).toMatchObject({ parts: [], marked: parts.slice(0, 3), named: {} })
  })
})

it('1.5.14 what a read holds has a bound, and is given back', async () => {
  const outcomeUnder = async (limits: Partial<EngineLimits>): Promise<string> => {
    let seen = ''
    const use: Parameters<typeof withFd>[1] = async (fd) => {
      const [small, large] = [await fd.createObject('Whole', {}), await fd.createObject('Whole', {})]
      await partsOf(fd, small, 1_300)
      await partsOf(fd, large, 9_000)
      seen = await outcome(Promise.resolve().then(() => fd.readObject(large)))
      for (let i = 0; i < 10; i++) expect((await read(fd, small)).parts).toHaveLength(1_300)
    }
    await withFd(classes, use, limits)
    return seen
  }
  expect(await outcomeUnder({})).toBe('ok')
  expect(await outcomeUnder({ statementBytesMax: 200_000 })).toBe('LimitExceeded')
})
