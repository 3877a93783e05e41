/** The objects that one operation reads and changes, until they are written together. */

import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { objectKey } from '../records/object-key.ts'
import { PartSizes } from '../records/part-sizes.ts'
import { decodeRecord, shapeNumberOf } from '../records/record-format.ts'
import { type RecordFormats, recordFormats } from '../records/record-formats.ts'
import type { RecordValues } from '../records/record-values.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Bytes } from '../store/store.ts'
import { openTimeSlice, type TimeSlice } from '../store/time-slice.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { Oid } from '../types/oid.ts'

/** Objects that are read or written before other requests get their turn. */
export const objectsAtOnce = 1_000

/** Found one by one: a map costs more than them, and most operations have no more. */
const fewObjects = 8

/** About what an object takes in memory beside its record and values. */
const stateBytes = 400

export interface ObjectState extends RecordValues {
  readonly oid: Oid
  readonly key: Buffer
  readonly format: ClassFormat
  /** The record as it was read; undefined for an object that this operation creates. */
  readonly stored: Bytes | undefined
  /** The values as they were read, by the same order; undefined for a new object. */
  readonly before: readonly unknown[] | undefined
  /** The same as `stored`, for as long as nobody has asked for the values in it. */
  readonly undecoded: Bytes | undefined
  /**
   * The attributes that were given a value, or whose place in a partner's list changed, by their index in the class; undefined if none
   * was. Not kept of a new object, of which all are.
   */
  changed: Set<number> | undefined
  /** Attributes that deletions of other objects have changed, by their index: also read-only ones may be. */
  excused: Set<number> | undefined
  isDeleted: boolean
  /** A command creates it or gives it values; else it is changed since others are. */
  isAddressed: boolean
  /** A command has set attributes of it, and not only what links to it. */
  isUpdated: boolean
  /** Values that commands give for computed attributes, by index: taken without effect where they are right. */
  claims: Map<number, unknown> | undefined
  /** Of the command among several that creates it, or changed it last: errors that are found when it is written tell it. */
  position: number | undefined
  /** Of its index entries: made when they are written. */
  entryValue: Bytes | undefined
}

/** True for what is written when the operation ends: objects that it creates, and those of which it has changed an attribute. */
export function isChanged({ stored, changed }: ObjectState): boolean {
  return stored === undefined || changed !== undefined
}

export function setValue(state: ObjectState, { index }: Pick<AttributeFormat, 'index'>, value: unknown): void {
  state.values[index] = value
  markChanged(state, index)
}

/** `position`: where the object stands in its partner's list. */
export function setPosition(
  state: ObjectState,
  { index }: Pick<AttributeFormat, 'index'>,
  position: Bytes | undefined,
): void {
  state.positions[index] = position
  markChanged(state, index)
}

/** The attribute loses what is deleted. */
export function excuse(state: ObjectState, { index }: Pick<AttributeFormat, 'index'>): void {
  state.excused ??= new Set()
  state.excused.add(index)
}

/** The record is written anew, under a new revision, though none of its attributes has changed. */
export function touch(state: ObjectState): void {
  state.changed ??= new Set()
}

function markChanged(state: ObjectState, index: number): void {
  if (state.stored === undefined) return
  state.changed ??= new Set()
  state.changed.add(index)
}

export class WorkingSet {
  readonly transaction: Transaction
  readonly formats: RecordFormats
  private readonly states: ObjectState[] = []
  /** Made for more than a few. */
  private byOid: Map<Oid, ObjectState> | undefined
  private sizes: PartSizes | undefined
  /** Those that are created and have to have links. */
  readonly lacking: ObjectState[] = []

  constructor(transaction: Transaction, catalog: Catalog) {
    this.transaction = transaction
    this.formats = recordFormats(catalog)
  }

  all(): Iterable<ObjectState> {
    return this.states
  }

  /** Where there is but one, whether it still exists or not. */
  get only(): ObjectState | undefined {
    return this.states.length === 1 ? this.states.at(0) : undefined
  }

  /** An object loaded or created before, if it still exists. */
  known(oid: Oid): ObjectState | undefined {
    const state = this.find(oid)
    return state === undefined || state.isDeleted ? undefined : state
  }

  /** True once the operation has deleted the object. */
  isDeleted(oid: Oid): boolean {
    return this.find(oid)?.isDeleted === true
  }

  /** Undefined where there is no such object. */
  async load(oid: Oid): Promise<ObjectState | undefined> {
    if (this.find(oid) !== undefined) return this.known(oid)
    const key = objectKey(oid)
    const stored = await this.transaction.readOne(key)
    if (stored === undefined || this.find(oid) !== undefined) return this.known(oid)
    return this.keepLoaded(oid, key, stored)
  }

  /** Reads those not yet known; those that do not exist stay unknown. Many, and large ones, are read in parts, with others in between. */
  async loadAll(oids: readonly Oid[]): Promise<void> {
    const slice = openTimeSlice()
    for (let at = 0; at < oids.length; at += objectsAtOnce) {
      const part = new Set(oids.length <= objectsAtOnce ? oids : oids.slice(at, at + objectsAtOnce))
      const missing = [...part].filter((oid) => this.find(oid) === undefined)
      if (missing.length === 0) continue
      await this.loadPart(missing, slice)
    }
  }

  create(oid: Oid, format: ClassFormat, position: number | undefined): ObjectState {
    const { values, positions } = format.defaultValues()
    const state: ObjectState = {
      oid,
      key: objectKey(oid),
      format,
      stored: undefined,
      before: undefined,
      undecoded: undefined,
      values,
      positions,
      changed: undefined,
      excused: undefined,
      isDeleted: false,
      isAddressed: true,
      isUpdated: false,
      claims: undefined,
      position,
      entryValue: undefined,
    }
    this.transaction.memory?.chargeLoaded(stateBytes)
    this.keep(state)
    if (format.neededLinks.length > 0) this.lacking.push(state)
    return state
  }

  private async loadPart(oids: readonly Oid[], slice: TimeSlice): Promise<void> {
    this.sizes ??= new PartSizes(objectsAtOnce)
    for (const part of this.sizes.parts(oids)) {
      const keys = part.map(objectKey)
      const { values } = await this.transaction.read(keys)
      this.sizes.note(values, part.length)
      for (const [position, oid] of part.entries()) {
        const stored = values[position]
        if (stored === undefined || this.find(oid) !== undefined) continue
        this.keepLoaded(oid, keys[position] as Buffer, stored)
      }
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }

  private keepLoaded(oid: Oid, key: Buffer, stored: Bytes): ObjectState {
    this.transaction.memory?.chargeLoaded(stateBytes + 2 * stored.length)
    const state = new LoadedObject(oid, key, this.formats.ofShape(shapeNumberOf(stored)), stored)
    this.keep(state)
    return state
  }

  /** One that was not known. */
  private keep(state: ObjectState): void {
    this.states.push(state)
    if (this.byOid !== undefined) this.byOid.set(state.oid, state)
    else if (this.states.length > fewObjects) {
      this.byOid = new Map()
      for (const one of this.states) this.byOid.set(one.oid, one)
    }
  }

  /** Whether it still exists or not. */
  private find(oid: Oid): ObjectState | undefined {
    if (this.byOid !== undefined) return this.byOid.get(oid)
    for (const state of this.states) if (state.oid === oid) return state
    return undefined
  }
}

/** Values are decoded once they are asked for: a deletion mostly needs those of index keys alone. */
class LoadedObject implements ObjectState {
  readonly oid: Oid
  readonly key: Buffer
  readonly format: ClassFormat
  readonly stored: Bytes
  changed: Set<number> | undefined = undefined
  excused: Set<number> | undefined = undefined
  isDeleted = false
  isAddressed = false
  isUpdated = false
  claims: Map<number, unknown> | undefined = undefined
  position: number | undefined = undefined
  entryValue: Bytes | undefined = undefined
  private content: RecordValues | undefined
  private read: readonly unknown[] | undefined

  constructor(oid: Oid, key: Buffer, format: ClassFormat, stored: Bytes) {
    this.oid = oid
    this.key = key
    this.format = format
    this.stored = stored
  }

  get undecoded(): Bytes | undefined {
    return this.content === undefined ? this.stored : undefined
  }

  get before(): readonly unknown[] {
    this.decoded()
    return this.read as readonly unknown[]
  }

  get values(): unknown[] {
    return this.decoded().values
  }

  get positions(): (Bytes | undefined)[] {
    return this.decoded().positions
  }

  private decoded(): RecordValues {
    return this.content ?? this.keep(decodeRecord(this.format, this.stored))
  }

  private keep(content: RecordValues): RecordValues {
    this.content = content
    this.read = [...content.values]
    return content
  }
}
