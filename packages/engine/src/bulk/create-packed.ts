/** Creates many plain objects directly from JSON to packed rows, for unrestricted callers. Everything else takes the regular path. */
import { isMemoryRefused } from '../budget/request-memory.ts'
import { keySpace } from '../bytes/key-space.ts'
import { AshlarError, assert } from '../errors.ts'
import { type IndexKeyFormat, writeIndexKey, writtenIndexKey } from '../indexes/index-key.ts'
import { indexFormatsOf } from '../indexes/maintain.ts'
import { keyBytesMax, recordBytesMax } from '../limits.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { constraintsOf, type ObjectConstraints } from '../records/constraints.ts'
import { unevaluated } from '../records/creation-value.ts'
import { objectKey, objectKeyBytes, objectKeyHeaderBytes } from '../records/object-key.ts'
import { writeRecord } from '../records/record-format.ts'
import { mayHoldReferences } from '../records/references-in.ts'
import type { Attributes } from '../requests/read-object-command.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import type { IndexDefinition } from '../schema/class-definition.ts'
import { isCollection } from '../schema/properties/attribute-property.ts'
import { type PackedRows, packedAt, packedLengthBytes } from '../store/packed-rows.ts'
import { inParts, inSlices, openTimeSlice, runYieldingIfLong } from '../store/time-slice.ts'
import type { BetweenSteps } from '../transaction/between-steps.ts'
import { type DuplicateKey, packedRowBytes, RowPacker } from '../transaction/row-packer.ts'
import { ValueError } from '../types/logical-type.ts'
import { noOid, type Oid, oidFromBytes, oidLength, writeOidBytes } from '../types/oid.ts'
import type { ReferenceSpec } from '../types/type-spec.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'

/** Objects created between two checks of the clock; each takes a few microseconds. */
const objectsPerClockCheck = 16
const bytesPerClockCheck = 262_144
/** Below this number, packing is not faster. */
const packedObjectsMin = 50
/** Maximum size of a packer: its buffer is copied as a whole when it grows. */
const packerBytesMax = 4_194_304
const packerRowsMax = 16_384
/** Number of indexes presized for all objects: with hundreds of indexes, most have few rows in one commit. */
const presizedIndexesMax = 8
const fewRows = 64

interface Creation {
  readonly class: string
  readonly attributes?: Attributes | undefined
}

/** Nothing was created; the regular path takes over the allocated OIDs. */
export interface NotPacked {
  /** Creations to retry on the regular path, which reports their errors; empty if unknown. */
  readonly positions: readonly number[]
  /** Set if memory was refused: the regular path would need more. */
  readonly refused?: unknown
}

/** `count`: total number of creations. After a failed commit, key holders are read as well. Throws the errors of `between`, and LimitExceeded. */
export async function createPacked(
  unit: UnitOfWork,
  parts: Iterable<readonly Creation[]> | AsyncIterable<readonly Creation[]>,
  count: number,
  between: BetweenSteps,
): Promise<Oid[] | NotPacked> {
  const { transaction, guard, recorder } = unit
  if (count < packedObjectsMin || guard !== undefined || recorder !== undefined || transaction.hasChanges)
    return { positions: [] }
  const packing = new PackedCreations(unit, count)
  let oids: Oid[] | NotPacked | undefined
  for await (const part of parts) {
    if (await packing.createAll(part, between)) continue
    oids = { positions: [packing.count], ...(isMemoryRefused(packing.failure) ? { refused: packing.failure } : {}) }
    break
  }
  oids ??= await packing.finish()
  if (!Array.isArray(oids)) packing.giveUp()
  return oids
}

interface ClassRows {
  readonly format: ClassFormat
  readonly defaults: readonly unknown[]
  readonly constraints: ObjectConstraints | undefined
  readonly values: unknown[]
  readonly indexes: readonly IndexRows[]
  /** Attribute names of the last object and the attributes they denote: the next object usually has the same names. */
  names: string[]
  attributes: AttributeFormat[]
  objects: RowPacker | undefined
  container: number
}

interface IndexRows {
  readonly format: IndexKeyFormat
  readonly unique: RowPacker
  readonly others: RowPacker
}

const recordRoomBytes = 128

const noPositions: undefined[] = []
const noDuplicates: readonly DuplicateKey[] = []
const keysPerRead = 500

class PackedCreations {
  private readonly unit: UnitOfWork
  private readonly expected: number
  private readonly commitId: Buffer
  private readonly oids: Oid[] = []
  /** Keyed by the class name in the request. */
  private readonly classes = new Map<string, ClassRows>()
  private readonly indexes = new Map<IndexDefinition, Pick<IndexRows, 'unique' | 'others'>>()
  private readonly objects = new Map<number, RowPacker>()
  private readonly packers: RowPacker[] = []
  /** Classes of referenced objects. */
  private readonly targets = new Map<Oid, SchemaClass>()
  /** For each referenced object, the position of the first creation that refers to it. */
  private readonly firstUses = new Map<Oid, number>()
  /** Set if an object has to wait for an OID or for the class of a reference target. */
  private waiting: Promise<unknown> | undefined
  /** A creation has to take the regular path. */
  private needsRegularPath = false
  /** The cause, if the regular path would throw it too. */
  failure: unknown
  private packedCount = 0
  /** The OID for the object that waited for it. */
  private allocated: Oid | undefined
  private chargedBytes = 0
  private readonly objectKey = Buffer.alloc(objectKeyBytes)
  private readonly oid = this.objectKey.subarray(objectKeyHeaderBytes)

  constructor(unit: UnitOfWork, expected: number) {
    this.unit = unit
    this.expected = expected
    this.commitId = unit.session.nextCommitId()
    this.objectKey[0] = keySpace.object
  }

  /** Number of packed objects, which is the position of the object to retry if there is one. */
  get count(): number {
    return this.packedCount
  }

  /** Returns false if a creation has to take the regular path. */
  async createAll(creations: readonly Creation[], between: BetweenSteps): Promise<boolean> {
    let position = 0
    while (position < creations.length) {
      const pause = between()
      if (pause !== undefined) await pause
      position = this.createSome(creations, position)
      if (this.waiting !== undefined) await this.waiting
      this.waiting = undefined
      if (this.needsRegularPath) return false
    }
    return true
  }

  /** Creates objects for less than a millisecond. Returns the position it reached. */
  private createSome(creations: readonly Creation[], from: number): number {
    const end = Math.min(creations.length, from + objectsPerClockCheck)
    const bytesMax = this.chargedBytes + bytesPerClockCheck
    let position = from
    try {
      while (position < end && this.chargedBytes < bytesMax) {
        const { class: name, attributes = noAttributes } = creations[position] as Creation
        const rows = this.classes.get(name) ?? this.newClass(name)
        if (rows === undefined || !this.readValues(rows, attributes)) return this.stopAt(position)
        if (rows.constraints?.areSatisfiedBy(rows.values) === false) return this.stopAt(position)
        const oid = this.nextOid(rows)
        if (oid === undefined || !this.addObject(rows, oid)) return this.stopAt(position)
        position++
        this.packedCount++
      }
      return position
    } catch (error) {
      if (!(error instanceof ValueError || error instanceof AshlarError)) throw error
      this.failure = error
      return this.stopAt(position)
    }
  }

  private stopAt(position: number): number {
    if (this.waiting === undefined) this.needsRegularPath = true
    return position
  }

  /** Returns undefined if it has to wait (`waiting`). */
  private nextOid(rows: ClassRows): Oid | undefined {
    const oid = this.allocated ?? this.unit.allocate(rows.format)
    this.allocated = undefined
    if (oid instanceof Promise) {
      this.waiting = oid.then((made) => {
        this.allocated = made
      })
      return undefined
    }
    this.oids.push(oid)
    return oid
  }

  /** Hands the rows to the transaction. Returns the OIDs, or the creations to retry. Throws LimitExceeded. */
  async finish(): Promise<Oid[] | NotPacked> {
    const { oids, targets, unit } = this
    // A target may be one of the new OIDs; only the regular path knows whether that object exists yet.
    if (targets.size > 0 && (await this.hasTarget(oids))) return { positions: [] }
    const dangling = unit.transaction.isRetry ? await this.danglingReference() : undefined
    if (dangling !== undefined) return { positions: [dangling] }
    const all: PackedRows[] = []
    for (const packer of this.packers) {
      const rows = await runYieldingIfLong(packer.packed())
      if ('duplicates' in rows) return { positions: positionsOf(rows.duplicates, oids) }
      const duplicates = unit.transaction.isRetry && rows.areNew ? await this.duplicateKeys(rows) : noDuplicates
      if (duplicates.length > 0) return { positions: positionsOf(duplicates, oids) }
      if (rows.count > 0) all.push(rows)
    }
    await inSlices(targets.keys(), (target) => unit.requireObject(target))
    unit.transaction.putPacked(all)
    return oids
  }

  private async hasTarget(oids: readonly Oid[]): Promise<boolean> {
    let isFound = false
    await inSlices(oids, (oid) => {
      isFound = this.targets.has(oid)
      return !isFound
    })
    return isFound
  }

  /** Returns the position of the first creation whose target does not exist; called after a failed commit. */
  private async danglingReference(): Promise<number | undefined> {
    let first: number | undefined
    await inParts([...this.targets.keys()], keysPerRead, async (part) => {
      const { values } = await this.unit.transaction.snapshot.read(part.map(objectKey), [])
      for (const [i, target] of part.entries()) {
        const use = this.firstUses.get(target) as number
        if (values[i] === undefined && (first === undefined || use < first)) first = use
      }
    })
    return first
  }

  private async duplicateKeys({ keys, values }: PackedRows): Promise<readonly DuplicateKey[]> {
    const duplicates: DuplicateKey[] = []
    let [keyAt, valueAt] = [0, 0]
    const slice = openTimeSlice()
    while (keyAt < keys.length) {
      const lookupKeys: Buffer[] = []
      for (
        ;
        keyAt < keys.length && lookupKeys.length < keysPerRead;
        keyAt += packedLengthBytes + (lookupKeys.at(-1) as Buffer).length
      )
        lookupKeys.push(packedAt(keys, keyAt))
      const { values: found } = await this.unit.transaction.snapshot.read(lookupKeys, [])
      for (const one of found) {
        const value = packedAt(values, valueAt)
        valueAt += packedLengthBytes + value.length
        if (one !== undefined) duplicates.push({ holder: undefined, conflicting: value })
      }
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
    return duplicates
  }

  giveUp(): void {
    const { transaction } = this.unit
    transaction.memory?.chargeChange(-this.chargedBytes)
    transaction.restartStep()
  }

  private newClass(name: string): ClassRows | undefined {
    const { unit } = this
    const cls = unit.catalog.findClass(name)
    if (cls === undefined || !cls.isReferenceable || cls.definition.properties?.isAbstract === true) return undefined
    const format = unit.objects.formats.of(cls)
    if (!isPlainClass(format)) return undefined
    const defaults = format.defaultValues().values
    if (defaults.includes(unevaluated)) return undefined
    const indexes = indexFormatsOf(format).all.map((one) => ({ format: one, ...this.rowsOfIndex(one) }))
    const rows: ClassRows = {
      format,
      defaults,
      constraints: constraintsOf(format, unit.objects.formats, unit.expressions.all),
      values: [...defaults],
      indexes,
      names: [],
      attributes: [],
      objects: undefined,
      container: -1,
    }
    this.classes.set(name, rows)
    return rows
  }

  /** Classes covered by the same index share its rows. */
  private rowsOfIndex({ index }: IndexKeyFormat): Pick<IndexRows, 'unique' | 'others'> {
    let rows = this.indexes.get(index)
    if (rows === undefined) {
      const room = this.indexes.size < presizedIndexesMax ? this.expected : fewRows
      const [unique, others] = index.isUnique ? [room, 1] : [1, room]
      rows = { unique: new RowPacker(true, unique, oidLength), others: new RowPacker(false, others, oidLength) }
      this.packers.push(rows.unique, rows.others)
      this.indexes.set(index, rows)
    }
    return rows
  }

  /** Reads the attributes into `rows.values`. Returns false for attributes that need the regular path. */
  private readValues(rows: ClassRows, json: Attributes): boolean {
    const { values, defaults } = rows
    for (let i = 0; i < defaults.length; i++) values[i] = defaults[i]
    const names = Object.keys(json)
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string
      const attribute = rows.names[i] === name ? rows.attributes[i] : this.resolveName(rows, i, name)
      if (attribute === undefined) return false
      const { codec, index } = attribute
      const input = json[name]
      const value = input === null && codec.isNullable ? null : codec.parse(input)
      if (typeof value === 'string' && value.length > packedTextMax) return false
      values[index] = value
      const { spec } = attribute.attribute
      if (spec.logicalType === 'reference' && !this.mayRefer(value as Oid, spec)) return false
    }
    return true
  }

  /** Returns undefined also for a class-qualified name, which may denote the same attribute as another name. */
  private resolveName(rows: ClassRows, at: number, name: string): AttributeFormat | undefined {
    const attribute = name.includes('::') ? undefined : rows.format.attributeNamed(name)
    if (attribute === undefined) return undefined
    rows.names[at] = name
    rows.attributes[at] = attribute
    return attribute
  }

  private mayRefer(target: Oid, { referencedClass }: ReferenceSpec): boolean {
    if (target === noOid) return true
    const cls = this.targets.get(target) ?? this.resolveTarget(target)
    return cls?.isOrInherits(referencedClass) === true
  }

  /** Returns undefined also if it has to wait (`waiting`). */
  private resolveTarget(target: Oid): SchemaClass | undefined {
    if (!this.firstUses.has(target)) this.firstUses.set(target, this.packedCount)
    const cls = this.unit.classOf(target)
    if (cls instanceof Promise) {
      this.waiting = cls.then((found) => {
        if (found === undefined) this.needsRegularPath = true
        else this.targets.set(target, found)
      })
      return undefined
    }
    if (cls !== undefined) this.targets.set(target, cls)
    return cls
  }

  /** Returns false if a limit is exceeded. */
  private addObject(rows: ClassRows, oid: Oid): boolean {
    const { format, values, indexes } = rows
    const { objectKey, oid: oidBytes, commitId } = this
    writeOidBytes(oid, objectKey, objectKeyHeaderBytes)
    const objects = this.objectRows(rows)
    objects.addKey(objectKey, objectKeyBytes, undefined)
    writeRecord(format, commitId, { values, positions: noPositions }, objects.beginValue())
    const recordBytes = objects.endValue()
    if (recordBytes > recordBytesMax) return false
    let bytes = packedRowBytes + objectKeyBytes + recordBytes
    for (let i = 0; i < indexes.length; i++) {
      const { format: keyFormat, unique, others } = indexes[i] as IndexRows
      const isUniqueKey = writeIndexKey(keyFormat, values)
      const { bytes: key, length } = writtenIndexKey
      const keyBytes = isUniqueKey ? length : length + oidLength
      assert(keyBytes <= keyBytesMax, 'an index key keeps within its limit')
      const packer = isUniqueKey ? unique : others
      packer.addKey(key, length, isUniqueKey ? undefined : oidBytes)
      packer.addValue(oidBytes)
      bytes += packedRowBytes + keyBytes + oidLength
    }
    this.chargedBytes += bytes
    this.unit.transaction.memory?.chargeChange(bytes)
    return true
  }

  /** Packs by container, so that rows of one container are adjacent. */
  private objectRows(rows: ClassRows): RowPacker {
    const { oid } = this
    const container =
      (((oid[0] as number) * 256 + (oid[1] as number)) * 256 + (oid[2] as number)) * 256 + (oid[3] as number)
    if (rows.objects !== undefined && rows.container === container && hasRoom(rows.objects)) return rows.objects
    const full = this.objects.get(container)
    let packer = full
    if (packer === undefined || !hasRoom(packer)) {
      // The successor of a full packer is presized as well, to avoid growing.
      const isLarge = full !== undefined || this.objects.size === 0
      const room = isLarge ? Math.min(this.expected - this.packedCount, packerRowsMax) : fewRows
      packer = new RowPacker(false, room, recordRoomBytes)
      this.packers.push(packer)
      this.objects.set(container, packer)
    }
    rows.objects = packer
    rows.container = container
    return packer
  }
}

/** Finds the first object whose key is taken, and its holder if it is created by the same request: index entries have OIDs as values. */
function positionsOf(duplicates: readonly DuplicateKey[], oids: readonly Oid[]): number[] {
  const holders = new Map(duplicates.map(({ holder, conflicting }) => [oidFromBytes(conflicting, 0), holder]))
  const position = oids.findIndex((oid) => holders.has(oid))
  const holder = holders.get(oids[position] as Oid)
  return holder === undefined ? [position] : [oids.indexOf(oidFromBytes(holder, 0)), position]
}

function hasRoom({ length, bytes }: RowPacker): boolean {
  return length < packerRowsMax && bytes < packerBytesMax
}

/** Longer texts would be copied repeatedly as the rows grow. */
const packedTextMax = 65_536

const noAttributes: Attributes = {}
const plainClasses = new WeakMap<ClassFormat, boolean>()

function isPlainClass(format: ClassFormat): boolean {
  let isPlain = plainClasses.get(format)
  if (isPlain === undefined) {
    isPlain = !format.hasPendingType && format.attributes.every(isPlainAttribute)
    plainClasses.set(format, isPlain)
  }
  return isPlain
}

/** True if the value is a single scalar in the record of the object. */
function isPlainAttribute(attribute: AttributeFormat): boolean {
  const { spec } = attribute.attribute
  if (attribute.linkStorage !== undefined || attribute.embedded !== undefined || isCollection(spec)) return false
  // Its text has to be located in the body first.
  if (spec.logicalType === 'json') return false
  if (spec.logicalType === 'reference') return spec.inverseAttribute === null && spec.edgeClass === undefined
  return !mayHoldReferences(spec)
}
