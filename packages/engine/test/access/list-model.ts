/** Lists of embedded objects of which a caller sees a part: which elements a replacement consists of, and what each of them hides then. */
import type { AccessPolicy } from '../../src/access/access-policy.ts'
import { coveringGrants, droppedAttributes } from './access-world.ts'

/**
 * At which position of `before` each element of `after` was, by how they look; undefined for a new one. `unclear` where nobody who sees only that could say: some look the
 * same, and not all of them stay or go; or more than one element has changed.
 */
export function originsOf(
  before: readonly string[],
  after: readonly string[],
): readonly (number | undefined)[] | 'unclear' {
  const isEqual = (i: number): boolean => before[i] === after[i]
  const positions = [...Array(Math.max(before.length, after.length)).keys()]
  const differing = positions.filter((i) => !isEqual(i))
  const isPrefix = differing.every((i) => i >= Math.min(before.length, after.length))
  const isOneChanged = before.length === after.length && differing.length === 1
  if (isPrefix || isOneChanged) return after.map((_look, i) => (i < before.length ? i : undefined))
  const of = (looks: readonly string[], look: string): number[] => positions.filter((i) => looks[i] === look)
  const isSplit = before.some((look) => ![0, of(before, look).length].includes(of(after, look).length))
  if (isSplit) return 'unclear'
  const gone = positions.filter((i) => i < before.length && !after.includes(before[i] as string))
  const come = positions.filter((i) => i < after.length && !before.includes(after[i] as string))
  if (gone.length > 0 && come.length > 0 && (gone.length + come.length > 2 || gone[0] !== come[0])) return 'unclear'
  return after.map((look, i) => {
    const nth = of(after, look).indexOf(i)
    return come.includes(i) ? gone[0] : of(before, look)[nth]
  })
}

/** Whether elements of class `Tip` may keep something from the caller, by its grants alone. */
export function mayTipsHide(policy: AccessPolicy): boolean {
  const dropped = droppedAttributes(policy).Tip
  const isRuled = (cls: string): boolean => coveringGrants(policy, cls).every(({ rules }) => rules?.read !== undefined)
  const names = { Item: ['to', 'more'], Hub: ['hub'] }
  const mayName = (cls: keyof typeof names, ruled: boolean): boolean =>
    ruled && names[cls].some((name) => !dropped.includes(name))
  return dropped.length > 0 || mayName('Item', isRuled('Item') || isRuled('SubItem')) || mayName('Hub', isRuled('Hub'))
}
