/** The leaf reader of a snapshot, if the data file can be read directly. */
import { treeDepthMax } from './check-tree-header.ts'
import { treeHeader, treeHeaderBytes } from './data-file.ts'
import { borrowedBytes, noteValueBuffer } from './entry-cursor.ts'
import { giveBack, takeLeafBuffer } from './leaf-buffer.ts'
import { LeafReader } from './leaf-reader.ts'
import { isWriting } from './lmdb-internals.ts'
import type { Environment } from './lmdb-js.ts'
import type { Pin } from './read-pins.ts'
import { entriesKeys } from './storage-layout.ts'
import { VerifiedPages } from './verified-pages.ts'

/** Takes the reader out of the pin, so that nested ranges do not share it; null if there is none. Must be put back. */
export function takeLeaves(environment: Environment, pin: Pin): LeafReader | null {
  // The list of databases would be read through the write transaction in progress.
  if (isWriting(environment)) return null
  const leaves = pin.leaves === undefined ? openLeaves(environment, pin) : pin.leaves
  pin.leaves = leaves === null ? null : undefined
  return leaves
}

export function putBackLeaves(pin: Pin, leaves: LeafReader): void {
  endLeaves(pin)
  pin.leaves = leaves
}

/** Must be called before the read transaction ends. */
export function endLeaves(pin: Pin): void {
  if (pin.leaves) giveBack(pin.leaves.buffer)
  pin.leaves = null
}

/** Reads the root of the tree through the read transaction. */
function openLeaves({ dataFile, list }: Environment, pin: Pin): LeafReader | null {
  if (dataFile === undefined) return null
  const found = list.getBinaryFast(entriesKeys.checked, pin)
  if (found?.length !== treeHeaderBytes) return null
  noteValueBuffer(found)
  const tree = treeHeader(borrowedBytes(found, treeHeaderBytes))
  const isPossible = tree.root !== undefined && tree.flags === 0 && tree.depth > 0 && tree.depth <= treeDepthMax
  if (!isPossible) return null
  dataFile.verifiedPages ??= new VerifiedPages()
  return new LeafReader(dataFile.descriptor, dataFile.verifiedPages, takeLeafBuffer(dataFile.pageBytes), tree)
}
