/** The objects that an operation reads and changes, buffered until they are written together. */

import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { objectKey } from '../records/object-key.ts'
import { PartSizes } from '../records/part-sizes.ts'
import { decodeRecord, decodeStepwise, isLongRecord, shapeNumberOf } from '../records/record-format.ts'
import { type RecordFormats, recordFormats } from '../records/record-formats.ts'
import type { RecordValues } from '../records/record-values.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Bytes } from '../store/store.ts'
import { openTimeSlice, runYielding, type TimeSlice } from '../store/time-slice.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { Oid } from '../types/oid.ts'

/** Objects that are read or written before yielding to other requests. */
export const objectBatchSize = 1_000

/** Up to this number a linear search is used: a map would cost more, and most operations have no more objects. */
const fewObjects = 8

/** Approximate memory per object, excluding its record and values. */
const stateBytes = 400

export interface ObjectState extends RecordValues {
  readonly oid: Oid
  readonly key: Buffer
  readonly format: ClassFormat
  /** The record as read; undefined for an object that this operation creates. */
  readonly stored: Bytes | undefined
  /** The values as read, in the same order; undefined for a new object. */
  readonly before: readonly unknown[] | undefined
  /** Equal to `stored` until its values are decoded. */
  readonly undecoded: Bytes | undefined
  /**
   * Indexes of attributes that were set, or whose position in a partner's list changed; undefined if none. Unused for a new
   * object, whose attributes are all new.
   */
  changed: Set<number> | undefined
  /** Indexes of attributes changed by deletions of other objects, which may be read-only. */
  excused: Set<number> | undefined
  isDeleted: boolean
  /** A command creates the object or sets its values; otherwise it changes only as a consequence. */
  isAddressed: boolean
  /** A command has set attributes of the object, rather than only links to it. */
  isUpdated: boolean
  /** The position of the command that created the object or changed it last, for errors found when it is written. */
  position: number | undefined
  /** The position of the last command that changed its counted links, for errors of checks that count them. */
  linkPosition: number | undefined
  /** The value of its index entries, made when they are written. */
  entryValue: Bytes | undefined
}

/** Whether the object is written when the operation ends: it is new, or an attribute has changed. */
export function isChanged({ stored, changed }: ObjectState): boolean {
  return stored === undefined || changed !== undefined
}

export function setValue(state: ObjectState, { index }: Pick<AttributeFormat, 'index'>, value: unknown): void {
  state.values[index] = value
  markChanged(state, index)
}

/** `position`: of the object in its partner's list. */
export function setPosition(
  state: ObjectState,
  { index }: Pick<AttributeFormat, 'index'>,
  position: Bytes | undefined,
): void {
  state.positions[index] = position
  markChanged(state, index)
}

/** Marks an attribute as changed by the deletion of its target. */
export function excuse(state: ObjectState, { index }: Pick<AttributeFormat, 'index'>): void {
  state.excused ??= new Set()
  state.excused.add(index)
}

/** Writes the record with a new revision although no attribute has changed. */
export function touch(state: ObjectState): void {
  state.changed ??= new Set()
}

/** For a collection stored as links, `index` has no value in the record, which gets a new revision. */
export function markChanged(state: ObjectState, index: number): void {
  if (state.stored === undefined) return
  state.changed ??= new Set()
  state.changed.add(index)
}

export class WorkingSet {
  readonly transaction: Transaction
  readonly formats: RecordFormats
  private readonly states: ObjectState[] = []
  /** Created when there are more than a few objects. */
  private byOid: Map<Oid, ObjectState> | undefined
  private sizes: PartSizes | undefined
  /** Whether the default of an attribute of any object may draw numbers from sequences. */
  mayDraw = false
  /** Whether expressions give values of embedded objects of any object. */
  isEvaluatedWithin = false
  /** New objects that require links. */
  readonly lacking: ObjectState[] = []

  constructor(transaction: Transaction, catalog: Catalog) {
    this.transaction = transaction
    this.formats = recordFormats(catalog)
  }

  all(): Iterable<ObjectState> {
    return this.states
  }

  /** The only object of the set, deleted or not; undefined if there are several. */
  get only(): ObjectState | undefined {
    return this.states.length === 1 ? this.states.at(0) : undefined
  }

  /** An object that was loaded or created and is not deleted. */
  loaded(oid: Oid): ObjectState | undefined {
    const state = this.find(oid)
    return state === undefined || state.isDeleted ? undefined : state
  }

  /** Whether the operation has deleted the object. */
  isDeleted(oid: Oid): boolean {
    return this.find(oid)?.isDeleted === true
  }

  /** Undefined if the object does not exist. */
  async load(oid: Oid): Promise<ObjectState | undefined> {
    if (this.find(oid) !== undefined) return this.loaded(oid)
    const key = objectKey(oid)
    const stored = await this.transaction.readOne(key)
    if (stored === undefined || this.find(oid) !== undefined) return this.loaded(oid)
    return this.keepLoaded(oid, key, stored)
  }

  /** Reads the objects that are not loaded yet; missing ones stay unloaded. Reads large or many objects in parts, yielding in between. */
  async loadAll(oids: readonly Oid[]): Promise<void> {
    const slice = openTimeSlice()
    for (let at = 0; at < oids.length; at += objectBatchSize) {
      const part = new Set(oids.length <= objectBatchSize ? oids : oids.slice(at, at + objectBatchSize))
      const missing = [...part].filter((oid) => this.find(oid) === undefined)
      if (missing.length === 0) continue
      await this.loadPart(missing, slice)
    }
  }

  /** Decodes a long record, yielding to other requests; a short one is decoded when its values are used. */
  decodeLong(state: ObjectState): Promise<void> | undefined {
    return state instanceof LoadedObject && state.undecoded !== undefined && isLongRecord(state.stored)
      ? state.decode()
      : undefined
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
      position,
      linkPosition: undefined,
      entryValue: undefined,
    }
    this.transaction.memory?.chargeLoaded(stateBytes)
    this.keep(state)
    if (format.neededLinks.length > 0) this.lacking.push(state)
    return state
  }

  private async loadPart(oids: readonly Oid[], slice: TimeSlice): Promise<void> {
    this.sizes ??= new PartSizes(objectBatchSize)
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
    const state = new LoadedObject(oid, key, this.formats.forShape(shapeNumberOf(stored)), stored)
    this.keep(state)
    return state
  }

  /** Adds an object that the set does not contain. */
  private keep(state: ObjectState): void {
    this.states.push(state)
    if (state.format.drawsNumbers) this.mayDraw = true
    if (state.format.evaluatedWithin.length > 0) this.isEvaluatedWithin = true
    if (this.byOid !== undefined) this.byOid.set(state.oid, state)
    else if (this.states.length > fewObjects) {
      this.byOid = new Map()
      for (const one of this.states) this.byOid.set(one.oid, one)
    }
  }

  /** Finds an object, deleted or not. */
  private find(oid: Oid): ObjectState | undefined {
    if (this.byOid !== undefined) return this.byOid.get(oid)
    for (const state of this.states) if (state.oid === oid) return state
    return undefined
  }
}

/** Decodes its values on first access: most deletions need only those of index keys. */
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
  position: number | undefined = undefined
  linkPosition: number | undefined = undefined
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

  async decode(): Promise<void> {
    const content = await runYielding(decodeStepwise(this.format, this.stored))
    if (this.content === undefined) this.keep(content)
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
