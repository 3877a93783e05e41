/** Own writes are found in key order as they are last, whatever was sorted before they took the place of others. */
import { expect, it } from 'vitest'
import type { Change } from '../../src/store/store.ts'
import { SortedWrites } from '../../src/transaction/sorted-writes.ts'
import { bytes, put, remove, text } from '../store/bytes.ts'

function putsOf(sorted: SortedWrites): string {
  return Array.from(sorted.all().putsIn({}), ({ key, value }) => `${text(key)}=${text(value)}`).join(' ')
}

it('changes that take the place of sorted ones, and of others, count', () => {
  const changes: Change[] = []
  const sorted = new SortedWrites(changes)
  for (const key of ['c', 'a', 'b']) changes.push(put(key, 'first'))
  expect(sorted.sortSome(2)).toBe(false)
  const replace = (position: number, change: Change): void => {
    changes[position] = change
    sorted.noteReplaced(position, change)
  }
  replace(0, put('c', 'second'))
  replace(2, put('b', 'second'))
  replace(1, remove('a'))
  replace(0, put('c', 'third'))
  expect(sorted.left).toBe(4)
  expect(sorted.sortSome(2)).toBe(false)
  expect(sorted.sortSome(2)).toBe(true)
  expect(sorted.left).toBe(0)
  expect(putsOf(sorted)).toBe('b=second c=third')
  expect(sorted.all().isDeleted(bytes('a'))).toBe(true)
  replace(1, put('a', 'again'))
  expect(putsOf(sorted)).toBe('a=again b=second c=third')
})
