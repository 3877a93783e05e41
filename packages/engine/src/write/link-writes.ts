/** Writes the entries of link collections, and records what they mean. */

import type { AttributeFormat } from '../records/class-format.ts'
import { positionKey, positionOfKey, targetKey, targetOfKey } from '../records/link-keys.ts'
import type { Bytes, Entry } from '../store/store.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type Oid, oidBytes, oidFromBytes } from '../types/oid.ts'
import type { ChangeRecorder } from './change-set.ts'

/** One end of a link that is an element of a collection: its owner, and the attribute. */
export interface LinkOwner {
  readonly oid: Oid
  readonly attribute: AttributeFormat
}

export class LinkWrites {
  private readonly transaction: Transaction
  private readonly recorder: ChangeRecorder | undefined

  constructor(transaction: Transaction, recorder: ChangeRecorder | undefined) {
    this.transaction = transaction
    this.recorder = recorder
  }

  /** `position`: of a list. */
  add({ oid, attribute }: LinkOwner, target: Oid, position?: Bytes): void {
    const { number } = attribute.attribute
    if (position === undefined) this.transaction.put(targetKey(oid, number, target), Buffer.alloc(0))
    else this.transaction.put(positionKey(oid, number, position), oidBytes(target))
    this.recorder?.link({ kind: 'added', owner: oid, attribute: number, target, position, key: undefined })
  }

  remove({ oid, attribute }: LinkOwner, target: Oid, position?: Bytes): void {
    const { number } = attribute.attribute
    this.transaction.delete(
      position === undefined ? targetKey(oid, number, target) : positionKey(oid, number, position),
    )
    this.recorder?.link({ kind: 'removed', owner: oid, attribute: number, target, position, key: undefined })
  }

  /** An element of a list or set, as its entry was read. */
  removeEntry({ oid, attribute }: LinkOwner, { key, value }: Entry): void {
    this.transaction.delete(key)
    if (this.recorder === undefined) return
    const isList = attribute.linkStorage === 'list'
    this.recorder.link({
      kind: 'removed',
      owner: oid,
      attribute: attribute.attribute.number,
      target: isList ? oidFromBytes(value, 0) : targetOfKey(key),
      position: isList ? positionOfKey(key) : undefined,
      key: undefined,
    })
  }

  /** Of a map; `entry`: its key and value as they are stored. */
  putPair({ oid, attribute }: LinkOwner, entry: Entry, key: unknown, target: Oid): void {
    this.transaction.put(entry.key, entry.value)
    const { number } = attribute.attribute
    this.recorder?.link({ kind: 'added', owner: oid, attribute: number, target, position: undefined, key })
  }

  /** Of a map; `entryKey`: as it is stored. `keyOf` is asked where somebody listens. */
  removeKey({ oid, attribute }: LinkOwner, entryKey: Bytes, keyOf: () => unknown): void {
    this.transaction.delete(entryKey)
    const { number } = attribute.attribute
    this.recorder?.link({
      kind: 'removed',
      owner: oid,
      attribute: number,
      target: undefined,
      position: undefined,
      key: keyOf(),
    })
  }
}
