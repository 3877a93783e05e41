/** Lists that grow in parts. */
import { expect, it } from 'vitest'
import { elementsOfPart, SteadyList } from '../../src/budget/steady-list.ts'

it('holds what an array holds, in the same order, before and after it is in several parts', () => {
  for (const count of [0, 1, elementsOfPart - 1, elementsOfPart, elementsOfPart + 1, 3 * elementsOfPart]) {
    const list = new SteadyList<number>()
    for (let i = 0; i < count; i++) list.push(i)
    const expected = Array.from({ length: count }, (_, i) => i)
    for (const at of new Set([0, elementsOfPart - 1, elementsOfPart, count - 1])) {
      if (at < 0 || at >= count) continue
      expect(list.at(at)).toBe(at)
      list.set(at, at + 0.5)
      expected[at] = at + 0.5
    }
    expect(list.length).toBe(count)
    expect([...list]).toEqual(expected)
    expect([...list.all()]).toEqual(expected)
    expect(list.all().length).toBe(count)
  }
})
