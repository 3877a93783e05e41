/**
 * The layout of LMDB's data file, as far as needed to check one without LMDB: meta pages, page headers and nodes. Numbers are little-endian; pages of
 * all kinds begin with the same 24 bytes.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** The header of a named database, or of one of the two that every file has. */
export interface TreeHeader {
  /** Zero; in the header of the free pages, the page size. */
  readonly pad: number
  /** How keys are compared, and whether a key may have several values. */
  readonly flags: number
  readonly depth: number
  readonly branchPages: number
  readonly leafPages: number
  readonly overflowPages: number
  readonly entries: number
  /** Undefined if the tree is empty. */
  readonly root: number | undefined
}

/** One of the two meta pages, which commits write alternately. */
export interface MetaPage {
  /** Whether its header and the fields that Ashlar does not use are as LMDB writes them. */
  readonly isMarked: boolean
  readonly number: number
  readonly magic: number
  readonly version: number
  /** Size of the memory map; LMDB uses a larger one if the file needs it. */
  readonly mapBytes: number
  readonly pageBytes: number
  readonly freePages: TreeHeader
  readonly main: TreeHeader
  readonly lastPage: number
  readonly transaction: number
}

export interface PageHeader {
  readonly number: number
  /** The transaction that wrote the page. */
  readonly transaction: number
  /** Zero: only kinds of databases that Ashlar does not use have a value here. */
  readonly pad: number
  readonly flags: number
  /** Of branch and leaf pages: start and end of the free space, relative to the end of the header. */
  readonly lower: number
  readonly upper: number
  /** Of the first page of a long value: its number of pages. */
  readonly overflowPages: number
}

export interface Node {
  /** Offset from the end of the page header, and size in bytes. */
  readonly place: number
  readonly bytes: number
  /** Of leaves only. */
  readonly flags: number
  readonly key: Buffer
  /** Of a leaf: the value, or the reference to its pages. */
  readonly data: Buffer
  /** Of a leaf: length of the value, wherever it is stored. */
  readonly dataLength: number
  /** Of a branch: the child page. */
  readonly child: number
}

export const magicNumber = 0xbeefc0de
export const dataVersion = 2
export const pageHeaderBytes = 24
export const treeHeaderBytes = 48
export const nodeHeaderBytes = 8
/** Size of the reference to a long value: number, transaction and count of its pages. */
const overflowPointerBytes = 24
export const pageFlag = { branch: 0x01, leaf: 0x02, overflow: 0x04, meta: 0x08 } as const
export const nodeFlag = { overflow: 0x01, tree: 0x02 } as const
/** Flag of the tree of free pages, whose keys are numbers. */
export const integerKeyFlag = 0x08

const metaBytes = 168
/** Offset of the transaction number in a meta page. */
export const metaTransactionAt = 152
/** Offset of the fixed address of the map, which must be zero. */
const mapAddressAt = 32
const noPage = 0xffff_ffff_ffff_ffffn
const pageBytesMin = 4_096
const pageBytesMax = 65_536

/** A data file open for reading without LMDB, which would trust it. */
export class DataFile {
  readonly bytes: number
  private readonly descriptor: number

  constructor(path: string) {
    this.descriptor = openSync(path, 'r')
    this.bytes = fstatSync(this.descriptor).size
  }

  /** Returns fewer bytes at the end of the file. */
  read(from: number, length: number): Buffer {
    const buffer = Buffer.alloc(Math.max(0, Math.min(length, this.bytes - from)))
    const read = buffer.length === 0 ? 0 : readSync(this.descriptor, buffer, 0, buffer.length, from)
    return buffer.subarray(0, read)
  }

  /** Undefined if the file is too short. */
  meta(which: 0 | 1, pageBytes: number): MetaPage | undefined {
    const page = this.read(which * pageBytes, metaBytes)
    return page.length < metaBytes ? undefined : metaOf(page)
  }

  close(): void {
    closeSync(this.descriptor)
  }
}

export function isPageSize(bytes: number): boolean {
  return bytes >= pageBytesMin && bytes <= pageBytesMax && (bytes & (bytes - 1)) === 0
}

export function pageHeader(page: Buffer): PageHeader {
  return {
    number: wide(page, 0),
    transaction: wide(page, 8),
    pad: page.readUInt16LE(16),
    flags: page.readUInt16LE(18),
    lower: page.readUInt16LE(20),
    upper: page.readUInt16LE(22),
    overflowPages: page.readUInt32LE(20),
  }
}

export function treeHeader(bytes: Buffer, at = 0): TreeHeader {
  const root = bytes.readBigUInt64LE(at + 40)
  return {
    pad: bytes.readUInt32LE(at),
    flags: bytes.readUInt16LE(at + 4),
    depth: bytes.readUInt16LE(at + 6),
    branchPages: wide(bytes, at + 8),
    leafPages: wide(bytes, at + 16),
    overflowPages: wide(bytes, at + 24),
    entries: wide(bytes, at + 32),
    root: root === noPage ? undefined : Number(root),
  }
}

/** The node of index `index`; undefined if its offset is outside the node area of the page. */
export function nodeAt(page: Buffer, { flags: pageFlags, lower, upper }: PageHeader, index: number): Node | undefined {
  const place = page.readUInt16LE(pageHeaderBytes + index * 2)
  const at = pageHeaderBytes + place
  if (place < lower || place < upper || at + nodeHeaderBytes > page.length) return undefined
  const [low, high] = [page.readUInt16LE(at), page.readUInt16LE(at + 2)]
  const flags = page.readUInt16LE(at + 4)
  const keyEnd = at + nodeHeaderBytes + page.readUInt16LE(at + 6)
  const isLeaf = (pageFlags & pageFlag.leaf) !== 0
  const dataLength = isLeaf ? low + high * 0x1_0000 : 0
  const storedBytes = !isLeaf ? 0 : (flags & nodeFlag.overflow) === 0 ? dataLength : overflowPointerBytes
  if (keyEnd + storedBytes > page.length) return undefined
  const bytes = keyEnd + storedBytes - at
  return {
    place,
    // LMDB aligns nodes to even offsets.
    bytes: bytes + (bytes % 2),
    flags: isLeaf ? flags : 0,
    key: page.subarray(at + nodeHeaderBytes, keyEnd),
    data: page.subarray(keyEnd, keyEnd + storedBytes),
    dataLength,
    child: isLeaf ? 0 : low + high * 0x1_0000 + flags * 0x1_0000_0000,
  }
}

function metaOf(page: Buffer): MetaPage {
  return {
    isMarked: isMetaHeader(pageHeader(page)) && page.readBigUInt64LE(mapAddressAt) === 0n,
    number: wide(page, 0),
    magic: page.readUInt32LE(24),
    version: page.readUInt32LE(28),
    mapBytes: wide(page, 40),
    // The page size is stored in the header of the free pages.
    pageBytes: page.readUInt32LE(48),
    freePages: treeHeader(page, 48),
    main: treeHeader(page, 96),
    lastPage: wide(page, 144),
    transaction: wide(page, metaTransactionAt),
  }
}

function isMetaHeader({ transaction, pad, flags, overflowPages }: PageHeader): boolean {
  return flags === pageFlag.meta && transaction === 0 && pad === 0 && overflowPages === 0
}

/** Loses precision beyond 2^53, where the value is invalid anyway. */
function wide(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at))
}
