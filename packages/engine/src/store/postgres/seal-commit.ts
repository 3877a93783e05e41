/** A commit as the parameters of the function that commits: keys in the order in which they are locked, each once. */
import { catalogVersionKey } from '../../bytes/key-space.ts'
import type { Bytes, Change, Commit, Expectation } from '../store.ts'
import { placementOf, segmentsOf } from './placement.ts'
import { catalogLock, expectationKind, wants } from './schema.ts'

interface KeyPart {
  readonly key: Bytes
  readonly placement: number
  wants: number
  isExpected: boolean
  /** Bytes of the longest revision expected; -1 with none. */
  headBytes: number
  value: Bytes | null
}

type RangeExpectation = Extract<Expectation, { kind: 'range' }>
type KeyExpectation = Exclude<Expectation, RangeExpectation>

/** In the order of the function's parameters after slot and number. */
export function sealedCommit({ changes, expectations }: Commit): unknown[] {
  const parts = new Map<string, KeyPart>()
  for (const change of changes) addChange(partOf(parts, change.key), change)
  for (const expectation of expectations) addExpectation(parts, expectation)
  const lock = lockOf(parts)
  const sorted = [...parts.values()].sort(inLockOrder)
  const [added, blind] = [sorted.filter(isNew), sorted.filter(isBlind)]
  const locked = sorted.filter((part) => !isNew(part) && !isBlind(part))
  const places = new Map([...locked, ...added].map(({ key }, i) => [textOf(key), i + 1]))
  return [
    lock,
    locked.map(({ placement }) => placement),
    locked.map(({ key }) => key),
    locked.map((part) => part.wants),
    locked.map(({ headBytes }) => headBytes),
    locked.map(({ value }) => value),
    added.map(({ placement }) => placement),
    added.map(({ key }) => key),
    added.map(({ value }) => value),
    blind.map(({ placement }) => placement),
    blind.map(({ key }) => key),
    blind.map(({ value }) => value),
    ...sealedExpectations(expectations, places),
    ...sealedRanges(expectations),
  ]
}

function partOf(parts: Map<string, KeyPart>, key: Bytes): KeyPart {
  const name = textOf(key)
  let part = parts.get(name)
  if (part === undefined) {
    part = { key, placement: placementOf(key), wants: 0, isExpected: false, headBytes: -1, value: null }
    parts.set(name, part)
  }
  return part
}

/** Of several changes of one key the last counts. */
function addChange(part: KeyPart, change: Change): void {
  const isPut = change.kind === 'put'
  part.wants = isPut ? wants.put : wants.delete
  part.value = isPut ? change.value : null
}

function addExpectation(parts: Map<string, KeyPart>, expectation: Expectation): void {
  if (expectation.kind === 'range') {
    partOf(parts, expectation.guard).wants |= wants.guard
    return
  }
  const part = partOf(parts, expectation.key)
  part.isExpected = true
  if (expectation.kind === 'absent') part.wants |= wants.absent
  if (expectation.kind !== 'revision') return
  part.wants |= wants.revision
  part.headBytes = Math.max(part.headBytes, expectation.prefix.length)
}

/** The version of the catalog is locked as a whole table, which costs each writer next to nothing. */
function lockOf(parts: Map<string, KeyPart>): number {
  const version = parts.get(textOf(catalogVersionKey))
  if (version === undefined) return catalogLock.none
  if ((version.wants & (wants.put | wants.delete | wants.guard)) !== 0) return catalogLock.exclusive
  version.wants |= wants.unlocked
  // Nothing else inserts it while this commit has the lock, and initializing puts it.
  version.wants &= ~wants.absent
  return catalogLock.shared
}

/** Expected to be absent, and nothing that would contradict it. */
function isNew(part: KeyPart): boolean {
  return (part.wants & ~wants.put) === wants.absent
}

/** Written whatever is there, and expected by nothing. */
function isBlind(part: KeyPart): boolean {
  return part.wants === wants.put && !part.isExpected
}

function inLockOrder(one: KeyPart, other: KeyPart): number {
  return one.placement - other.placement || Buffer.compare(one.key, other.key)
}

function sealedExpectations(expectations: readonly Expectation[], places: ReadonlyMap<string, number>): unknown[] {
  const ofKeys = expectations.flatMap((expectation, i) =>
    expectation.kind === 'range' ? [] : [{ expectation: expectation as KeyExpectation, position: i + 1 }],
  )
  return [
    ofKeys.map(({ expectation }) => expectationKind[expectation.kind]),
    ofKeys.map(({ expectation }) => places.get(textOf(expectation.key))),
    ofKeys.map(({ expectation }) => (expectation.kind === 'revision' ? expectation.prefix : null)),
    ofKeys.map(({ position }) => position),
  ]
}

function sealedRanges(expectations: readonly Expectation[]): unknown[] {
  const segments = expectations.flatMap((expectation, i) =>
    expectation.kind === 'range' ? rangeParts(expectation, i + 1) : [],
  )
  return [
    segments.map(({ position }) => position),
    segments.map(({ segment }) => segment.firstPlacement),
    segments.map(({ segment }) => segment.lastPlacement),
    segments.map(({ segment }) => segment.from),
    segments.map(({ segment }) => segment.to ?? null),
    segments.map(({ holds }) => holds),
  ]
}

/** What is expected in no segment makes the last one fail. */
function rangeParts({ range, holds }: RangeExpectation, position: number) {
  const segments = segmentsOf(range)
  let at = 0
  return segments.length === 0 && holds.length > 0
    ? [
        {
          position,
          segment: { firstPlacement: 0, lastPlacement: -1, from: Buffer.alloc(0), to: undefined },
          holds: 'none',
        },
      ]
    : segments.map((segment, i) => {
        const start = at
        const isLast = i === segments.length - 1
        while (at < holds.length && (isLast || isWithin(holds[at] as Bytes, segment.to))) at++
        return { position, segment, holds: holds.slice(start, at).map(hexOf).join(',') }
      })
}

function isWithin(key: Bytes, to: Bytes | undefined): boolean {
  return to === undefined || Buffer.compare(key, to) < 0
}

function bufferOf(bytes: Bytes): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

function hexOf(bytes: Bytes): string {
  return bufferOf(bytes).toString('hex')
}

function textOf(bytes: Bytes): string {
  return bufferOf(bytes).toString('latin1')
}
