/** Validates the header of a tree before the tree is read. */
import type { TreeHeader } from './data-file.ts'

/** Deeper than any tree of LMDB. */
export const treeDepthMax = 32

export interface ExpectedTree {
  readonly flags: number
  readonly pad: number
  readonly lastPage: number
}

/** The problem as the end of a sentence; undefined if the header is valid. */
export function treeHeaderProblem(tree: TreeHeader, expected: ExpectedTree): string | undefined {
  const { root, depth, branchPages, leafPages, overflowPages, entries } = tree
  if (tree.flags !== expected.flags) return `has flags ${tree.flags}, and should have ${expected.flags}`
  if (tree.pad !== expected.pad) return 'has a header that is damaged'
  if (root === undefined) {
    const isEmpty = depth === 0 && branchPages === 0 && leafPages === 0 && overflowPages === 0 && entries === 0
    return isEmpty ? undefined : 'leads to no page, and its header says that it has some'
  }
  const { lastPage } = expected
  if (root < 2 || root > lastPage || depth === 0 || depth > treeDepthMax) return 'leads to pages that do not exist'
  const isPossible =
    // Each level above the leaves has a page, and each leaf an entry.
    (depth === 1 ? branchPages === 0 && leafPages === 1 : branchPages >= depth - 1 && leafPages >= 1) &&
    entries >= leafPages &&
    branchPages + leafPages + overflowPages < lastPage
  return isPossible ? undefined : 'has a header whose counts cannot be'
}
