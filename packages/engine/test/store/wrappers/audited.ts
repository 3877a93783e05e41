/**
 * A store that compares what a transaction has read with what its commit requires. What a change concludes from a read must
 * still be so when it is committed, and so be a precondition; a read that none covers is told of. The entry of an element of a set is
 * nothing but its key: where the commit requires it to be present, it requires all that was read.
 *
 * These reads need none:
 * - the catalog, beside its version, and the version of the storage format: they change with that version alone, which every commit
 *   requires;
 * - the rows of containers: a container belongs to one class for good, and is there before an OID of it is given to anyone;
 * - the last entry of a list: it only decides about the order among elements that are added at the same time;
 * - the elements of lists and sets as such: their entries never change, so that the keys of a range tell everything;
 * - entries that the commit deletes, whatever they hold;
 * - the record of an object whose link entries the commit changes: its class never changes, and it is expected to be there.
 */
import { catalogVersionKey, keySpace } from '../../../src/bytes/key-space.ts'
import { kindOfKey, linkKind, ownerOfKey } from '../../../src/records/link-keys.ts'
import { nextContainerKey, objectKey } from '../../../src/records/object-key.ts'
import { formatVersionKey } from '../../../src/storage/storage-format.ts'
import type {
  Bytes,
  Commit,
  Entry,
  KeyRange,
  Precondition,
  RangeRead,
  Snapshot,
  Store,
  UnchangedRange,
} from '../../../src/store/store.ts'

export interface AuditedStore extends Store {
  /** What commits have relied on without expecting it, in words, each once. */
  readonly uncovered: Set<string>
}

interface ReadRange {
  readonly range: RangeRead
  readonly entries: readonly Entry[]
}

interface Reads {
  readonly values: Map<string, { readonly key: Bytes; readonly value: Bytes | undefined }>
  readonly ranges: ReadRange[]
}

/** For changes that are made one after the other: a commit is compared with the snapshot that was opened last. */
export function audited(store: Store): AuditedStore {
  const uncovered = new Set<string>()
  /** After a commit that failed: the next attempt also reads what the first only requires to be there. */
  let isRetry = false
  let reads: Reads = { values: new Map(), ranges: [] }
  return {
    ...store,
    capabilities: { ...store.capabilities, hasSynchronousReads: false },
    uncovered,
    async snapshot(options) {
      const snapshot = await store.snapshot(options)
      // Work of its own, whose commit requires all that it reads.
      if (options?.isNested === true) return snapshot
      reads = { values: new Map(), ranges: [] }
      return noting(snapshot, reads)
    },
    async commit(commit) {
      const expected = new Expected(commit)
      const outcome = await store.commit(commit)
      if (!expected.isOf(catalogVersionKey)) return outcome
      if (outcome.isCommitted) for (const read of uncoveredReads(reads, expected, isRetry)) uncovered.add(read)
      isRetry = !outcome.isCommitted
      return outcome
    },
  }
}

function noting(snapshot: Snapshot, reads: Reads): Snapshot {
  const noteValue = (key: Bytes, value: Bytes | undefined): void => {
    const name = textOf(key)
    if (!reads.values.has(name))
      reads.values.set(name, { key, value: value === undefined ? undefined : Buffer.from(value) })
  }
  return {
    async view(key, use) {
      let seen: Bytes | undefined
      const result = await snapshot.view(key, (value) => {
        seen = Buffer.from(value)
        return use(value)
      })
      noteValue(key, seen)
      return result
    },
    async read(keys, ranges = []) {
      const answer = await snapshot.read(keys, ranges)
      for (const [i, key] of keys.entries()) noteValue(key, answer.values[i])
      for (const [i, range] of ranges.entries()) reads.ranges.push({ range, entries: answer.ranges[i] ?? [] })
      return answer
    },
    async *scan(range, use, options) {
      const entries: Entry[] = []
      const noted = (key: Bytes, value: Bytes): ReturnType<typeof use> => {
        entries.push({ key: Buffer.from(key), value: Buffer.from(value) })
        return use(key, value)
      }
      yield* snapshot.scan(range, noted, options)
      reads.ranges.push({ range: { ...range, ...options }, entries })
    },
    release: () => snapshot.release(),
  }
}

class Expected {
  private readonly byKey = new Map<string, Precondition[]>()
  private readonly ranges: Extract<Precondition, { kind: 'range' }>[] = []
  private readonly unchanged: UnchangedRange[] = []
  private readonly deleted = new Set<string>()
  /** Keys of the records of objects whose link entries change. */
  private readonly linking = new Set<string>()

  constructor({ preconditions, changes }: Commit) {
    for (const precondition of preconditions) {
      if (precondition.kind === 'range') this.ranges.push(precondition)
      else if (precondition.kind === 'unchanged') this.unchanged.push(precondition)
      else this.byKey.set(textOf(precondition.key), [...(this.byKey.get(textOf(precondition.key)) ?? []), precondition])
    }
    for (const { kind, key } of changes) {
      if (kind === 'delete') this.deleted.add(textOf(key))
      if (key[0] === keySpace.link) this.linking.add(textOf(objectKey(ownerOfKey(key))))
    }
  }

  isOf(key: Bytes): boolean {
    return this.byKey.has(textOf(key))
  }

  isLinking(key: Bytes): boolean {
    return this.linking.has(textOf(key))
  }

  isDeleted(key: Bytes): boolean {
    return this.deleted.has(textOf(key))
  }

  absence(key: Bytes): boolean {
    return this.has(key, 'absent') || [...this.ranges, ...this.unchanged].some(({ range }) => isWithin(key, range))
  }

  presence(key: Bytes): boolean {
    return this.has(key, 'present') || this.ranges.some(({ keys }) => keys.some((held) => isSame(held, key)))
  }

  value(key: Bytes, value: Bytes): boolean {
    if (this.unchanged.some(({ range, valueBytes }) => valueBytes > 0 && isWithin(key, range))) return true
    return (this.byKey.get(textOf(key)) ?? []).some((precondition) => {
      return (
        precondition.kind === 'revision' && isSame(precondition.prefix, value.subarray(0, precondition.prefix.length))
      )
    })
  }

  range({ from, to }: KeyRange): boolean {
    return [...this.ranges, ...this.unchanged].some(({ range }) => {
      return (
        isWithin(from ?? Buffer.alloc(0), range) &&
        range.to !== undefined &&
        to !== undefined &&
        Buffer.compare(to, range.to) <= 0
      )
    })
  }

  private has(key: Bytes, kind: Precondition['kind']): boolean {
    return (this.byKey.get(textOf(key)) ?? []).some((precondition) => precondition.kind === kind)
  }
}

function uncoveredReads({ values, ranges }: Reads, expected: Expected, isRetry: boolean): string[] {
  const found: string[] = []
  for (const { key, value } of values.values()) {
    if (isTakenForGranted(key)) continue
    if (value === undefined) {
      if (!expected.absence(key)) found.push(`the absence of ${nameOf(key)}`)
    } else if (!isValueExpected(key, value, expected, isRetry)) found.push(`the value of ${nameOf(key)}`)
  }
  for (const read of ranges) {
    const { entries } = read
    const range = partRead(read)
    const { from = Buffer.alloc(0) } = range
    if (isTakenForGranted(from) || isListEnd(range)) continue
    if (from[0] === keySpace.container) {
      if (!expected.isOf(nextContainerKey) && !expected.range(range)) found.push('which containers there are')
      continue
    }
    if (!expected.range(range)) {
      found.push(`the range of ${nameOf(from)}`)
      continue
    }
    for (const { key, value } of entries) {
      if (isElement(key) || isValueExpected(key, value, expected, isRetry)) continue
      found.push(`the value of ${nameOf(key)} within a range`)
    }
  }
  return found
}

/** Behind the last entry of a limited read, nothing is known. */
function partRead({ range, entries }: ReadRange): RangeRead {
  const last = entries.at(-1)?.key
  if (last === undefined || entries.length !== range.limit) return range
  return range.reverse === true ? { ...range, from: last } : { ...range, to: Buffer.concat([last, Buffer.of(0)]) }
}

function isValueExpected(key: Bytes, value: Bytes, expected: Expected, isRetry: boolean): boolean {
  if (expected.value(key, value)) return true
  if (key[0] !== keySpace.object && expected.isDeleted(key)) return true
  return (isRetry || expected.isLinking(key) || isElementOfSet(key, value)) && expected.presence(key)
}

const containerKeyBytes = 5

function isTakenForGranted(key: Bytes): boolean {
  return (
    key[0] === keySpace.catalog ||
    isSame(key, formatVersionKey) ||
    (key[0] === keySpace.container && key.length === containerKeyBytes)
  )
}

function isListEnd({ from, reverse, limit }: RangeRead): boolean {
  return from?.[0] === keySpace.link && kindOfKey(from) === linkKind.position && reverse === true && limit === 1
}

function isElement(key: Bytes): boolean {
  return key[0] === keySpace.link && kindOfKey(key) !== linkKind.name
}

/** Beside a list, the entry by target has the position, which changes in place. */
function isElementOfSet(key: Bytes, value: Bytes): boolean {
  return key[0] === keySpace.link && kindOfKey(key) === linkKind.target && value.length === 0
}

function isWithin(key: Bytes, { from, to }: KeyRange): boolean {
  const isAfter = from === undefined || Buffer.compare(key, from) >= 0
  return isAfter && (to === undefined || Buffer.compare(key, to) < 0)
}

function isSame(one: Bytes, other: Bytes): boolean {
  return Buffer.compare(one, other) === 0
}

function nameOf(key: Bytes): string {
  const space = Object.entries(keySpace).find(([, first]) => first === key[0])?.[0] ?? 'nothing'
  const kind = key[0] === keySpace.link && key.length > 13 ? ['position', 'target', 'name'][kindOfKey(key)] : undefined
  return kind === undefined ? `a key of the space '${space}'` : `a link entry by ${kind}`
}

function textOf(key: Bytes): string {
  return Buffer.from(key).toString('latin1')
}
