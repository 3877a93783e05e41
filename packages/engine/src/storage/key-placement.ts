/**
 * The placement of keys, by which a distributed store splits its table. Within one key space, placements ascend with keys, so that any range can be
 * read in key order. Part of the storage format.
 */
import { catalogVersionKey, keySpace } from '../bytes/key-space.ts'
import type { KeyPlacement, Segment } from '../store/key-placement.ts'
import type { Bytes, KeyRange } from '../store/store.ts'

/** Placements of indexes follow all placements of containers. */
const firstIndexPlacement = 0x4000_0000
/** Receipts are placed by their group; no container has so low a number. */
const firstReceiptPlacement = 1
const receiptPlacements = 16
const logPlacement = firstReceiptPlacement + receiptPlacements
const containersOfDatabase = 32_768

/** Catalog, container rows and the like share placement 0; objects and links are placed by container, index entries by index. */
function placementOf(key: Bytes): number {
  switch (key[0]) {
    case keySpace.object:
    case keySpace.link:
      return byteAt(key, 1) * 256 * containersOfDatabase + byteAt(key, 2) * containersOfDatabase + containerOf(key)
    case keySpace.index:
      return firstIndexPlacement + (uint32At(key, 1) % firstIndexPlacement)
    case keySpace.receipt:
      return firstReceiptPlacement + Math.min(byteAt(key, 1), receiptPlacements - 1)
    case keySpace.log:
      return logPlacement
    default:
      return 0
  }
}

function containerOf(key: Bytes): number {
  return Math.min(byteAt(key, 3) * 256 + byteAt(key, 4), containersOfDatabase - 1)
}

/** Absent bytes are zero: a truncated bound is the first key with that prefix. */
function byteAt(key: Bytes, at: number): number {
  return key[at] ?? 0
}

function uint32At(key: Bytes, at: number): number {
  return ((byteAt(key, at) * 256 + byteAt(key, at + 1)) * 256 + byteAt(key, at + 2)) * 256 + byteAt(key, at + 3)
}

const spread = [keySpace.object, keySpace.link, keySpace.index, keySpace.receipt, keySpace.log]
const noKey = Buffer.alloc(0)

/** The first key of each of these spaces, and of the space after it. */
const edges = [...new Set(spread.flatMap((space) => [space, space + 1]))].map((space) => Buffer.from([space]))

/** Values of links and index entries are OIDs. */
function mayBeLarge({ from }: Segment): boolean {
  return from[0] !== keySpace.link && from[0] !== keySpace.index
}

function segmentsOf({ from = noKey, to }: KeyRange): Segment[] {
  const isWithinSpace = from.length > 0 && to !== undefined && to[0] === from[0]
  const within = isWithinSpace
    ? []
    : edges.filter((edge) => Buffer.compare(edge, from) > 0 && (to === undefined || Buffer.compare(edge, to) < 0))
  const starts = [from, ...within]
  return starts.flatMap((start, i) => segment(start, starts[i + 1] ?? to) ?? [])
}

function segment(from: Bytes, to: Bytes | undefined): Segment | undefined {
  if (to !== undefined && Buffer.compare(from, to) >= 0) return undefined
  const isSpread = from[0] !== undefined && (spread as readonly number[]).includes(from[0])
  const firstPlacement = placementOf(from)
  return { firstPlacement, lastPlacement: isSpread ? lastPlacementBefore(from, to) : firstPlacement, from, to }
}

/** The last placement of keys below `to` in the space of `from`. */
function lastPlacementBefore(from: Bytes, to: Bytes | undefined): number {
  const isSameSpace = to !== undefined && to[0] === from[0] && to.length > 1
  if (!isSameSpace) return placementOf(Buffer.from([from[0] as number, 0xff, 0xff, 0xff, 0xff]))
  return isFirstOfPlacement(to) ? Math.max(placementOf(from), placementOf(to) - 1) : placementOf(to)
}

/** Whether every smaller key has a lower placement. A key that ends in zeros follows the same key without them. */
function isFirstOfPlacement(key: Bytes): boolean {
  if (key.at(-1) === 0) return false
  switch (key[0]) {
    case keySpace.log:
      return false
    case keySpace.receipt:
      return key.length <= 2 && byteAt(key, 1) < receiptPlacements
    case keySpace.index:
      return key.length <= 5 && uint32At(key, 1) < firstIndexPlacement
    default:
      return key.length <= 5 && byteAt(key, 3) * 256 + byteAt(key, 4) < containersOfDatabase
  }
}

const oidBytes = 8

/** Values of index entries begin with the OID of their object. */
const named = {
  prefix: Buffer.of(keySpace.object),
  bytes: oidBytes,
  /** Equivalent to `placementOf` of the key. */
  placementOf(value: string): string {
    const byte = (nth: number): string => `get_byte(${value}, ${nth})`
    const container = `least(${byte(2)} * 256 + ${byte(3)}, ${containersOfDatabase - 1})`
    return `${byte(0)} * ${256 * containersOfDatabase} + ${byte(1)} * ${containersOfDatabase} + ${container}`
  },
}

export const keyPlacement: KeyPlacement = {
  named,
  placementOf,
  segmentsOf,
  mayBeLarge,
  appendPlacement: logPlacement,
  versionKey: catalogVersionKey,
}
