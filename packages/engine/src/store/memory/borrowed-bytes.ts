/**
 * Lends copies of bytes and overwrites them afterwards, so that code that keeps lent bytes reads garbage in every test.
 */
import type { Bytes } from '../store.ts'

const poison = 0xdd

export interface BorrowTracker {
  /** Calls `use` with copies, which are overwritten when it returns, or when the next bytes are lent or read. */
  borrow<T>(first: Bytes, second: Bytes, use: (first: Bytes, second: Bytes) => T): T
  /** Overwrites what is lent at present: called by every read, because a read may overwrite on other drivers too. */
  invalidate(): void
}

export function trackBorrows(): BorrowTracker {
  let lent: Uint8Array[] = []
  function invalidate(): void {
    for (const bytes of lent) bytes.fill(poison)
    lent = []
  }
  return {
    invalidate,
    borrow(first, second, use) {
      invalidate()
      // Never from the pool of Node: the buffer behind the bytes holds nothing else.
      const copies = [new Uint8Array(first), new Uint8Array(second)] as const
      lent = [...copies]
      try {
        return use(...copies)
      } finally {
        for (const bytes of copies) bytes.fill(poison)
      }
    },
  }
}
