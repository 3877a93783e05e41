/** A snapshot without the data that its caller may not read (decision 0026): hidden objects do not exist, and nothing refers to them. */
import { keySpace } from '../bytes/key-space.ts'
import { assert } from '../errors.ts'
import { restAfter } from '../query/execute/snapshot-reader.ts'
import { attributeOfKey, kindOfKey, linkKind, ownerOfKey, targetOfKey } from '../records/link-keys.ts'
import { oidOfObjectKey } from '../records/object-key.ts'
import { shapeNumberOf } from '../records/record-format.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Bytes, Entry, KeyRange, RangeRead, ReadAnswer, ScanOptions, Snapshot } from '../store/store.ts'
import { noOid, type Oid, oidFromBytes, oidLength } from '../types/oid.ts'
import type { CatalogAccess, ShapeAccess } from './catalog-access.ts'
import type { RecordReferences } from './record-references.ts'
import type { Candidates, Visibility } from './visibility.ts'
import { isFullyVisibleRange } from './whole-ranges.ts'

/**
 * How each method of a snapshot is restricted; exhaustive, so that a new method does not compile unlisted. `screened`: filtered by the rules;
 * `leftOut`: omitted, as callers work without it; `passedOn`: reveals nothing about objects.
 */
const readMethods = {
  entryCount: 'leftOut',
  sharedRead: 'passedOn',
  sharedObjects: 'leftOut',
  lastCommit: 'leftOut',
  bytesLeftOut: 'passedOn',
  view: 'screened',
  read: 'screened',
  scan: 'screened',
  visit: 'leftOut',
  hides: 'screened',
  count: 'leftOut',
  estimate: 'leftOut',
  readNaming: 'leftOut',
  expect: 'passedOn',
  confirm: 'passedOn',
  release: 'passedOn',
} as const satisfies Record<keyof Required<Snapshot>, string>

type Screened = {
  [Method in keyof typeof readMethods as (typeof readMethods)[Method] extends 'leftOut'
    ? never
    : Method]: Snapshot[Method]
}

const nothing = Buffer.alloc(0)
/** Minimum batch for completing a range with a limit, of which some entries may be hidden. */
const refillBatchMin = 16
const scanBatchMin = 64
const scanBatchLimited = 256

/** Marks an entry that is hidden from the caller. */
const hiddenEntry = Symbol('hidden')

/** A copy of an entry whose visibility cannot be decided synchronously. */
class Undecided implements Entry {
  readonly key: Buffer
  readonly value: Buffer

  constructor(key: Buffer, value: Buffer) {
    this.key = key
    this.value = value
  }
}

/** Access and visibility that a snapshot is filtered by. */
export interface AccessFilter {
  readonly access: CatalogAccess
  readonly visibility: Visibility
  /** Records keep references to hidden objects: for callers that only test visibility. */
  readonly withReferences?: boolean
}

export class RestrictedSnapshot implements Snapshot, Screened {
  readonly expect: Snapshot['expect']
  readonly confirm: Snapshot['confirm']
  private readonly below: Snapshot
  private readonly open: (below: Snapshot) => Awaitable<AccessFilter>
  private opened: AccessFilter | undefined

  /** `open` is called on the first read of data that may be hidden. */
  constructor(below: Snapshot, open: (below: Snapshot) => Awaitable<AccessFilter>) {
    this.below = below
    this.open = open
    this.expect = below.expect?.bind(below)
    this.confirm = below.confirm?.bind(below)
  }

  get sharedRead(): object | undefined {
    return this.below.sharedRead
  }

  bytesLeftOut(key: Bytes): Promise<number | undefined> | undefined {
    return this.below.bytesLeftOut?.(key)
  }

  view<T>(key: Bytes, use: (value: Bytes) => T): Awaitable<T | undefined> {
    if (!isScreened(key)) return this.below.view(key, use)
    return this.within((screen) => viewScreened(this.below, screen, key, use))
  }

  read(keys: readonly Bytes[], ranges: readonly RangeRead[] = []): Awaitable<ReadAnswer> {
    if (!keys.some(isScreened) && !ranges.some(mayBeScreened)) return this.below.read(keys, ranges)
    return this.within((screen) => this.readScreened(screen, keys, ranges))
  }

  hides(range: KeyRange): Awaitable<boolean> {
    if (!mayBeScreened(range)) return false
    return this.within((screen) =>
      mapAwaitable(isFullyVisibleRange(range, screen), (isFullyVisible) => !isFullyVisible),
    )
  }

  async *scan<T>(
    range: KeyRange,
    use: (key: Bytes, value: Bytes) => T,
    options: ScanOptions = {},
  ): AsyncGenerator<T[]> {
    const screen = mayBeScreened(range) ? await this.screen() : undefined
    if (screen === undefined || (await isFullyVisibleRange(range, screen))) {
      yield* this.below.scan(range, use, options)
      return
    }
    const { limit, keysOnly = false, batch, ...scanOptions } = options
    let left = limit ?? Number.POSITIVE_INFINITY
    const size = batch ?? (limit === undefined ? undefined : Math.max(limit, scanBatchLimited))
    const { visibility } = screen
    // The caller's time slice also charges the time of the scan to the caller's limits.
    const slicedOptions = { slice: visibility.slice, ...scanOptions }
    const sized = size === undefined ? slicedOptions : { ...slicedOptions, batch: Math.max(size, scanBatchMin) }
    const visibleValue = (value: Bytes): Bytes => (keysOnly ? nothing : value)
    let returned = 0
    let isUndecided = false
    // Most entries are decided while borrowed, without copying hidden ones. After the first undecided entry, the rest of the batch is copied.
    const borrowed = (key: Bytes, value: Bytes): T | typeof hiddenEntry | Undecided => {
      if (returned >= left) return hiddenEntry
      const isVisible = isUndecided ? undefined : decideSync(key, value, screen)
      if (isVisible === undefined) {
        isUndecided = true
        return new Undecided(Buffer.from(key), Buffer.from(value))
      }
      if (!isVisible) return hiddenEntry
      returned++
      return use(key, visibleValue(value))
    }
    visibility.begin()
    try {
      for await (const entries of this.below.scan(range, borrowed, sized)) {
        const results: T[] = []
        const undecided: Undecided[] = []
        for (const one of entries) {
          if (one instanceof Undecided) undecided.push(one)
          else if (one !== hiddenEntry) results.push(one as T)
        }
        const found = undecided.length === 0 ? [] : screened(undecided, screen)
        const values = found instanceof Promise ? await found : found
        for (let i = 0; i < values.length && results.length < left; i++) {
          const value = values[i]
          if (value !== undefined) results.push(use((undecided[i] as Entry).key, visibleValue(value)))
        }
        returned = 0
        isUndecided = false
        left -= results.length
        visibility.end()
        try {
          if (results.length > 0) yield results
        } finally {
          visibility.begin()
        }
        if (left <= 0) return
        const pause = visibility.yieldIfDue()
        if (pause !== undefined) await pause
      }
    } finally {
      visibility.end()
    }
  }

  release(): void {
    this.opened?.visibility.release()
    this.below.release()
  }

  private screen(): Awaitable<AccessFilter> {
    if (this.opened !== undefined) return this.opened
    const opened = this.open(this.below)
    // The first of two concurrent opens is used.
    return mapAwaitable(opened, (screen) => {
      if (this.opened !== undefined && this.opened !== screen) screen.visibility.release()
      this.opened ??= screen
      return this.opened
    })
  }

  /** Accounts the time as work of the caller. */
  private within<T>(use: (screen: AccessFilter) => Awaitable<T>): Awaitable<T> {
    return mapAwaitable(this.screen(), (screen) => {
      const { visibility } = screen
      visibility.begin()
      let result: Awaitable<T>
      try {
        result = use(screen)
      } catch (error) {
        visibility.end()
        throw error
      }
      if (result instanceof Promise) return result.finally(() => visibility.end())
      visibility.end()
      return result
    })
  }

  private readScreened(
    screen: AccessFilter,
    keys: readonly Bytes[],
    ranges: readonly RangeRead[],
  ): Awaitable<ReadAnswer> {
    return mapAwaitable(this.below.read(keys, ranges), (answer) => {
      const entries: Entry[] = []
      for (const [i, value] of answer.values.entries()) {
        if (value !== undefined) entries.push({ key: keys[i] as Bytes, value })
      }
      const rangeEntries = answer.ranges.flat()
      return mapAwaitable(screened([...entries, ...rangeEntries], screen), (visible) => {
        let at = 0
        const values = answer.values.map((value) => (value === undefined ? undefined : visible[at++]))
        const completed = answer.ranges.map((read, i) => {
          const found = visibleEntries(read, visible.slice(at, at + read.length))
          at += read.length
          return this.filled(screen, ranges[i] as RangeRead, read, found)
        })
        if (!completed.some((part) => part instanceof Promise)) return { values, ranges: completed as Entry[][] }
        return Promise.all(completed).then((filled) => ({ values, ranges: filled }))
      })
    })
  }

  /** Continues behind hidden entries until the limit is reached. */
  private filled(screen: AccessFilter, range: RangeRead, read: readonly Entry[], found: Entry[]): Awaitable<Entry[]> {
    const { limit, reverse = false } = range
    if (limit === undefined || read.length === 0 || read.length < limit || found.length >= limit) return found
    return this.filledByScan(restAfter(range, read), { reverse, limit: limit - found.length }, found, screen)
  }

  private async filledByScan(
    rest: KeyRange,
    options: { readonly reverse: boolean; readonly limit: number },
    found: Entry[],
    { visibility }: AccessFilter,
  ): Promise<Entry[]> {
    const copy = (key: Bytes, value: Bytes): Entry => ({ key: Buffer.from(key), value: Buffer.from(value) })
    const batch = Math.max(options.limit, refillBatchMin)
    for await (const entries of this.scan(rest, copy, { ...options, batch })) {
      for (const entry of entries) found.push(entry)
      const pause = visibility.yieldIfDue()
      if (pause !== undefined) await pause
    }
    return found
  }
}

function visibleEntries(entries: readonly Entry[], values: readonly (Bytes | undefined)[]): Entry[] {
  const visible: Entry[] = []
  for (const [i, { key }] of entries.entries()) {
    const value = values[i]
    if (value !== undefined) visible.push({ key, value })
  }
  return visible
}

/** Objects, and the links and index entries that refer to them. */
function isScreened(key: Bytes): boolean {
  const space = key[0]
  return space === keySpace.object || space === keySpace.link || space === keySpace.index
}

function mayBeScreened({ from, to }: KeyRange): boolean {
  if (from === undefined || to === undefined) return true
  return isScreened(from) || isScreened(to) || from[0] !== to[0]
}

/** For a borrowed object: whether it is visible as stored; undefined where that is unknown without a read, and for other entries. */
function decideSync(
  key: Bytes,
  value: Bytes,
  { access, visibility, withReferences }: AccessFilter,
): boolean | undefined {
  if (key[0] !== keySpace.object) return undefined
  const { objects, references } = access.forShape(shapeNumberOf(value))
  if (!references.areNone && withReferences !== true) return undefined
  return visibility.seesRecord(objects, key, value)
}

function viewScreened<T>(
  below: Snapshot,
  screen: AccessFilter,
  key: Bytes,
  use: (value: Bytes) => T,
): Awaitable<T | undefined> {
  const isObject = key[0] === keySpace.object
  const { access, visibility, withReferences } = screen
  let isVisible: boolean | undefined
  let references: RecordReferences | undefined
  const viewed = below.view(key, (value): { readonly used: T } | { readonly copy: Buffer } | undefined => {
    if (!isObject) return { copy: Buffer.from(value) }
    const shape = access.forShape(shapeNumberOf(value))
    if (shape.isFullyVisible) return { used: use(value) }
    access.addSample(shape.classNumber, key, value)
    isVisible = visibility.seesRecord(shape.objects, key, value)
    if (isVisible === false) return undefined
    if (isVisible === true && (shape.references.areNone || withReferences === true)) return { used: use(value) }
    references = shape.references
    return { copy: Buffer.from(value) }
  })
  return mapAwaitable(viewed, (found): Awaitable<T | undefined> => {
    if (isVisible === false) return visibility.simulateLookup(key)
    if (found === undefined) return isObject ? visibility.simulateDecision(oidOfObjectKey(key)) : undefined
    if ('used' in found) return found.used
    if (isVisible === true && references !== undefined)
      return mapAwaitable(visibleRecord(found.copy, references, visibility), use)
    return mapAwaitable(screened([{ key, value: found.copy }], screen), ([value]) => {
      if (value !== undefined) return use(value)
      return isObject ? visibility.simulateLookup(key) : undefined
    })
  })
}

/** Record of a visible object, in which references to hidden objects are null. */
function visibleRecord(record: Bytes, references: RecordReferences, visibility: Visibility): Awaitable<Bytes> {
  const targets: Candidates = new Map()
  references.targets(record, targets)
  return mapAwaitable(visibility.refusedAmong(targets), (hidden) =>
    hidden.size === 0 ? record : references.without(record, (oid) => !hidden.has(oid)),
  )
}

/** Values of the entries as the caller sees them, undefined for hidden entries. No promise where everything can be decided synchronously. */
function screened(entries: readonly Entry[], screen: AccessFilter): Awaitable<(Bytes | undefined)[]> {
  const candidates: Candidates = new Map()
  const shapes: (ShapeAccess | undefined)[] = []
  for (const { key, value } of entries) {
    const shape = key[0] === keySpace.object ? screen.access.forShape(shapeNumberOf(value)) : undefined
    shapes.push(shape)
    if (shape === undefined) addReferenced(key, value, screen, candidates)
    else if (typeof shape.objects !== 'string') candidates.set(oidOfObjectKey(key), value)
  }
  return mapAwaitable(screen.visibility.refusedAmong(candidates), (hidden) => {
    const isHidden = entries.map(({ key, value }, i): boolean => {
      const shape = shapes[i]
      if (shape?.objects === 'none') return true
      if (shape?.objects === 'all' || hidden.size === 0) return false
      if (shape !== undefined) return hidden.has(oidOfObjectKey(key))
      const references: Candidates = new Map()
      addReferenced(key, value, screen, references)
      for (const oid of references.keys()) if (hidden.has(oid)) return true
      return false
    })
    const values = entries.map(({ value }, i) => (isHidden[i] === true ? undefined : value))
    if (screen.withReferences === true) return values
    const withReferences = values.some((value, i) => value !== undefined && shapes[i]?.references.areNone === false)
    return withReferences ? withoutHiddenReferences(values, shapes, screen) : values
  })
}

/** The objects that an entry refers to: it is hidden if one of them is. */
function addReferenced(key: Bytes, value: Bytes, { access }: AccessFilter, into: Candidates): void {
  if (key[0] === keySpace.index) {
    addReference(oidFromBytes(value, 0), into)
    return
  }
  if (key[0] !== keySpace.link) return
  addReference(ownerOfKey(key), into)
  switch (kindOfKey(key)) {
    case linkKind.target:
      addReference(targetOfKey(key), into)
      return
    case linkKind.name:
      addReference(oidFromBytes(value, 0), into)
      if (access.isMapByReference(attributeOfKey(key))) addReference(oidFromBytes(value, oidLength), into)
      return
    default:
      assert(kindOfKey(key) === linkKind.position, 'a link entry is of a list, a set or a map')
      addReference(oidFromBytes(value, 0), into)
  }
}

/** The null reference may be an element of a list. */
function addReference(oid: Oid, into: Candidates): void {
  if (oid !== noOid && !into.has(oid)) into.set(oid, undefined)
}

/** Replaces references to hidden objects by null in the records of visible objects. */
async function withoutHiddenReferences(
  values: (Bytes | undefined)[],
  shapes: readonly (ShapeAccess | undefined)[],
  { visibility }: AccessFilter,
): Promise<(Bytes | undefined)[]> {
  const targets: Candidates = new Map()
  for (const [i, value] of values.entries()) {
    const references = shapes[i]?.references
    if (value === undefined || references === undefined) continue
    references.targets(value, targets)
    const pause = visibility.slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  const hidden = await visibility.refusedAmong(targets)
  if (hidden.size === 0) return values
  const isVisible = (oid: Oid): boolean => !hidden.has(oid)
  for (const [i, value] of values.entries()) {
    const references = shapes[i]?.references
    if (value === undefined || references === undefined || references.areNone) continue
    values[i] = references.without(value, isVisible)
    const pause = visibility.slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return values
}
