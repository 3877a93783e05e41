/** Session numbers, which make commit IDs and link positions of an open store unique without coordination. */

import { soleKey } from '../bytes/key-layout.ts'
import { assert } from '../errors.ts'
import type { Bytes, Precondition, Store } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'

export const sessionKey = soleKey('session')
const sessionMax = 0xff_ffff
export const commitIdBytes = 8
export const positionBytes = 12

export class StoreSession {
  readonly number: number
  private commitIdCount = 0
  private lastTime = 0
  private sequence = 0

  constructor(number: number) {
    this.number = number
  }

  /** A commit ID: 8 bytes, unique in the store. */
  nextCommitId(): Buffer {
    const commitId = Buffer.allocUnsafe(commitIdBytes)
    commitId.writeUIntBE(this.number, 0, 3)
    commitId.writeUIntBE(++this.commitIdCount, 3, 5)
    return commitId
  }

  /**
   * A position at the end of a list: 12 bytes (time 6, session 3, sequence 3), greater than `last` and than every earlier position of this session.
   * The clock only helps sessions to interleave sensibly: order never depends on it, so a clock that steps back does no harm.
   */
  nextPosition(last: Bytes | undefined, now: number): Buffer {
    let time = Math.max(now, this.lastTime)
    if (last !== undefined) {
      const lastOfList = Buffer.from(last.buffer, last.byteOffset, last.length).readUIntBE(0, 6)
      if (lastOfList >= time && !this.isCurrent(last, time)) time = lastOfList + 1
    }
    if (time > this.lastTime) {
      this.lastTime = time
      this.sequence = 0
    } else if (++this.sequence > 0xff_ffff) {
      this.lastTime++
      this.sequence = 0
    }
    const position = Buffer.allocUnsafe(positionBytes)
    position.writeUIntBE(this.lastTime, 0, 6)
    position.writeUIntBE(this.number, 6, 3)
    position.writeUIntBE(this.sequence, 9, 3)
    return position
  }

  /** Whether `last` was assigned by this session at its current time, so that the sequence orders the next one. */
  private isCurrent(last: Bytes, time: number): boolean {
    const bytes = Buffer.from(last.buffer, last.byteOffset, last.length)
    return time === this.lastTime && bytes.readUIntBE(0, 6) === time && bytes.readUIntBE(6, 3) === this.number
  }
}

/** Assigns the next session number of the store, and commits it before use. `claim` returns a further precondition, for each attempt. */
export async function openStoreSession(store: Store, claim: () => Promise<Precondition>): Promise<StoreSession> {
  for (;;) {
    const claimed = await claim()
    const previous = await withSnapshot(store, (snapshot) => {
      return snapshot.view(sessionKey, (value) => Buffer.from(value))
    })
    const number = (previous?.readUInt32BE(0) ?? 0) + 1
    assert(number <= sessionMax, 'a store is opened fewer than 16 million times')
    const value = Buffer.alloc(4)
    value.writeUInt32BE(number)
    const outcome = await store.commit({
      changes: [{ kind: 'put', key: sessionKey, value }],
      preconditions: [
        claimed,
        previous === undefined
          ? { kind: 'absent', key: sessionKey }
          : { kind: 'revision', key: sessionKey, prefix: previous },
      ],
    })
    if (outcome.isCommitted) return new StoreSession(number)
  }
}

export function sessionOfCommitId(bytes: Bytes, at: number): number {
  return ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
}

/** The value to store as the last session number, so that numbers up to `last`, and `skipped` more, are never assigned again. */
export function raisedSession(stored: Bytes | undefined, last: number, skipped: number): Buffer {
  const assigned = stored === undefined ? 0 : Buffer.from(stored).readUInt32BE(0)
  const value = Buffer.alloc(4)
  value.writeUInt32BE(Math.min(Math.max(assigned, last) + skipped, sessionMax - 1))
  return value
}
