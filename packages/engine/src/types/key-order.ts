/** Stable sorts by OID or text, in byte order; fast enough for 200,000 keys in one step. */
import { compareOids, type Oid, oidHalves } from './oid.ts'

/** The position of an element, stored in the lower bits of a number whose upper 32 bits are half of an OID. */
const positions = 2 ** 21

export function inOidOrder<T>(all: readonly T[], oidOf: (one: T) => Oid): readonly T[] {
  if (isInOrder(all, (one, other) => compareOids(oidOf(one), oidOf(other)) <= 0)) return all
  if (all.length > positions) return all.toSorted((one, other) => compareOids(oidOf(one), oidOf(other)))
  // Sorts as numbers, which calls no comparator: by the lower halves, then by the upper ones, of which there are usually few.
  const { upper, lower } = oidHalves(all, oidOf)
  const order = sorted(all.length, (i) => lower[i] as number)
  if (upper.some((half) => half !== upper[0])) {
    const byUpper = sorted(all.length, (i) => upper[order[i] as number] as number)
    for (let i = 0; i < byUpper.length; i++) byUpper[i] = order[byUpper[i] as number] as number
    order.set(byUpper)
  }
  const inOrder: T[] = []
  for (let i = 0; i < order.length; i++) inOrder.push(all[order[i] as number] as T)
  return inOrder
}

/** The positions from 0 to `count`, ordered by integers below 2^32. */
function sorted(count: number, numberAt: (position: number) => number): Uint32Array {
  const numbers = new Float64Array(count)
  for (let i = 0; i < count; i++) numbers[i] = numberAt(i) * positions + i
  numbers.sort()
  const order = new Uint32Array(count)
  for (let i = 0; i < count; i++) {
    const number = numbers[i] as number
    order[i] = number - Math.floor(number / positions) * positions
  }
  return order
}

export function inTextOrder<T>(all: readonly T[], textOf: (one: T) => string): readonly T[] {
  const texts = all.map(textOf)
  const ranks = texts.some(hasSurrogates) ? texts.map(bytesAsText) : texts
  if (isInOrder(ranks, (one, other) => one <= other)) return all
  const positionsInOrder = [...ranks.keys()].sort((i, j) => {
    const [one, other] = [ranks[i] as string, ranks[j] as string]
    return one < other ? -1 : one > other ? 1 : 0
  })
  return positionsInOrder.map((i) => all[i] as T)
}

/** For distinct texts; takes half the time of `inTextOrder`. */
export function sortedTexts(texts: string[]): readonly string[] {
  return texts.some(hasSurrogates) ? inTextOrder(texts, (text) => text) : texts.sort()
}

/** UTF-16 units have the order of code points unless there are surrogates. */
function hasSurrogates(text: string): boolean {
  return /[\ud800-\udfff]/.test(text)
}

function bytesAsText(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

function isInOrder<T>(all: readonly T[], areInOrder: (one: T, other: T) => boolean): boolean {
  for (let i = 1; i < all.length; i++) if (!areInOrder(all[i - 1] as T, all[i] as T)) return false
  return true
}
