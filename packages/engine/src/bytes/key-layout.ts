/** The layout of all key spaces: the prefix of each part, and whether a copy of a store includes it. */
import { keySpace } from './key-space.ts'

/** The second byte of keys in the space `store`. Numbers are never reused. */
export const storePart = {
  /** The first key of a store. */
  formatVersion: 0x00,
  session: 0x01,
  upgradePosition: 0x02,
  heartbeat: 0x03,
  unfinishedCopy: 0x04,
  migration: 0x05,
} as const

/** The second byte of keys in the space `catalog`. Numbers are never reused. */
export const catalogPart = {
  version: 0x00,
  counters: 0x01,
  class: 0x02,
  shape: 0x03,
  index: 0x04,
  droppedIndexes: 0x05,
  droppedLinkAttributes: 0x06,
  progress: 0x07,
  sequence: 0x08,
  validation: 0x09,
} as const

interface KeyPart {
  readonly prefix: readonly number[]
  /** The rest of the key after the prefix; absent if the prefix is the key. */
  readonly rest?: string
  readonly holds: string
  /** False for entries of the processes that serve this store: a copy has other processes, which would mistake them for their own. */
  readonly isCopied: boolean
}

const { store, catalog, container, object, link, index, receipt, log, sequence } = keySpace
const classOrIndex = 'number (4)'

/** All parts in key order; `docs/storage-format.md` describes their values. */
export const keyLayout: readonly KeyPart[] = [
  { prefix: [store, storePart.formatVersion], holds: 'the version of the storage format', isCopied: true },
  // A session of the copy must not reuse a commit ID of an existing record.
  { prefix: [store, storePart.session], holds: 'the last session number given', isCopied: true },
  { prefix: [store, storePart.upgradePosition], holds: 'how far UpgradeObjects has come', isCopied: false },
  { prefix: [store, storePart.heartbeat], rest: 'session (3)', holds: 'the heartbeat of a session', isCopied: false },
  { prefix: [store, storePart.unfinishedCopy], holds: 'how far an unfinished copy has come', isCopied: false },
  { prefix: [store, storePart.migration], holds: 'how far a migration of the format has come', isCopied: true },
  { prefix: [catalog, catalogPart.version], holds: 'the version of the catalog', isCopied: true },
  { prefix: [catalog, catalogPart.counters], holds: 'the next class, shape and index numbers', isCopied: true },
  { prefix: [catalog, catalogPart.class], rest: classOrIndex, holds: 'a class', isCopied: true },
  { prefix: [catalog, catalogPart.shape], rest: classOrIndex, holds: 'a shape', isCopied: true },
  { prefix: [catalog, catalogPart.index], rest: classOrIndex, holds: 'an index', isCopied: true },
  {
    prefix: [catalog, catalogPart.droppedIndexes],
    rest: classOrIndex,
    holds: 'a dropped index to be cleared',
    isCopied: true,
  },
  {
    prefix: [catalog, catalogPart.droppedLinkAttributes],
    rest: 'attribute (4)',
    holds: 'a deleted attribute whose links are to be cleared',
    isCopied: true,
  },
  // The copy resumes background builds.
  {
    prefix: [catalog, catalogPart.progress],
    rest: classOrIndex,
    holds: 'how far an index build has come',
    isCopied: true,
  },
  { prefix: [catalog, catalogPart.sequence], rest: 'sequence (4)', holds: 'a sequence', isCopied: true },
  {
    prefix: [catalog, catalogPart.validation],
    rest: 'class (4)',
    holds: 'how far the change of a class in the background has come',
    isCopied: true,
  },
  {
    prefix: [container],
    rest: 'nothing, or database (2), container (2)',
    holds: 'the next container, or what a container holds',
    isCopied: true,
  },
  { prefix: [object], rest: 'OID (8)', holds: 'the record of an object', isCopied: true },
  {
    prefix: [link],
    rest: 'owner (8), attribute (4), kind (1), position (12) or target (8) or map key',
    holds: 'a link',
    isCopied: true,
  },
  { prefix: [index], rest: 'index (4), key', holds: 'an index entry', isCopied: true },
  // A client may repeat a request to the copy that it first sent to the original.
  {
    prefix: [receipt],
    rest: 'group (1), 0, digest (16) or group (1), 1, minute (4), digest (16)',
    holds: 'what was replied to a request with a key of its own, or when that ends',
    isCopied: true,
  },
  // Followers continue with the changes of the copy.
  {
    prefix: [log, 0],
    rest: 'epoch (4), commit number (8), part (4), length (4)',
    holds: 'what a commit has changed, or several',
    isCopied: true,
  },
  {
    prefix: [log, 1],
    rest: 'epoch (4)',
    holds: 'up to which commit the change log was removed',
    isCopied: true,
  },
  // They continue in the copy, like other followers.
  {
    prefix: [log, 2],
    rest: 'digest of a name (16)',
    holds: 'how far a subscription to the changes has come',
    isCopied: true,
  },
  {
    prefix: [log, 3],
    rest: 'digest of a name (16), number (8)',
    holds: 'what a subscription could not deliver',
    isCopied: true,
  },
  { prefix: [sequence], rest: 'sequence (4)', holds: 'the next number of a sequence', isCopied: true },
]

/** The key of a part with a single entry. */
export function soleKey(part: keyof typeof storePart): Buffer {
  return Buffer.from([store, storePart[part]])
}

const excludedParts = keyLayout.filter((part) => !part.isCopied)

/** Whether a copy of the store includes the entry. Keys of unknown parts are copied: a later version may know them. */
export function isCopied(key: Uint8Array): boolean {
  return !excludedParts.some(({ prefix }) => prefix.every((byte, i) => key[i] === byte))
}
