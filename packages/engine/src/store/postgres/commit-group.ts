/** Several commits as the parameters of one call of the function that commits: keys in the order in which they are locked, each once. */
import type { Bytes, CommitOutcome, Expectation } from '../store.ts'
import { byteaArray, int2Array, int4Array, textArray } from './binary-array.ts'
import { expectationKind, steps, wants } from './commit-parameters.ts'
import { type CommitParts, isBlind, isNew, isShared, type KeyPart } from './commit-parts.ts'
import { segmentsOf } from './placement.ts'

type RangeExpectation = Extract<Expectation, { kind: 'range' }>
type KeyExpectation = Exclude<Expectation, RangeExpectation>

/** An expectation, where it stands among all of the group, from 1, and whose it is. */
interface Placed<T extends Expectation = Expectation> {
  readonly expectation: T
  readonly position: number
  readonly owner: number
  readonly part: KeyPart
}

// A call holds its locks until it is done, and is given up as a whole.
const commitsMax = 64
const bytesMax = 524_288

/**
 * How the rows of a commit are locked and changed: on one node all together; where the table is distributed, one after the other, or
 * those of one placement that stand beside each other by one statement.
 */
export type RowsOfCommit = 'together' | 'one by one' | 'in runs'

const stepOf = { 'one by one': steps.byRow, 'in runs': steps.byPlacement } as const

// What one statement takes: its text grows with it.
const runKeysMax = 256
const runBytesMax = 131_072

export class CommitGroup {
  private readonly members: CommitParts[] = []
  private readonly parts = new Map<string, KeyPart>()
  private readonly placed: Placed[] = []
  private bytes = 0

  /** False where it has to wait for another group: what it needs of some key does not go together with the others. */
  add(member: CommitParts): boolean {
    if (this.members.length > 0 && !this.hasRoomFor(member)) return false
    this.members.push(member)
    this.bytes += member.bytes
    const owner = this.members.length
    for (const part of member.parts.values()) this.merge(part, owner)
    for (const { expectation, part } of member.expected) {
      this.placed.push({
        expectation,
        position: this.placed.length + 1,
        owner,
        part: this.parts.get(part.name) ?? part,
      })
    }
    return true
  }

  get size(): number {
    return this.members.length
  }

  /**
   * Where the call is noted as done: with a placement that it changes. If that is all it changes, Citus commits both on one node in one
   * phase; else in two, with all others.
   */
  get proofPlacement(): number {
    let first: KeyPart | undefined
    for (const part of this.parts.values()) {
      const isChanged = (part.wants & (wants.put | wants.delete)) !== 0
      if (isChanged && (first === undefined || part.placement < first.placement)) first = part
    }
    return first?.placement ?? 0
  }

  get isExclusive(): boolean {
    return this.members[0]?.isExclusive === true
  }

  /** In the order of the function's parameters after slot and number. */
  sealed(rows: RowsOfCommit): unknown[] {
    const sorted = [...this.parts.values()].sort(inLockOrder)
    const added = rows !== 'together' ? [] : sorted.filter(isNew)
    const blind = rows !== 'together' ? [] : sorted.filter(isBlind)
    const locked = rows !== 'together' ? sorted : sorted.filter((part) => !isNew(part) && !isBlind(part))
    for (const [i, part] of [...locked, ...added].entries()) part.place = i + 1
    const first = this.members[0]
    const does = rows !== 'together' ? stepOf[rows] : lockStep(locked) | changeSteps(locked, added, blind)
    return [
      does | (first?.isExclusive === true ? steps.exclusive : 0),
      first?.catalog === undefined ? null : bufferOf(first.catalog.prefix),
      int4Array(locked.map(({ placement }) => placement)),
      byteaArray(locked.map(({ key }) => key)),
      int2Array(rows === 'in runs' ? wantsInRuns(locked) : locked.map((part) => part.wants)),
      int4Array(locked.map(({ headBytes }) => headBytes)),
      byteaArray(locked.map(({ value }) => value)),
      int4Array(locked.map(({ owner }) => owner)),
      ...[added, blind].flatMap((parts) => [
        int4Array(parts.map(({ placement }) => placement)),
        byteaArray(parts.map(({ key }) => key)),
        byteaArray(parts.map(({ value }) => value)),
        int4Array(parts.map(({ owner }) => owner)),
      ]),
      ...sealedExpectations(this.placed),
      ...sealedRanges(this.placed),
    ]
  }

  /** Of each commit, in order. `failed`: what the function has returned. */
  outcomes(failed: readonly number[]): CommitOutcome[] {
    if (failed[0] === 0) {
      return this.members.map(({ catalog }) => ({ isCommitted: false, failed: catalog as Expectation }))
    }
    const outcomes: CommitOutcome[] = this.members.map(() => ({ isCommitted: true }))
    for (const position of failed) {
      const { owner, expectation } = this.placed[position - 1] as Placed
      outcomes[owner - 1] = { isCommitted: false, failed: expectation }
    }
    return outcomes
  }

  private hasRoomFor({ parts, catalog, isExclusive, bytes }: CommitParts): boolean {
    const first = this.members[0]
    if (isExclusive || first?.isExclusive === true || !isSameCatalog(catalog, first?.catalog)) return false
    if (this.members.length >= commitsMax || this.bytes + bytes > bytesMax) return false
    for (const [name, part] of parts) {
      const other = this.parts.get(name)
      if (other !== undefined && !(isShared(part) && isShared(other))) return false
    }
    return true
  }

  private merge(part: KeyPart, owner: number): void {
    const other = this.parts.get(part.name)
    if (other === undefined) {
      part.owner = isShared(part) ? 0 : owner
      this.parts.set(part.name, part)
      return
    }
    other.wants |= part.wants
    other.headBytes = Math.max(other.headBytes, part.headBytes)
  }
}

function isSameCatalog(one: CommitParts['catalog'], other: CommitParts['catalog']): boolean {
  if (one === undefined || other === undefined) return one === other
  return Buffer.compare(one.prefix, other.prefix) === 0
}

function inLockOrder(one: KeyPart, other: KeyPart): number {
  return one.placement - other.placement || Buffer.compare(one.key, other.key)
}

/** 0 where the locks differ in strength, or a row may have to be made: they are taken one by one then. */
function lockStep(locked: readonly KeyPart[]): number {
  const [first] = locked
  if (first === undefined || strengthOf(first) === 0) return 0
  return locked.every((part) => strengthOf(part) === strengthOf(first)) ? strengthOf(first) : 0
}

function strengthOf(part: KeyPart): number {
  if ((part.wants & wants.absent) !== 0) return 0
  if ((part.wants & wants.put) !== 0 && !part.hasToExist) return 0
  if ((part.wants & (wants.delete | wants.guard)) !== 0) return steps.lockDelete
  if ((part.wants & wants.put) !== 0) return steps.lockPut
  return (part.wants & wants.revision) !== 0 ? steps.lockRevision : steps.lockPresent
}

function wantsInRuns(locked: readonly KeyPart[]): number[] {
  let [keys, bytes] = [0, 0]
  return locked.map((part, i) => {
    const before = locked[i - 1]
    const ownBytes = part.key.length + (part.value?.length ?? 0)
    const isNext = before !== undefined && before.placement === part.placement && isLockedAlike(before, part)
    const continues = isNext && keys < runKeysMax && bytes + ownBytes <= runBytesMax
    keys = continues ? keys + 1 : 1
    bytes = continues ? bytes + ownBytes : ownBytes
    return part.wants | (mayBeMade(part) ? wants.mayBeMade : 0) | (continues ? wants.continues : 0)
  })
}

/** What may have to be made is locked as what is put. A guard, or what is compared, is locked otherwise. */
function mayBeMade({ wants: wanted, hasToExist }: KeyPart): boolean {
  return (wanted & ~(wants.absent | wants.put)) === 0 && !hasToExist
}

function isLockedAlike(one: KeyPart, other: KeyPart): boolean {
  if (mayBeMade(one) || mayBeMade(other)) return mayBeMade(one) && mayBeMade(other)
  return strengthOf(one) > 0 && strengthOf(one) === strengthOf(other)
}

function changeSteps(locked: readonly KeyPart[], added: readonly KeyPart[], blind: readonly KeyPart[]): number {
  let does = 0
  for (const part of locked) {
    if ((part.wants & wants.put) !== 0) does |= steps.put
    else if ((part.wants & (wants.delete | wants.absent)) !== 0) does |= steps.delete
  }
  if (added.some(({ value }) => value === null)) does |= steps.absentOnly
  for (const { value } of blind) does |= value === null ? steps.blindDelete : steps.blindPut
  return does
}

function sealedExpectations(placed: readonly Placed[]): Buffer[] {
  const ofKeys = placed.filter(isOfKey)
  return [
    int2Array(ofKeys.map(({ expectation }) => expectationKind[expectation.kind])),
    int4Array(ofKeys.map(({ part }) => part.place)),
    byteaArray(ofKeys.map(({ expectation }) => (expectation.kind === 'revision' ? expectation.prefix : null))),
    int4Array(ofKeys.map(({ position }) => position)),
    int4Array(ofKeys.map(({ owner }) => owner)),
  ]
}

function isOfKey(placed: Placed): placed is Placed<KeyExpectation> {
  return placed.expectation.kind !== 'range'
}

function sealedRanges(placed: readonly Placed[]): Buffer[] {
  const segments = placed.flatMap(({ expectation, ...place }) => {
    return expectation.kind === 'range' ? rangeParts(expectation).map((part) => ({ ...part, ...place })) : []
  })
  return [
    int4Array(segments.map(({ position }) => position)),
    int4Array(segments.map(({ owner }) => owner)),
    int4Array(segments.map(({ segment }) => segment.firstPlacement)),
    int4Array(segments.map(({ segment }) => segment.lastPlacement)),
    byteaArray(segments.map(({ segment }) => segment.from)),
    byteaArray(segments.map(({ segment }) => segment.to ?? null)),
    textArray(segments.map(({ holds }) => holds)),
  ]
}

/** What is expected in no segment makes the last one fail. */
function rangeParts({ range, holds }: RangeExpectation) {
  const segments = segmentsOf(range)
  const nowhere = { firstPlacement: 0, lastPlacement: -1, from: Buffer.alloc(0), to: undefined }
  if (segments.length === 0) return holds.length === 0 ? [] : [{ segment: nowhere, holds: 'none' }]
  let at = 0
  return segments.map((segment, i) => {
    const start = at
    const isLast = i === segments.length - 1
    while (at < holds.length && (isLast || isWithin(holds[at] as Bytes, segment.to))) at++
    return { segment, holds: holds.slice(start, at).map(hexOf).join(',') }
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
