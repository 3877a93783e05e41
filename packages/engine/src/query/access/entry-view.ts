/** Reads the values of key attributes in place from the key of an index entry. */
import { readKeyPart } from '../../bytes/key-writer.ts'
import { type IndexKeyFormat, indexKeyHeaderBytes, keyCodecOf } from '../../indexes/index-key.ts'
import type { Bytes } from '../../store/store.ts'
import type { KeyCodec } from '../../types/logical-type.ts'
import { type Bound, operandsOf } from '../bind/bound.ts'
import { isRecordOnly } from '../bind/record-only.ts'
import { ObjectView } from '../evaluate/object-view.ts'
import { ValuesView } from '../evaluate/values-view.ts'

/** Positions in the class of the attributes that the expressions read; undefined if they use the object in any other way. */
export function attributesReadBy(
  expressions: readonly (Bound | undefined)[],
  slot: number,
): ReadonlySet<number> | undefined {
  const read = new Set<number>()
  const isCovered = (bound: Bound): boolean => {
    if (bound.kind === 'self' || bound.kind === 'slot' || bound.kind === 'nested' || !isRecordOnly(bound)) return false
    if (bound.kind === 'attribute' && bound.slot === slot) read.add(bound.attribute.index)
    return operandsOf(bound).every(isCovered)
  }
  return expressions.every((bound) => bound === undefined || isCovered(bound)) ? read : undefined
}

/** A part of the key with the position of its attribute in the class, if it is read. */
export interface PartRead {
  readonly codec: KeyCodec
  readonly attribute: number | undefined
}

/** The parts up to the last one read; undefined if an attribute is missing from the key or cannot be decoded from it. */
export function partsRead(format: IndexKeyFormat, read: ReadonlySet<number>): PartRead[] | undefined {
  const missing = new Set(read)
  const parts: PartRead[] = []
  for (let i = 0; i < format.parts.length && missing.size > 0; i++) {
    const part = format.parts[i]
    if (part === undefined) return undefined
    const codec = keyCodecOf(part)
    const [attribute, ...within] = part.path
    const isRead =
      attribute !== undefined && within.length === 0 && codec.read !== undefined && missing.delete(attribute)
    parts.push({ codec, attribute: isRead ? attribute : undefined })
  }
  return missing.size === 0 ? parts : undefined
}

/** Undefined if a required string is cut, so that the object must be read. */
export function entryView(parts: readonly PartRead[], key: Bytes): ObjectView | undefined {
  return new EntryReader(parts).read(key)?.copy()
}

/** Reads consecutive entries; each view is borrowed until the next, and values are decoded on access. */
export class EntryReader {
  private readonly parts: readonly PartRead[]
  private readonly view: BorrowedEntry

  constructor(parts: readonly PartRead[]) {
    this.parts = parts
    this.view = new BorrowedEntry(parts)
  }

  /** Undefined if a required string is cut, so that the object must be read. */
  read(key: Bytes): ObjectView | undefined {
    const { parts, view } = this
    let at = indexKeyHeaderBytes
    for (let i = 0; i < parts.length; i++) {
      const { codec, attribute } = parts[i] as PartRead
      const { end, isTruncated } = readKeyPart(key, at, codec.form)
      if (isTruncated && attribute !== undefined) return undefined
      view.starts[i] = at
      view.ends[i] = end
      at = end
    }
    view.entry = key
    return view
  }
}

const noRecord = Buffer.alloc(0)

/** An object of which only the values in the key of an entry are known. */
class BorrowedEntry extends ObjectView {
  entry: Bytes = noRecord
  /** By part of the key. */
  readonly starts: number[]
  readonly ends: number[]
  private readonly parts: readonly PartRead[]
  /** By attribute position: the index of its part. */
  private readonly partOf: (number | undefined)[] = []

  constructor(parts: readonly PartRead[]) {
    super(undefined, undefined, undefined, noRecord)
    this.parts = parts
    this.starts = parts.map(() => 0)
    this.ends = parts.map(() => 0)
    for (const [i, { attribute }] of parts.entries()) if (attribute !== undefined) this.partOf[attribute] = i
  }

  override value(index: number): unknown {
    const part = this.partOf[index]
    if (part === undefined) return undefined
    const start = this.starts[part] as number
    const end = this.ends[part] as number
    return end === start + 1 ? null : (this.parts[part] as PartRead).codec.read?.(this.entry, start + 1, end)
  }

  override copy(): ObjectView {
    return new ValuesView(this.partOf.map((part, index) => (part === undefined ? undefined : this.value(index))))
  }

  override writeStoredJson(): boolean {
    return false
  }
}
