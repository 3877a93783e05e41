/** Reads the values of key attributes in place, from the key of an index entry. */
import { readKeyPart } from '../../bytes/key-writer.ts'
import { type IndexKeyFormat, indexKeyHeaderBytes, keyCodecOf } from '../../indexes/index-key.ts'
import type { Bytes } from '../../store/store.ts'
import type { KeyCodec } from '../../types/logical-type.ts'
import { type Bound, partsOf } from '../bind/bound.ts'
import { isOfRecord } from '../bind/of-record.ts'
import { ObjectView } from '../evaluate/object-view.ts'

/** Which attributes the expressions read, by their positions in the class; undefined where they read anything else of an object. */
export function attributesReadBy(
  expressions: readonly (Bound | undefined)[],
  slot: number,
): ReadonlySet<number> | undefined {
  const read = new Set<number>()
  const isCovered = (bound: Bound): boolean => {
    if (bound.kind === 'self' || bound.kind === 'slot' || bound.kind === 'nested' || !isOfRecord(bound)) return false
    if (bound.kind === 'attribute' && bound.slot === slot) read.add(bound.attribute.index)
    return partsOf(bound).every(isCovered)
  }
  return expressions.every((bound) => bound === undefined || isCovered(bound)) ? read : undefined
}

/** A part of the key: of an attribute that is read, its position in the class. */
export interface PartRead {
  readonly codec: KeyCodec
  readonly attribute: number | undefined
}

/** Up to the last one that is read; undefined where an attribute is not in the key, or cannot be read from it. */
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

/** Undefined where a text that is read is cut: the object tells it then. */
export function entryView(parts: readonly PartRead[], key: Bytes): ObjectView | undefined {
  const values: unknown[] = []
  let at = indexKeyHeaderBytes
  for (const { codec, attribute } of parts) {
    const { end, isTruncated } = readKeyPart(key, at, codec.form)
    if (attribute !== undefined) {
      if (isTruncated) return undefined
      values[attribute] = end === at + 1 ? null : codec.read?.(key, at + 1, end)
    }
    at = end
  }
  return new EntryView(values)
}

const noRecord = Buffer.alloc(0)

/** An object of which only the values in the key of an entry are known. */
class EntryView extends ObjectView {
  private readonly values: readonly unknown[]

  constructor(values: readonly unknown[]) {
    super(undefined, undefined, undefined, noRecord)
    this.values = values
  }

  override value(index: number): unknown {
    return this.values[index]
  }

  /** Nothing of it is lent. */
  override copy(): ObjectView {
    return this
  }

  override writeShortJson(): boolean {
    return false
  }
}
