/** The mark of an unfinished copy, or restore of a backup, in its target: its source, its owner, and its progress. */
import { randomUUID } from 'node:crypto'
import { soleKey } from '../bytes/key-layout.ts'
import { PlaceRefused } from '../store/place-refused.ts'
import type { Bytes, Change, Precondition, Snapshot, Store } from '../store/store.ts'
import { onSnapshot } from '../store/with-snapshot.ts'
import { formatVersionKey, isEmptySnapshot } from './storage-format.ts'

const unfinishedKey = soleKey('unfinishedCopy')

/** The value, as JSON. Earlier builds wrote the last key copied alone. */
interface CopyMark {
  /** `StoreCapabilities.location`, which names no user; for a restore, the name of the backup. */
  readonly source?: string
  /** Absent for a copy. */
  readonly work?: 'restore'
  /** The process that is making the copy. */
  readonly owner?: string
  /** The last key copied, in hexadecimal digits; empty before the first. */
  readonly reached: string
}

type ClaimedMark = CopyMark & Required<Pick<CopyMark, 'source' | 'owner'>>

/** Refuses a store with an unfinished copy. Throws an `Error` for the operator. */
export function refuseUnfinishedCopy(store: Store): Promise<void> {
  return onSnapshot(store, (snapshot) => refuseUnfinishedIn(snapshot, store.capabilities.location))
}

/** Like `refuseUnfinishedCopy`, for a snapshot of the store. */
export async function refuseUnfinishedIn(snapshot: Snapshot, location: string): Promise<void> {
  const problem = await unfinishedCopyProblem(snapshot, location)
  if (problem !== undefined) throw new PlaceRefused('conflict', problem)
}

/** A sentence for the operator if the snapshot contains an unfinished copy. */
export async function unfinishedCopyProblem(snapshot: Snapshot, location: string): Promise<string | undefined> {
  const stored = await snapshot.view(unfinishedKey, (value) => Buffer.from(value))
  if (stored === undefined) return undefined
  const { source, work = 'copy' } = markFrom(stored)
  const what = source === undefined ? `A ${work}` : `A ${work} of ${source}`
  return `${what} into the store ${location} is not finished; start that ${work} again.`
}

/** Makes all writes of a copy: each commit requires that no other copy has taken over the target. */
export class CopyClaim {
  readonly isResumed: boolean
  /** The last key copied by an earlier run. */
  readonly resumedFrom: Bytes | undefined
  private readonly target: Store
  private mark: ClaimedMark
  private stored: Buffer

  private constructor(target: Store, mark: ClaimedMark, isResumed: boolean) {
    this.target = target
    this.mark = mark
    this.stored = encodeMark(mark)
    this.isResumed = isResumed
    this.resumedFrom = mark.reached === '' ? undefined : Buffer.from(mark.reached, 'hex')
  }

  /**
   * Takes over an unfinished copy of the same source, or begins one in an empty store. `source`: its location; `format`: value of its format version
   * entry; `work`: if it is not a copy. Throws an `Error` for the operator if the target contains anything else.
   */
  static async take(target: Store, source: string, format: Bytes | undefined, work?: 'restore'): Promise<CopyClaim> {
    const { stored, isEmpty } = await onSnapshot(target, async (snapshot) => {
      const stored = await snapshot.view(unfinishedKey, (value) => Buffer.from(value))
      return { stored, isEmpty: await isEmptySnapshot(snapshot) }
    })
    if (stored === undefined && !isEmpty) throw notEmpty(target)
    const found = stored === undefined ? undefined : markFrom(stored)
    if (found?.source !== undefined && (found.source !== source || found.work !== work)) {
      const other = found.work ?? 'copy'
      throw new PlaceRefused(
        'conflict',
        `The store ${target.capabilities.location} holds an unfinished ${other} of ${found.source}; start that ${other} again, or name an empty store.`,
      )
    }
    const mark = { source, ...(work && { work }), owner: randomUUID(), reached: found?.reached ?? '' }
    const claim = new CopyClaim(target, mark, stored !== undefined)
    const changes: Change[] = [{ kind: 'put', key: unfinishedKey, value: claim.stored }]
    if (stored === undefined && format !== undefined)
      changes.push({ kind: 'put', key: formatVersionKey, value: format })
    // A server may open the empty store at the same moment, and another copy may start.
    const preconditions: Precondition[] =
      stored === undefined
        ? [unfinishedKey, formatVersionKey].map((key) => ({ kind: 'absent', key }))
        : [unchangedMark(stored)]
    if ((await target.commit({ changes, preconditions })).isCommitted) return claim
    throw stored === undefined ? notEmpty(target) : claimLost(target)
  }

  /**
   * `reached`: the last key copied with these changes. Throws an `Error` if another copy has taken over the target.
   */
  async commit(changes: readonly Change[], reached?: Bytes): Promise<void> {
    if (reached === undefined) return this.commitAs(changes)
    const mark = { ...this.mark, reached: Buffer.from(reached).toString('hex') }
    const value = encodeMark(mark)
    await this.commitAs([...changes, { kind: 'put', key: unfinishedKey, value }], true)
    this.mark = mark
    this.stored = value
  }

  /** Completes the copy with these last changes, in one commit, since a resumed copy must not find a part of them. */
  finish(changes: readonly Change[] = []): Promise<void> {
    return this.commitAs([...changes, { kind: 'delete', key: unfinishedKey }])
  }

  private async commitAs(changes: readonly Change[], isAppended = false): Promise<void> {
    const preconditions = [unchangedMark(this.stored)]
    const { isCommitted } = await this.target.commit({ changes, preconditions, isAppended })
    if (!isCommitted) throw claimLost(this.target)
  }
}

function markFrom(stored: Buffer): CopyMark {
  // No key begins with a brace: the numbers of key spaces are small.
  if (stored[0] !== 0x7b) return { reached: stored.toString('hex') }
  return JSON.parse(stored.toString()) as CopyMark
}

function encodeMark(mark: CopyMark): Buffer {
  return Buffer.from(JSON.stringify(mark))
}

function unchangedMark(stored: Buffer): Precondition {
  if (stored.length === 0) return { kind: 'present', key: unfinishedKey }
  return { kind: 'revision', key: unfinishedKey, prefix: stored }
}

function notEmpty({ capabilities }: Store): Error {
  return new PlaceRefused('conflict', `The store ${capabilities.location} is not empty; name an empty store.`)
}

function claimLost({ capabilities }: Store): Error {
  return new PlaceRefused(
    'conflict',
    `Another copy into the store ${capabilities.location} has begun; this one has stopped.`,
  )
}
