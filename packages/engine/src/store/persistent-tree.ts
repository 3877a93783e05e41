/** A persistent sorted map: each change returns a new tree that shares nodes with the old one. */
import type { Bytes, KeyRange } from './store.ts'

export interface PersistentTree {
  readonly key: Bytes
  readonly value: Bytes
  readonly left: PersistentTree | undefined
  readonly right: PersistentTree | undefined
  /** Entries in the tree. */
  readonly size: number
}

type Tree = PersistentTree | undefined

// A tree balanced by weight (Nievergelt and Reingold): no side is more than `delta` times as large as the other.
const delta = 3
const ratio = 2

export function treeGet(tree: Tree, key: Bytes): Bytes | undefined {
  let at = tree
  while (at !== undefined) {
    const order = Buffer.compare(key, at.key)
    if (order === 0) return at.value
    at = order < 0 ? at.left : at.right
  }
  return undefined
}

export function treeWith(tree: Tree, key: Bytes, value: Bytes): PersistentTree {
  if (tree === undefined) return node(key, value, undefined, undefined)
  const order = Buffer.compare(key, tree.key)
  if (order === 0) return node(key, value, tree.left, tree.right)
  return order < 0
    ? balanced(tree.key, tree.value, treeWith(tree.left, key, value), tree.right)
    : balanced(tree.key, tree.value, tree.left, treeWith(tree.right, key, value))
}

export function treeWithout(tree: Tree, key: Bytes): Tree {
  if (tree === undefined) return undefined
  const order = Buffer.compare(key, tree.key)
  if (order < 0) return balanced(tree.key, tree.value, treeWithout(tree.left, key), tree.right)
  if (order > 0) return balanced(tree.key, tree.value, tree.left, treeWithout(tree.right, key))
  if (tree.left === undefined) return tree.right
  if (tree.right === undefined) return tree.left
  const next = first(tree.right)
  return balanced(next.key, next.value, tree.left, treeWithout(tree.right, next.key))
}

/** The entries of a range in order, or in reverse. */
export function* treeEntries(tree: Tree, range: KeyRange, reverse: boolean): Generator<PersistentTree> {
  // The entries of the range that follow, nearest last.
  const stack: PersistentTree[] = []
  const descend = (from: Tree): void => {
    let at = from
    while (at !== undefined) {
      const isLow = range.from !== undefined && Buffer.compare(at.key, range.from) < 0
      const isHigh = range.to !== undefined && Buffer.compare(at.key, range.to) >= 0
      if (isLow) at = at.right
      else if (isHigh) at = at.left
      else {
        stack.push(at)
        at = reverse ? at.right : at.left
      }
    }
  }
  descend(tree)
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    yield at
    descend(reverse ? at.left : at.right)
  }
}

function node(key: Bytes, value: Bytes, left: Tree, right: Tree): PersistentTree {
  return { key, value, left, right, size: (left?.size ?? 0) + (right?.size ?? 0) + 1 }
}

function first(tree: PersistentTree): PersistentTree {
  let at = tree
  while (at.left !== undefined) at = at.left
  return at
}

/** Rebalances a node whose sides differ by at most one insertion or removal too many, by a rotation. */
function balanced(key: Bytes, value: Bytes, left: Tree, right: Tree): PersistentTree {
  const leftSize = left?.size ?? 0
  const rightSize = right?.size ?? 0
  if (leftSize + rightSize > 1) {
    if (right !== undefined && rightSize > delta * leftSize) return leftRotated(key, value, left, right)
    if (left !== undefined && leftSize > delta * rightSize) return rightRotated(key, value, left, right)
  }
  return node(key, value, left, right)
}

function leftRotated(key: Bytes, value: Bytes, left: Tree, right: PersistentTree): PersistentTree {
  const inner = right.left
  if (inner === undefined || inner.size < ratio * (right.right?.size ?? 0)) {
    return node(right.key, right.value, node(key, value, left, inner), right.right)
  }
  const leftChild = node(key, value, left, inner.left)
  return node(inner.key, inner.value, leftChild, node(right.key, right.value, inner.right, right.right))
}

function rightRotated(key: Bytes, value: Bytes, left: PersistentTree, right: Tree): PersistentTree {
  const inner = left.right
  if (inner === undefined || inner.size < ratio * (left.left?.size ?? 0)) {
    return node(left.key, left.value, left.left, node(key, value, inner, right))
  }
  const rightChild = node(key, value, inner.right, right)
  return node(inner.key, inner.value, node(left.key, left.value, left.left, inner.left), rightChild)
}
