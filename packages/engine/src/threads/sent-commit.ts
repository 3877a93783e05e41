/** A commit as one transferable buffer: copying very many small buffers between threads would block the event loop. */

import type { Sequence } from '../store/sequence.ts'
import type { Append, Bytes, Change, Commit, Precondition } from '../store/store.ts'

export interface SentCommit {
  /** Preconditions, then changes: for each its kind, and its byte strings, each after its length. */
  readonly items: Uint8Array
  readonly changesAt: number
  readonly changes: number
  readonly preconditions: number
  readonly lastCommit: string | undefined
  readonly append: Append | undefined
}

const kinds = { put: 0, delete: 1, absent: 2, present: 3, revision: 4, range: 5, unchanged: 6 } as const
const headBytes = 5
const noBound = 0xffff_ffff

export function sentCommit({ changes, preconditions, lastCommit, append }: Commit): SentCommit {
  const writer = new Writer()
  for (const precondition of preconditions) writePrecondition(writer, precondition)
  const changesAt = writer.length
  for (const change of changes) {
    writer.kind(kinds[change.kind], change.kind === 'put' ? 2 : 1)
    writer.bytes(change.key)
    if (change.kind === 'put') writer.bytes(change.value)
  }
  const values = append && {
    prefix: Uint8Array.from(append.prefix),
    values: append.values.map((one) => Uint8Array.from(one)),
  }
  return {
    items: writer.written(),
    changesAt,
    changes: changes.length,
    preconditions: preconditions.length,
    lastCommit,
    append: values,
  }
}

function writePrecondition(writer: Writer, precondition: Precondition): void {
  if (precondition.kind === 'range') {
    const { range, keys, rangeLockKey } = precondition
    writer.kind(kinds.range, keys.length + 3)
    for (const one of [range.from, range.to, rangeLockKey, ...keys]) writer.bytes(one)
    return
  }
  if (precondition.kind === 'unchanged') {
    const { range, content, count, valueBytes } = precondition
    writer.kind(kinds.unchanged, 4)
    for (const one of [range.from, range.to, content, Buffer.from(`${count} ${valueBytes}`)]) writer.bytes(one)
    return
  }
  writer.kind(kinds[precondition.kind], precondition.kind === 'revision' ? 2 : 1)
  writer.bytes(precondition.key)
  if (precondition.kind === 'revision') writer.bytes(precondition.prefix)
}

/** Decoded lazily, as the store iterates. */
export function receivedCommit({ items, changesAt, changes, preconditions, lastCommit, append }: SentCommit): Commit {
  const buffer = Buffer.from(items.buffer, items.byteOffset, items.length)
  return {
    changes: new Items(buffer, changesAt, changes, changeOf),
    preconditions: new Items(buffer, 0, preconditions, numberedPrecondition),
    lastCommit,
    append,
  }
}

/** The position of a precondition of a received commit, which identifies it to the sending thread. */
export function positionOf(precondition: Precondition): number {
  return (precondition as Precondition & Numbered).position
}

interface Numbered {
  readonly position: number
}

class Items<T> implements Sequence<T> {
  readonly length: number
  private readonly items: Buffer
  private readonly at: number
  private readonly decode: (kind: number, strings: readonly (Bytes | undefined)[], position: number) => T

  constructor(items: Buffer, at: number, length: number, decode: Items<T>['decode']) {
    this.items = items
    this.at = at
    this.length = length
    this.decode = decode
  }

  *[Symbol.iterator](): Generator<T, undefined, undefined> {
    const reader = new Reader(this.items, this.at)
    for (let i = 0; i < this.length; i++) yield this.decode(...reader.item(), i)
    return undefined
  }
}

function changeOf(kind: number, [key, value]: readonly (Bytes | undefined)[]): Change {
  return kind === kinds.put
    ? { kind: 'put', key: key as Bytes, value: value as Bytes }
    : { kind: 'delete', key: key as Bytes }
}

function numberedPrecondition(
  kind: number,
  strings: readonly (Bytes | undefined)[],
  position: number,
): Precondition & Numbered {
  return { ...preconditionOf(kind, strings), position }
}

function preconditionOf(kind: number, strings: readonly (Bytes | undefined)[]): Precondition {
  const [first, second, third, ...keys] = strings as readonly Bytes[]
  switch (kind) {
    case kinds.absent:
      return { kind: 'absent', key: first as Bytes }
    case kinds.present:
      return { kind: 'present', key: first as Bytes }
    case kinds.revision:
      return { kind: 'revision', key: first as Bytes, prefix: second as Bytes }
    default: {
      const range = { ...(first && { from: first }), ...(second && { to: second }) }
      if (kind === kinds.range) return { kind: 'range', range, rangeLockKey: third as Bytes, keys }
      const [count, valueBytes] = String(keys[0]).split(' ').map(Number) as [number, number]
      return { kind: 'unchanged', range, content: third as Bytes, count, valueBytes }
    }
  }
}

class Writer {
  private to = Buffer.allocUnsafeSlow(65_536)
  private at = 0

  get length(): number {
    return this.at
  }

  kind(kind: number, strings: number): void {
    this.reserve(headBytes)
    this.to[this.at] = kind
    this.to.writeUInt32LE(strings, this.at + 1)
    this.at += headBytes
  }

  /** Distinguishes undefined from an empty string. */
  bytes(bytes: Bytes | undefined): void {
    const length = bytes?.length ?? 0
    this.reserve(4 + length)
    this.to.writeUInt32LE(bytes === undefined ? noBound : length, this.at)
    if (bytes !== undefined) this.to.set(bytes, this.at + 4)
    this.at += 4 + length
  }

  written(): Uint8Array {
    return this.to.subarray(0, this.at)
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.to.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.at + bytes, 2 * this.to.length))
    this.to.copy(larger, 0, 0, this.at)
    this.to = larger
  }
}

class Reader {
  private readonly from: Buffer
  private at: number

  constructor(from: Buffer, at: number) {
    this.from = from
    this.at = at
  }

  item(): [kind: number, strings: (Bytes | undefined)[]] {
    const kind = this.from[this.at] as number
    const count = this.from.readUInt32LE(this.at + 1)
    this.at += headBytes
    const strings: (Bytes | undefined)[] = []
    for (let i = 0; i < count; i++) strings.push(this.bytes())
    return [kind, strings]
  }

  private bytes(): Bytes | undefined {
    const length = this.from.readUInt32LE(this.at)
    this.at += 4
    if (length === noBound) return undefined
    const bytes = this.from.subarray(this.at, this.at + length)
    this.at += length
    return bytes
  }
}
