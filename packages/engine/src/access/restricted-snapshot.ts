/** A snapshot without what its caller may not read (decision 0026): hidden objects are not there, and nothing names them. */
import { keySpace } from '../bytes/key-space.ts'
import { assert } from '../errors.ts'
import { attributeOfKey, kindOfKey, linkKind, ownerOfKey, targetOfKey } from '../records/link-keys.ts'
import { oidOfObjectKey } from '../records/object-key.ts'
import { shapeNumberOf } from '../records/record-format.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Bytes, Entry, KeyRange, RangeRead, ReadAnswer, ScanOptions, Snapshot } from '../store/store.ts'
import { noOid, type Oid, oidFromBytes, oidLength } from '../types/oid.ts'
import type { CatalogAccess, ShapeAccess } from './catalog-access.ts'
import type { RecordReferences } from './record-references.ts'
import type { Candidates, Visibility } from './visibility.ts'
import { isWholeRange } from './whole-ranges.ts'

/**
 * What becomes of each method of a snapshot: a new one does not compile before it is in this list. `screened`: by the rules; `leftOut`: whoever asks can do
 * without it; `passedOn`: it tells nothing of objects.
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
/** Of a range with a limit, so many entries are read at first: some of them may be hidden. */
const entriesMoreMin = 16
const scanBatchMin = 64
const scanBatchLimited = 256

/** In the place of an entry that the caller does not see. */
const hiddenEntry = Symbol('hidden')

/** An entry of which it cannot be told at once whether the caller sees it, or how. */
class Undecided implements Entry {
  readonly key: Buffer
  readonly value: Buffer

  constructor(key: Buffer, value: Buffer) {
    this.key = key
    this.value = value
  }
}

/** Where a snapshot learns what its caller sees. */
export interface Screen {
  readonly access: CatalogAccess
  readonly visibility: Visibility
  /** Records keep references to what is hidden: for whoever asks only whether an object is seen. */
  readonly withReferences?: boolean
}

export class RestrictedSnapshot implements Snapshot, Screened {
  readonly expect: Snapshot['expect']
  readonly confirm: Snapshot['confirm']
  private readonly below: Snapshot
  private readonly open: (below: Snapshot) => Awaitable<Screen>
  private opened: Screen | undefined

  /** `open`: called once something is read that may be hidden. */
  constructor(below: Snapshot, open: (below: Snapshot) => Awaitable<Screen>) {
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
    return this.within((screen) => mapAwaitable(isWholeRange(range, screen), (isWhole) => !isWhole))
  }

  async *scan<T>(
    range: KeyRange,
    use: (key: Bytes, value: Bytes) => T,
    options: ScanOptions = {},
  ): AsyncGenerator<T[]> {
    const screen = mayBeScreened(range) ? await this.screen() : undefined
    if (screen === undefined || (await isWholeRange(range, screen))) {
      yield* this.below.scan(range, use, options)
      return
    }
    const { limit, keysOnly = false, batch, ...others } = options
    let left = limit ?? Number.POSITIVE_INFINITY
    const size = batch ?? (limit === undefined ? undefined : Math.max(limit, scanBatchLimited))
    const { visibility } = screen
    // Of its own, the scan would let others have their turns, and the work of the caller would never be asked whether it may go on.
    const own = { slice: visibility.slice, ...others }
    const sized = size === undefined ? own : { ...own, batch: Math.max(size, scanBatchMin) }
    const shownOf = (value: Bytes): Bytes => (keysOnly ? nothing : value)
    let shown = 0
    let isUndecided = false
    // Most are decided where they lie: nothing of those that are hidden is copied. From the first on that has to be waited for, the batch is.
    const borrowed = (key: Bytes, value: Bytes): T | typeof hiddenEntry | Undecided => {
      if (shown >= left) return hiddenEntry
      const isShown = isUndecided ? undefined : isShownAtOnce(key, value, screen)
      if (isShown === undefined) {
        isUndecided = true
        return new Undecided(Buffer.from(key), Buffer.from(value))
      }
      if (!isShown) return hiddenEntry
      shown++
      return use(key, shownOf(value))
    }
    visibility.begin()
    try {
      for await (const batchOf of this.below.scan(range, borrowed, sized)) {
        const results: T[] = []
        const undecided: Undecided[] = []
        for (const one of batchOf) {
          if (one instanceof Undecided) undecided.push(one)
          else if (one !== hiddenEntry) results.push(one as T)
        }
        const found = undecided.length === 0 ? [] : screened(undecided, screen)
        const values = found instanceof Promise ? await found : found
        for (let i = 0; i < values.length && results.length < left; i++) {
          const value = values[i]
          if (value !== undefined) results.push(use((undecided[i] as Entry).key, shownOf(value)))
        }
        shown = 0
        isUndecided = false
        left -= results.length
        visibility.end()
        try {
          if (results.length > 0) yield results
        } finally {
          visibility.begin()
        }
        if (left <= 0) return
        const pause = visibility.turn()
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

  private screen(): Awaitable<Screen> {
    if (this.opened !== undefined) return this.opened
    const opened = this.open(this.below)
    // Of two that ask at the same time, both take the first.
    return mapAwaitable(opened, (screen) => {
      if (this.opened !== undefined && this.opened !== screen) screen.visibility.release()
      this.opened ??= screen
      return this.opened
    })
  }

  /** What is done counts as work of the caller. */
  private within<T>(use: (screen: Screen) => Awaitable<T>): Awaitable<T> {
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

  private readScreened(screen: Screen, keys: readonly Bytes[], ranges: readonly RangeRead[]): Awaitable<ReadAnswer> {
    return mapAwaitable(this.below.read(keys, ranges), (answer) => {
      const entries: Entry[] = []
      for (const [i, value] of answer.values.entries()) {
        if (value !== undefined) entries.push({ key: keys[i] as Bytes, value })
      }
      const ofRanges = answer.ranges.flat()
      return mapAwaitable(screened([...entries, ...ofRanges], screen), (shown) => {
        let at = 0
        const values = answer.values.map((value) => (value === undefined ? undefined : shown[at++]))
        const partly = answer.ranges.map((read, i) => {
          const kept = shownEntries(read, shown.slice(at, at + read.length))
          at += read.length
          return this.filled(screen, ranges[i] as RangeRead, read, kept)
        })
        if (!partly.some((part) => part instanceof Promise)) return { values, ranges: partly as Entry[][] }
        return Promise.all(partly).then((filled) => ({ values, ranges: filled }))
      })
    })
  }

  /** As many as the limit asks for, where there are so many: those behind the hidden ones as well. */
  private filled(screen: Screen, range: RangeRead, read: readonly Entry[], kept: Entry[]): Awaitable<Entry[]> {
    const { limit, reverse = false, from, to } = range
    const last = read.at(-1)
    if (limit === undefined || last === undefined || read.length < limit || kept.length >= limit) return kept
    const rest = reverse
      ? { ...(from === undefined ? {} : { from }), to: last.key }
      : { from: Buffer.concat([last.key, Buffer.of(0)]), ...(to === undefined ? {} : { to }) }
    return this.filledByScan(rest, { reverse, limit: limit - kept.length }, kept, screen)
  }

  private async filledByScan(
    rest: KeyRange,
    options: { readonly reverse: boolean; readonly limit: number },
    kept: Entry[],
    { visibility }: Screen,
  ): Promise<Entry[]> {
    const copy = (key: Bytes, value: Bytes): Entry => ({ key: Buffer.from(key), value: Buffer.from(value) })
    const batch = Math.max(options.limit, entriesMoreMin)
    for await (const entries of this.scan(rest, copy, { ...options, batch })) {
      for (const entry of entries) kept.push(entry)
      const pause = visibility.turn()
      if (pause !== undefined) await pause
    }
    return kept
  }
}

function shownEntries(entries: readonly Entry[], values: readonly (Bytes | undefined)[]): Entry[] {
  const shown: Entry[] = []
  for (const [i, { key }] of entries.entries()) {
    const value = values[i]
    if (value !== undefined) shown.push({ key, value })
  }
  return shown
}

/** Objects, and what names them. */
function isScreened(key: Bytes): boolean {
  const space = key[0]
  return space === keySpace.object || space === keySpace.link || space === keySpace.index
}

function mayBeScreened({ from, to }: KeyRange): boolean {
  if (from === undefined || to === undefined) return true
  return isScreened(from) || isScreened(to) || from[0] !== to[0]
}

/** Of an object that is borrowed: whether it is shown, and then as it is; undefined where that has to be found out, and for any other entry. */
function isShownAtOnce(key: Bytes, value: Bytes, { access, visibility, withReferences }: Screen): boolean | undefined {
  if (key[0] !== keySpace.object) return undefined
  const { objects, references } = access.ofShape(shapeNumberOf(value))
  if (!references.areNone && withReferences !== true) return undefined
  return visibility.seesRecord(objects, key, value)
}

function viewScreened<T>(
  below: Snapshot,
  screen: Screen,
  key: Bytes,
  use: (value: Bytes) => T,
): Awaitable<T | undefined> {
  const isObject = key[0] === keySpace.object
  const { access, visibility, withReferences } = screen
  let isSeen: boolean | undefined
  let references: RecordReferences | undefined
  const seen = below.view(key, (value): { readonly used: T } | { readonly copy: Buffer } | undefined => {
    if (!isObject) return { copy: Buffer.from(value) }
    const shape = access.ofShape(shapeNumberOf(value))
    if (shape.isWhole) return { used: use(value) }
    access.keepSample(shape.classNumber, key, value)
    isSeen = visibility.seesRecord(shape.objects, key, value)
    if (isSeen === false) return undefined
    if (isSeen === true && (shape.references.areNone || withReferences === true)) return { used: use(value) }
    references = shape.references
    return { copy: Buffer.from(value) }
  })
  return mapAwaitable(seen, (found): Awaitable<T | undefined> => {
    if (isSeen === false) return visibility.pretendMissing(key)
    if (found === undefined) return isObject ? visibility.pretend(oidOfObjectKey(key)) : undefined
    if ('used' in found) return found.used
    if (isSeen === true && references !== undefined)
      return mapAwaitable(shownRecord(found.copy, references, visibility), use)
    return mapAwaitable(screened([{ key, value: found.copy }], screen), ([value]) => {
      if (value !== undefined) return use(value)
      return isObject ? visibility.pretendMissing(key) : undefined
    })
  })
}

/** A record whose object is seen, with null where the caller does not see what is referred to; at once where that can be told at once. */
function shownRecord(record: Bytes, references: RecordReferences, visibility: Visibility): Awaitable<Bytes> {
  const targets: Candidates = new Map()
  references.targets(record, targets)
  return mapAwaitable(visibility.refusedAmong(targets), (hidden) =>
    hidden.size === 0 ? record : references.without(record, (oid) => !hidden.has(oid)),
  )
}

/** The entries' values as the caller sees them, undefined for those that it does not see. Without a promise where nothing has to be found out. */
function screened(entries: readonly Entry[], screen: Screen): Awaitable<(Bytes | undefined)[]> {
  const asked: Candidates = new Map()
  const shapes: (ShapeAccess | undefined)[] = []
  for (const { key, value } of entries) {
    const shape = key[0] === keySpace.object ? screen.access.ofShape(shapeNumberOf(value)) : undefined
    shapes.push(shape)
    if (shape === undefined) namedBy(key, value, screen, asked)
    else if (typeof shape.objects !== 'string') asked.set(oidOfObjectKey(key), value)
  }
  return mapAwaitable(screen.visibility.refusedAmong(asked), (hidden) => {
    const isHidden = entries.map(({ key, value }, i): boolean => {
      const shape = shapes[i]
      if (shape?.objects === 'none') return true
      if (shape?.objects === 'all' || hidden.size === 0) return false
      if (shape !== undefined) return hidden.has(oidOfObjectKey(key))
      const named: Candidates = new Map()
      namedBy(key, value, screen, named)
      for (const oid of named.keys()) if (hidden.has(oid)) return true
      return false
    })
    const values = entries.map(({ value }, i) => (isHidden[i] === true ? undefined : value))
    if (screen.withReferences === true) return values
    const withReferences = values.some((value, i) => value !== undefined && shapes[i]?.references.areNone === false)
    return withReferences ? withoutHiddenReferences(values, shapes, screen) : values
  })
}

/** The objects of which one has to be hidden for the entry to be hidden. */
function namedBy(key: Bytes, value: Bytes, { access }: Screen, into: Candidates): void {
  if (key[0] === keySpace.index) {
    addNamed(oidFromBytes(value, 0), into)
    return
  }
  if (key[0] !== keySpace.link) return
  addNamed(ownerOfKey(key), into)
  switch (kindOfKey(key)) {
    case linkKind.target:
      addNamed(targetOfKey(key), into)
      return
    case linkKind.name:
      addNamed(oidFromBytes(value, 0), into)
      if (access.isMapByReference(attributeOfKey(key))) addNamed(oidFromBytes(value, oidLength), into)
      return
    default:
      assert(kindOfKey(key) === linkKind.position, 'a link entry is of a list, a set or a map')
      addNamed(oidFromBytes(value, 0), into)
  }
}

/** The reference to nothing may be an element of a list. */
function addNamed(oid: Oid, into: Candidates): void {
  if (oid !== noOid && !into.has(oid)) into.set(oid, undefined)
}

/** In the records that are shown, null where the caller does not see what is referred to. */
async function withoutHiddenReferences(
  values: (Bytes | undefined)[],
  shapes: readonly (ShapeAccess | undefined)[],
  { visibility }: Screen,
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
