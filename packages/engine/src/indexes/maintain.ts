/** Maintains the index entries of changed objects, in the same commit. */
import { AshlarError, type ErrorDetail } from '../errors.ts'
import { reportedViolationsMax } from '../limits.ts'
import type { ClassFormat } from '../records/class-format.ts'
import type { IndexDefinition } from '../schema/class-definition.ts'
import type { Bytes } from '../store/store.ts'
import { openTimeSlice, runYieldingIfLong, type TimeSlice } from '../store/time-slice.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { formatForMessage, type StepwiseWork } from '../types/logical-type.ts'
import { type Oid, oidBytes, oidFromBytes } from '../types/oid.ts'
import { noteDuplicate } from './duplicate-note.ts'
import {
  extractKeyValues,
  type IndexKey,
  type IndexKeyFormat,
  indexKeyFormat,
  makeIndexKey,
  makeIndexKeyOfRecord,
} from './index-key.ts'
import { keysOfList, type ListReferrers, listReferrersOf, referrerDefinition } from './referrer-entries.ts'

export interface IndexedChange {
  readonly oid: Oid
  readonly format: ClassFormat
  /** The record; undefined before creation. */
  readonly stored: Bytes | undefined
  /** The record, while its values have not been decoded. */
  readonly undecoded: Bytes | undefined
  /** Undefined before creation. */
  readonly before: readonly unknown[] | undefined
  readonly values: readonly unknown[]
  readonly isDeleted: boolean
  /** The attributes that may have changed, by index in the class; used only if there are values before and after. */
  readonly changed: ReadonlySet<number> | undefined
  /** The position of the command that creates the object, for errors of several commands. */
  readonly position: number | undefined
  entryValue: Bytes | undefined
}

/** Limits the information that errors disclose to a caller. */
interface Discretion {
  mayTellHolder(index: IndexDefinition, changed: Oid, holder: Oid): Promise<boolean>
}

interface EntryChange {
  readonly change: IndexedChange
  readonly format: IndexKeyFormat
  readonly entry: IndexKey
}

/** True if the object needs `maintainIndexes`; the remaining entries of a new object are written by `putNewEntries`. */
export function hasEntriesToCheck(change: IndexedChange): boolean {
  const { all, unique, lists } = indexFormatsOf(change.format)
  if (change.stored === undefined) return unique.length > 0
  if (change.isDeleted) return all.length > 0 || lists.length > 0
  return all.some((format) => concerns(format, change)) || lists.some((list) => concernsList(list, change))
}

/**
 * Puts and deletes the entries of all indexes that cover the changed objects; for new objects, only of unique indexes. Throws UniqueViolation
 * (contract 6.1.6: full values are compared; null and 0-0-0-0 are exempt).
 */
export async function maintainIndexes(
  transaction: Transaction,
  changes: Iterable<IndexedChange>,
  discretion?: Discretion,
): Promise<void> {
  const removals: EntryChange[] = []
  const additions: EntryChange[] = []
  const slice = openTimeSlice()
  let seen = 0
  for (const change of changes) {
    const { all, unique, lists } = indexFormatsOf(change.format)
    for (const format of change.stored === undefined ? unique : all) collect(change, format, removals, additions)
    if (lists.length > 0 && change.stored !== undefined) {
      const maintained = runYieldingIfLong(maintainLists(transaction, change, lists), slice)
      if (maintained !== undefined) await maintained
    }
    // A key of large values includes a digest of all of them.
    const pause = ++seen === 1 ? undefined : slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  // Removals come first: a unique key may move from one changed object to another.
  let position = 0
  for (const removal of removals) {
    if (removal.entry.isUniqueKey && removal.format.index.state === 'building') {
      await removeWhileBuilding(transaction, removal)
    } else transaction.delete(removal.entry.key)
    if (isCheckDue(position++)) await slice.yieldIfDue()
  }
  const added = additions
  position = 0
  for (const { change, entry } of transaction.isRetry
    ? await withoutDuplicates(transaction, added, slice, discretion)
    : added) {
    if (entry.isUniqueKey) transaction.putNew(entry.key, entryValueOf(change))
    else transaction.put(entry.key, entryValueOf(change))
    if (isCheckDue(position++)) await slice.yieldIfDue()
  }
}

/** `maintainIndexes` for one object: synchronous unless a read is needed, or a list is long. */
export function maintainIndexesOf(transaction: Transaction, change: IndexedChange): Promise<void> | undefined {
  const { all, unique, lists, isAnyBuilding } = indexFormatsOf(change.format)
  if (isAnyBuilding || transaction.isRetry) return maintainIndexes(transaction, [change])
  for (const format of change.stored === undefined ? unique : all) {
    const { old, entry } = entriesOf(change, format)
    // With a single object, no key moves between entries.
    if (old !== undefined) transaction.delete(old.key)
    if (entry === undefined) continue
    if (entry.isUniqueKey) transaction.putNew(entry.key, entryValueOf(change))
    else transaction.put(entry.key, entryValueOf(change))
  }
  if (lists.length === 0 || change.stored === undefined) return undefined
  return runYieldingIfLong(maintainLists(transaction, change, lists))
}

/** Puts the entries of a new object in non-unique indexes: their keys contain its OID, so no conflict is possible. Synchronous unless a list is long. */
export function putNewEntries(transaction: Transaction, change: IndexedChange): Promise<void> | undefined {
  const { oid, format, values } = change
  const { others, referrers, lists } = indexFormatsOf(format)
  for (let i = 0; i < others.length; i++) {
    transaction.putOwn(makeIndexKey(others[i] as IndexKeyFormat, values, oid).key, entryValueOf(change))
  }
  for (const one of referrers) transaction.put(makeIndexKey(one, values, oid).key, entryValueOf(change))
  return lists.length === 0 ? undefined : runYieldingIfLong(putListEntries(transaction, change, lists))
}

function* putListEntries(
  transaction: Transaction,
  change: IndexedChange,
  lists: readonly ListReferrers[],
): StepwiseWork<undefined> {
  let steps = 0
  for (const { attribute, index } of lists) {
    for (const key of keysOfList(index, change.values[attribute.index] as readonly Oid[], change.oid)) {
      transaction.put(key, entryValueOf(change))
      if (isCheckDue(steps++)) yield
    }
  }
}

function* maintainLists(
  transaction: Transaction,
  change: IndexedChange,
  lists: readonly ListReferrers[],
): StepwiseWork<undefined> {
  const { oid, before, values, isDeleted } = change
  let steps = 0
  for (const list of lists) {
    const { attribute, index } = list
    if (!isDeleted && !concernsList(list, change)) continue
    const present = before?.[attribute.index] as readonly Oid[]
    const required = isDeleted ? [] : (values[attribute.index] as readonly Oid[])
    for (const key of keysOfList(index, present, oid, required)) {
      transaction.delete(key)
      if (isCheckDue(steps++)) yield
    }
    for (const key of keysOfList(index, required, oid, present)) {
      transaction.put(key, entryValueOf(change))
      if (isCheckDue(steps++)) yield
    }
  }
}

function concernsList({ attribute }: ListReferrers, { changed }: IndexedChange): boolean {
  return changed?.has(attribute.index) === true
}

function entryValueOf(change: IndexedChange): Bytes {
  change.entryValue ??= oidBytes(change.oid)
  return change.entryValue
}

/** True every few positions, except at the first ones, beyond which most requests never get. */
function isCheckDue(position: number): boolean {
  return position % 100 === 99
}

function collect(
  change: IndexedChange,
  format: IndexKeyFormat,
  removals: EntryChange[],
  additions: EntryChange[],
): void {
  const { old, entry } = entriesOf(change, format)
  if (old !== undefined) removals.push({ change, format, entry: old })
  if (entry !== undefined) additions.push({ change, format, entry })
}

const unchanged = { old: undefined, entry: undefined }

function entriesOf(
  change: IndexedChange,
  format: IndexKeyFormat,
): { readonly old: IndexKey | undefined; readonly entry: IndexKey | undefined } {
  const { oid, stored, isDeleted } = change
  if (stored !== undefined && !isDeleted && !concerns(format, change)) return unchanged
  const old = stored === undefined ? undefined : oldKeyOf(change, format)
  const entry = isDeleted ? undefined : makeIndexKey(format, change.values, oid)
  if (old !== undefined && entry !== undefined && old.key.equals(entry.key)) return unchanged
  return { old, entry }
}

function oldKeyOf(change: IndexedChange, format: IndexKeyFormat): IndexKey {
  const { oid, undecoded } = change
  return undecoded === undefined
    ? makeIndexKey(format, change.before as readonly unknown[], oid)
    : makeIndexKeyOfRecord(format, change.format, undecoded, oid)
}

/** True if an attribute of the key has changed, or the embedded object that contains it. */
function concerns({ parts }: IndexKeyFormat, { changed }: IndexedChange): boolean {
  return changed !== undefined && parts.some(({ path }) => changed.has(path[0] as number))
}

/**
 * The build may not have reached this object, and another object may hold the key meanwhile, so an entry is deleted only if it holds the object's
 * own OID. The entry read is required to be unchanged: until the commit, the other object may release the key and the build may reach this one.
 */
async function removeWhileBuilding(transaction: Transaction, { change, entry }: EntryChange): Promise<void> {
  const [holder] = await transaction.readAndRequire([entry.key])
  if (holder !== undefined && oidFromBytes(holder, 0) === change.oid) transaction.delete(entry.key)
}

/**
 * Returns the entries that can be put. Throws UniqueViolation. In an index built for a future type, a taken key does not invalidate the object: the
 * entry is omitted, and a note makes the change of the type fail.
 */
async function withoutDuplicates(
  transaction: Transaction,
  additions: Iterable<EntryChange>,
  slice: TimeSlice,
  discretion: Discretion | undefined,
): Promise<Iterable<EntryChange>> {
  const leftOut = new Set<EntryChange>()
  const holders = new Map<string, Bytes>()
  const violations = new Violations()
  for (const part of partsOf(additions, ({ entry }) => entry.isUniqueKey)) {
    const { values } = await transaction.read(part.map(({ entry }) => entry.key))
    for (const [i, addition] of part.entries()) {
      const text = addition.entry.key.toString('latin1')
      const holder = values[i] ?? holders.get(text)
      if (holder === undefined) {
        holders.set(text, oidBytes(addition.change.oid))
        continue
      }
      transaction.requireAsRead(addition.entry.key, values[i])
      const { index } = addition.format
      if (index.replaces === undefined) {
        const oid = oidFromBytes(holder, 0)
        const mayName = discretion === undefined || (await discretion.mayTellHolder(index, addition.change.oid, oid))
        const error = mayName
          ? uniqueViolation(addition, oid, values[i] === undefined ? sameRequestHolder : '')
          : undisclosedViolation(addition)
        violations.add(addition.change, oid, error)
        continue
      }
      noteDuplicate(transaction, index.number, addition.change.oid, oidFromBytes(holder, 0))
      leftOut.add(addition)
    }
    await slice.yieldIfDue()
  }
  violations.throwAny()
  return leftOut.size === 0 ? additions : [...additions].filter((addition) => !leftOut.has(addition))
}

/** Collects violations: of several commands all are reported, each at its place; otherwise the first one. */
class Violations {
  private first: AshlarError | undefined
  private readonly details: ErrorDetail[] = []
  /** Objects with a violation, whose keys remain taken. */
  private readonly violating = new Set<Oid>()

  /** Throws if no further violation needs to be reported. */
  add({ oid, position }: IndexedChange, holder: Oid, error: AshlarError): void {
    if (position === undefined) throw this.first ?? error
    if (this.violating.has(holder) || this.violating.has(oid)) return
    this.violating.add(oid)
    this.first ??= error
    if (this.details.length < reportedViolationsMax) this.details.push(...error.errors)
  }

  throwAny(): void {
    if (this.first === undefined) return
    const { type, message, extensions } = this.first
    throw new AshlarError(type, message, this.details, extensions)
  }
}

function* partsOf<T>(all: Iterable<T>, isSelected: (one: T) => boolean): Generator<readonly T[]> {
  let part: T[] = []
  for (const one of all) {
    if (!isSelected(one)) continue
    part.push(one)
    if (part.length < keysPerRead) continue
    yield part
    part = []
  }
  if (part.length > 0) yield part
}

const keysPerRead = 1_000

/** The holder may not exist yet, since nothing of the request is executed. */
const sameRequestHolder = ', which the same request creates or changes'

function uniqueViolation({ change, format }: EntryChange, holder: Oid, which: string): AshlarError {
  const error = uniqueViolationError(format, change.format.cls.name, change.values, `${holder}${which}`)
  return change.position === undefined ? error : error.within(change.position)
}

function undisclosedViolation({ change: { position } }: EntryChange): AshlarError {
  const error = new AshlarError(
    'UniqueViolation',
    'The change would give two objects the same values, which a unique index forbids.',
  )
  return position === undefined ? error : error.within(position)
}

export function uniqueViolationError(
  format: IndexKeyFormat,
  className: string,
  values: readonly unknown[],
  holder: string,
): AshlarError {
  const keyed = extractKeyValues(format, values)
  const attributes = format.parts.map((part, position) => {
    const value = keyed[position] === null ? null : part.format.codec.toJson(keyed[position])
    return `${part.name} ${formatForMessage(value)}`
  })
  return new AshlarError(
    'UniqueViolation',
    `Class ${className}: ${attributes.join(', ')} is already held by object ${holder} (unique index '${format.index.name}').`,
  )
}

interface IndexFormats {
  readonly all: readonly IndexKeyFormat[]
  readonly unique: readonly IndexKeyFormat[]
  readonly others: readonly IndexKeyFormat[]
  /** Referrer indexes of single references. */
  readonly referrers: readonly IndexKeyFormat[]
  /** Referrer indexes of lists stored in the record, with several entries per object. */
  readonly lists: readonly ListReferrers[]
  readonly isAnyBuilding: boolean
}

const formatsOfClasses = new WeakMap<ClassFormat, IndexFormats>()

export function indexFormatsOf(format: ClassFormat): IndexFormats {
  let formats = formatsOfClasses.get(format)
  if (formats === undefined) {
    const referenceIndexes = format.attributes.flatMap((attribute) => referrerDefinition(attribute) ?? [])
    const declared = format.cls.indexes.map((index) => indexKeyFormat(index, format))
    const referrers = referenceIndexes.map((index) => indexKeyFormat(index, format))
    const all = [...declared, ...referrers]
    formats = {
      all,
      referrers,
      lists: listReferrersOf(format.attributes),
      unique: all.filter(({ index }) => index.isUnique),
      others: declared.filter(({ index }) => !index.isUnique),
      isAnyBuilding: all.some(({ index }) => index.state === 'building'),
    }
    formatsOfClasses.set(format, formats)
  }
  return formats
}
