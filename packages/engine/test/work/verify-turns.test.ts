/** Turns that others get while the consistency check looks at an object of very many elements. */
import { expect, it } from 'vitest'
import { classOf, toOne, withFd } from '../engine/open-fd.ts'
import { turnsDuring } from './count-work.ts'

const elements = 100_000
// Each look at the clock is a millisecond later: one in 1,024 elements, five of which are a slice.
const turnsOfElements = elements / 1_024 / 6
const numbers = { logicalType: 'list', elementSpecification: { logicalType: 'integer' } }

it('others have their turn while the record of such an object is checked, and while others ask for it', () =>
  withFd(
    [
      classOf('Holder', { numbers, one: toOne('Other', 'holder') }),
      classOf('Other', { holder: toOne('Holder', 'one') }),
    ],
    async (fd) => {
      const many = Array.from({ length: elements }, (_, i) => i)
      const holder = await fd.createObject('Holder', { numbers: many })
      const before = await turnsDuring(() => fd.verify())
      expect(before).toBeGreaterThan(turnsOfElements)
      // The partner asks what the record says of it.
      await fd.createObject('Other', { holder })
      expect(await turnsDuring(() => fd.verify())).toBeGreaterThan(before + turnsOfElements / 2)
      expect((await fd.verify()).problems).toEqual([])
    },
  ))
