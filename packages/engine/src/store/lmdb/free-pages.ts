/** Reads the free pages of a data file: a tree of lists, keyed by the transaction that freed the pages. */
import type { MetaPage } from './data-file.ts'
import { type WalkContext, walkTree } from './walk-tree.ts'

export const freePagesName = 'the list of free pages'

/** Walks the tree and passes every listed page to `use`. */
export function walkFreePages(context: WalkContext, { freePages }: MetaPage, use: (page: number) => void): void {
  const byTransaction = (one: Buffer, other: Buffer): number => {
    if (one.length !== 8 || other.length !== 8) return Buffer.compare(one, other)
    const [first, second] = [one.readBigUInt64LE(0), other.readBigUInt64LE(0)]
    return first < second ? -1 : first > second ? 1 : 0
  }
  walkTree(
    context,
    freePages,
    {
      name: freePagesName,
      entry(key, value) {
        if (key.length !== 8 || Number(key.readBigUInt64LE(0)) > context.transaction)
          context.problem(`${freePagesName} has an entry of a transaction that never was`)
        if (value !== undefined) for (const page of listedPages(context, value)) use(page)
      },
    },
    byTransaction,
  )
}

/** A count, then page numbers. A negative number is the length of the run that begins at the next page; zero means none. */
function listedPages({ problem, lastPage }: WalkContext, value: Buffer): number[] {
  const pages: number[] = []
  const count = value.length < 8 ? -1 : Number(value.readBigUInt64LE(0))
  if (count < 0 || (count + 1) * 8 > value.length) {
    problem('an entry of the list of free pages is longer than it can be')
    return pages
  }
  let inRow = 1
  for (let at = 8; at <= count * 8; at += 8) {
    const number = Number(value.readBigInt64LE(at))
    if (number < 0) inRow = -number
    if (number <= 0) continue
    if (number + inRow - 1 > lastPage)
      problem(`the list of free pages has page ${number + inRow - 1}, which does not exist`)
    else for (let page = number; page < number + inRow; page++) pages.push(page)
    inRow = 1
  }
  return pages
}
