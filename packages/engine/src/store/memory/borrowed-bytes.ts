/** Passes on copies of bytes and overwrites them afterwards, so that code that retains borrowed bytes reads garbage in every test. */
import type { Bytes } from '../store.ts'

const poison = 0xdd

export interface BorrowTracker {
  /** Calls `use` with copies, which are overwritten when it returns, or when the next bytes are borrowed or read. */
  borrow<T>(first: Bytes, second: Bytes, use: (first: Bytes, second: Bytes) => T): T
  /** Overwrites the borrowed copies: called by every read, because on other drivers a read may overwrite them too. */
  invalidate(): void
}

export function trackBorrows(): BorrowTracker {
  let borrowed: Uint8Array[] = []
  function invalidate(): void {
    for (const bytes of borrowed) bytes.fill(poison)
    borrowed = []
  }
  return {
    invalidate,
    borrow(first, second, use) {
      invalidate()
      // Not from Node's buffer pool: the underlying buffer contains nothing else.
      const copies = [new Uint8Array(first), new Uint8Array(second)] as const
      borrowed = [...copies]
      try {
        return use(...copies)
      } finally {
        for (const bytes of copies) bytes.fill(poison)
      }
    },
  }
}
