/** What a dry run of a schema change costs, counted: it grows as the classes and attributes do, and is charged to the request. */
import { expect, it } from 'vitest'
import { classOf, outcome, withFd } from '../engine/open-fd.ts'
import { searchedBy, turnsDuring } from './count-work.ts'

const attributes = (prefix: string, count: number): Record<string, string> => {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, 'integer']))
}
const subclasses = (superClass: string, count: number): object[] => {
  return Array.from({ length: count }, (_, i) => classOf(`${superClass}${i}`, {}, { superClass }))
}

it('to replace twice as many attributes costs twice as much', async () => {
  const replaced = async (count: number): Promise<number> => {
    let searched = 0
    await withFd([classOf('Base', attributes('a', count)), ...subclasses('Base', 5)], async (fd) => {
      const more = Object.keys(attributes('b', count))
      searched = await searchedBy(() => {
        return fd.previewAlteration('Base', {
          attributesToDelete: Object.keys(attributes('a', count)),
          attributesToAdd: more.map((attributeName) => ({ attributeName, logicalType: 'integer' })),
        })
      })
    })
    return searched
  }
  expect(await replaced(200)).toBeLessThan(2.5 * (await replaced(100)))
})

it('others have their turn while the changes of many subclasses are told', () =>
  withFd([classOf('Base', attributes('a', 3)), ...subclasses('Base', 200)], async (fd) => {
    const more = { attributesToAdd: [{ attributeName: 'more', logicalType: 'integer' }] }
    // Each look at the clock is a millisecond later: one for each class, five of which are a slice.
    expect(await turnsDuring(() => fd.previewAlteration('Base', more))).toBeGreaterThan(200 / 6)
  }))

it('what it tells is charged to the request, alone and as a step', () =>
  withFd(
    [classOf('Base', attributes('a', 3))],
    async (fd) => {
      const classes = (count: number): object[] => subclasses('Base', count)
      expect(await outcome(fd.previewClasses(classes(10), 'create'))).toBe('ok')
      expect(await outcome(fd.previewClasses(classes(1_000), 'create'))).toBe('LimitExceeded')
      const asStep = fd.transaction((step) => step(1).previewClasses(classes(1_000), 'create'), false)
      expect(await outcome(asStep)).toBe('LimitExceeded')
    },
    { statementBytesMax: 100_000 },
  ))
