/** Which elements of a list those of its replacement are, by how they look (contract 9.4.10). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exactOrigins } from '../../src/access/element-origins.ts'
import { originsOf } from './list-model.ts'

describe('which elements those of a replaced list are', () => {
  const looks = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 6 })

  it('is told as by looking at each pair of them', () => {
    fc.assert(
      fc.property(looks, looks, (before, after) => {
        expect(exactOrigins(before, after) ?? 'unclear').toEqual(originsOf(before, after))
      }),
      { numRuns: 5_000 },
    )
  })

  it('is never told of two as of one, nor of others than those that look the same but for one at its place', () => {
    fc.assert(
      fc.property(looks, looks, (before, after) => {
        const origins = exactOrigins(before, after)
        if (origins === undefined) return
        const known = origins.filter((from) => from !== undefined)
        expect(new Set(known).size).toBe(known.length)
        const changed = origins.flatMap((from, i) =>
          from === undefined || before[from] === after[i] ? [] : [[from, i]],
        )
        expect(changed.length).toBeLessThan(2)
        for (const [from, i] of changed) expect(from).toBe(i)
      }),
      { numRuns: 5_000 },
    )
  })
})
