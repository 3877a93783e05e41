/** Reads the list of databases of a data file, which contains exactly what Ashlar stores there. */
import { isTailIntact, tailKey } from './appended-tail.ts'
import { treeHeaderProblem } from './check-tree-header.ts'
import { type MetaPage, type Node, nodeFlag, type TreeHeader, treeHeader, treeHeaderBytes } from './data-file.ts'
import { entriesKeys } from './storage-layout.ts'
import { type WalkContext, walkTree } from './walk-tree.ts'

export interface EntriesTree {
  readonly name: string
  readonly tree: TreeHeader
  readonly hasChecksums: boolean
  /** The block appended last, which is outside the tree; damaged if its checksum does not match. */
  readonly tail: 'absent' | 'whole' | 'damaged'
}

const listName = 'the list of databases'

/** The tree of the entries; undefined if there is none, which is a problem unless the file is new. */
export function readMainTree(context: WalkContext, { main, transaction }: MetaPage): EntriesTree | undefined {
  // The list is written by the first transaction of a store.
  if (main.root === undefined && transaction === 0) return undefined
  const found: Omit<EntriesTree, 'tail'>[] = []
  let tail: EntriesTree['tail'] = 'absent'
  let isMarked = false
  let hasOnlyExpectedNames = true
  const entry = (key: Buffer, value: Buffer | undefined, node: Node): void => {
    const hasChecksums = key.equals(entriesKeys.checked)
    // Earlier versions stored a tail of the largest size on a page of its own.
    if (key.equals(tailKey) && (node.flags === 0 || node.flags === nodeFlag.overflow))
      tail = value !== undefined && isTailIntact(value) ? 'whole' : 'damaged'
    else if (key.equals(entriesKeys.plain) && node.flags === 0) isMarked = value?.equals(entriesKeys.marker) === true
    else if (!hasChecksums && !key.equals(entriesKeys.plain)) hasOnlyExpectedNames = false
    else if (node.flags === nodeFlag.tree && value?.length === treeHeaderBytes) {
      const name = `database ${key.toString('latin1', 0, key.length - 1)}`
      found.push({ name, tree: treeHeader(value), hasChecksums })
    }
  }
  walkTree(context, main, { name: listName, nodeFlags: nodeFlag.tree, entry })
  const entries = found[0] && { ...found[0], tail }
  if (entries === undefined || found.length > 1 || !hasOnlyExpectedNames || entries.hasChecksums !== isMarked) {
    context.problem(`${listName} does not name that of the entries and nothing else; it is damaged, or not Ashlar's`)
    return entries
  }
  const problem = treeHeaderProblem(entries.tree, { flags: 0, pad: 0, lastPage: context.lastPage })
  if (problem !== undefined) context.problem(`${entries.name} ${problem}`)
  return entries
}
