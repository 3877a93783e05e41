/** A sorted map that never changes: each change answers a new tree that shares what it can with the old one. */
import type { Bytes, KeyRange } from './store.ts'

export interface SortedTree {
  readonly key: Bytes
  readonly value: Bytes
  readonly before: SortedTree | undefined
  readonly after: SortedTree | undefined
  /** Entries in the tree. */
  readonly size: number
}

type Tree = SortedTree | undefined

// A tree balanced by weight (Nievergelt and Reingold): no side is more than `heavier` times as large as the other.
const heavier = 3
const lopsided = 2

export function treeSize(tree: Tree): number {
  return tree === undefined ? 0 : tree.size
}

export function treeGet(tree: Tree, key: Bytes): Bytes | undefined {
  let at = tree
  while (at !== undefined) {
    const order = Buffer.compare(key, at.key)
    if (order === 0) return at.value
    at = order < 0 ? at.before : at.after
  }
  return undefined
}

export function treeWith(tree: Tree, key: Bytes, value: Bytes): SortedTree {
  if (tree === undefined) return node(key, value, undefined, undefined)
  const order = Buffer.compare(key, tree.key)
  if (order === 0) return node(key, value, tree.before, tree.after)
  return order < 0
    ? balanced(tree.key, tree.value, treeWith(tree.before, key, value), tree.after)
    : balanced(tree.key, tree.value, tree.before, treeWith(tree.after, key, value))
}

export function treeWithout(tree: Tree, key: Bytes): Tree {
  if (tree === undefined) return undefined
  const order = Buffer.compare(key, tree.key)
  if (order < 0) return balanced(tree.key, tree.value, treeWithout(tree.before, key), tree.after)
  if (order > 0) return balanced(tree.key, tree.value, tree.before, treeWithout(tree.after, key))
  if (tree.before === undefined) return tree.after
  if (tree.after === undefined) return tree.before
  const next = first(tree.after)
  return balanced(next.key, next.value, tree.before, treeWithout(tree.after, next.key))
}

/** The entries of a range in order; backwards when `reverse`. */
export function* treeEntries(tree: Tree, range: KeyRange, reverse: boolean): Generator<SortedTree> {
  // The stack holds what is in the range and still to come, nearest last.
  const stack: SortedTree[] = []
  const descend = (from: Tree): void => {
    let at = from
    while (at !== undefined) {
      const isLow = range.from !== undefined && Buffer.compare(at.key, range.from) < 0
      const isHigh = range.to !== undefined && Buffer.compare(at.key, range.to) >= 0
      if (isLow) at = at.after
      else if (isHigh) at = at.before
      else {
        stack.push(at)
        at = reverse ? at.after : at.before
      }
    }
  }
  descend(tree)
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    yield at
    descend(reverse ? at.before : at.after)
  }
}

function node(key: Bytes, value: Bytes, before: Tree, after: Tree): SortedTree {
  return { key, value, before, after, size: treeSize(before) + treeSize(after) + 1 }
}

function first(tree: SortedTree): SortedTree {
  let at = tree
  while (at.before !== undefined) at = at.before
  return at
}

/** A node whose sides may differ by one insertion or removal too many, put right by a rotation. */
function balanced(key: Bytes, value: Bytes, before: Tree, after: Tree): SortedTree {
  const sizes = [treeSize(before), treeSize(after)] as const
  if (sizes[0] + sizes[1] > 1) {
    if (after !== undefined && sizes[1] > heavier * sizes[0]) return leftRotated(key, value, before, after)
    if (before !== undefined && sizes[0] > heavier * sizes[1]) return rightRotated(key, value, before, after)
  }
  return node(key, value, before, after)
}

function leftRotated(key: Bytes, value: Bytes, before: Tree, after: SortedTree): SortedTree {
  const inner = after.before
  if (inner === undefined || inner.size < lopsided * treeSize(after.after)) {
    return node(after.key, after.value, node(key, value, before, inner), after.after)
  }
  const left = node(key, value, before, inner.before)
  return node(inner.key, inner.value, left, node(after.key, after.value, inner.after, after.after))
}

function rightRotated(key: Bytes, value: Bytes, before: SortedTree, after: Tree): SortedTree {
  const inner = before.after
  if (inner === undefined || inner.size < lopsided * treeSize(before.before)) {
    return node(before.key, before.value, before.before, node(key, value, inner, after))
  }
  const right = node(key, value, inner.after, after)
  return node(inner.key, inner.value, node(before.key, before.value, before.before, inner.before), right)
}
