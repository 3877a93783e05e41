/** What a set without an order holds is what a `Set` would. */
import { expect, it } from 'vitest'
import { type Placed, UnorderedSet } from '../../src/store/unordered-set.ts'

it('holds what was added and not deleted since, in whatever order that was', () => {
  const all: Placed[] = Array.from({ length: 40 }, () => ({}))
  const set = new UnorderedSet()
  const plain = new Set<Placed>()
  for (let step = 0; step < 2_000; step++) {
    const member = all[(step * 17 + (step >> 3)) % all.length] as Placed
    if (plain.has(member)) set.delete(member)
    else set.add(member)
    if (!plain.delete(member)) plain.add(member)
    const members = set.all()
    expect(members).toHaveLength(plain.size)
    expect(new Set(members)).toEqual(plain)
  }
  const [first] = set.all()
  set.delete(first as Placed)
  set.delete(first as Placed)
  expect(set.all()).toHaveLength(plain.size - 1)
})
