/**
 * A change subscription stored in the store itself: its position, the process that delivers it, and its dead letters. One of the processes that serve
 * a store owns it at a time, until it releases the subscription or its heartbeat expires.
 */
import {
  deadLetterKey,
  deadLetterNumber,
  deadLetterRange,
  subscriptionKey,
  subscriptionRange,
} from '../change-log/subscription-keys.ts'
import { currentPlace, isProcessDead } from '../ddl/heartbeat.ts'
import { deadLettersMax, deadLettersPageMax, subscriptionLeaseMs } from '../limits.ts'
import type { Bytes, Change, Snapshot, Store } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'

/** The stored state, as JSON. Times are ISO 8601 in UTC. */
export interface SubscriptionState {
  /** Changes up to here are delivered, or are dead letters. */
  readonly position: string
  /** Whether changes after the position were removed from the log, without notification so far. */
  readonly hasMissed?: boolean | undefined
  /** The delivery of the changes after the position, stored before its first attempt. */
  readonly due?: DueDelivery | undefined
  /** Of the due delivery: number of failures, time of the first, and the last error. */
  readonly attempts?: number | undefined
  readonly failingSince?: string | undefined
  readonly nextAttemptAt?: string | undefined
  readonly error?: string | undefined
  /** Why delivery is suspended until it is resumed manually. */
  readonly disabled?: string | undefined
  readonly deliveredAt?: string | undefined
  readonly deliveries: number
  readonly failures: number
  readonly deadLetters: number
  readonly nextLetter: number
  /** The session of the owning process; 0 for none. `pid` and `place` as in a heartbeat. */
  readonly owner: number
  readonly pid?: number | undefined
  readonly place?: string | undefined
}

export interface DueDelivery {
  readonly id: string
  readonly at: string
  /** Number of changes, and their last position. */
  readonly changes: number
  readonly position: string
}

export interface DeadLetter {
  /** Unique in the subscription; 0 if it is not stored yet. */
  readonly number: number
  /** ISO 8601 in UTC. */
  readonly at: string
  readonly attempts: number
  readonly error: string
  readonly id: string
  readonly changes: number
  readonly body: string
}

export type DeadLetterSummary = Omit<DeadLetter, 'body'>

/** The subscription was changed by another process or an operator. */
export class SubscriptionLost extends Error {
  constructor() {
    super('another process works for the subscription')
  }
}

const counterBytes = 8

interface Stored {
  readonly bytes: Buffer
  readonly state: SubscriptionState
}

function decode(bytes: Buffer): Stored {
  return { bytes, state: JSON.parse(bytes.subarray(counterBytes).toString()) as SubscriptionState }
}

/** `before`: the value replaced. A counter makes each value unique, so that a heartbeat is a change, and preconditions compare the counter alone. */
function encode(state: SubscriptionState, before: Buffer | undefined): Buffer {
  const counter = Buffer.alloc(counterBytes)
  counter.writeBigUInt64BE((before?.readBigUInt64BE(0) ?? 0n) + 1n)
  return Buffer.concat([counter, Buffer.from(JSON.stringify(state))])
}

export async function subscribedPositions(snapshot: Snapshot): Promise<readonly string[]> {
  const positions: string[] = []
  const read = (_key: Bytes, value: Bytes): string => decode(Buffer.from(value)).state.position
  for await (const batch of snapshot.scan(subscriptionRange, read)) positions.push(...batch)
  return positions
}

export class Subscription {
  readonly name: string
  private readonly store: Store
  private readonly session: number
  private readonly key: Buffer
  /** The state, while this process owns it. */
  private owned: Stored | undefined
  /** The value written by another process, and since when it has not changed, by performance.now(). */
  private seen: { readonly bytes: Buffer; readonly sinceMs: number } | undefined

  /** `session`: of this process in the store. */
  constructor(store: Store, session: number, name: string) {
    this.store = store
    this.session = session
    this.name = name
    this.key = subscriptionKey(name)
  }

  /** Undefined if it does not exist. Throws StoreUnavailable. */
  async state(): Promise<SubscriptionState | undefined> {
    return (await this.read())?.state
  }

  /**
   * Acquires ownership and returns the state; undefined while another process owns it. `begin` returns the position of a new subscription. Must be
   * called every few seconds. Throws StoreUnavailable, and errors of `begin`.
   */
  async acquire(begin: () => Promise<string>): Promise<SubscriptionState | undefined> {
    const stored = await this.read()
    if (stored !== undefined && !this.isFree(stored)) return undefined
    const initial = { position: '', deliveries: 0, failures: 0, deadLetters: 0, nextLetter: 1 }
    const state = stored?.state ?? { ...initial, position: await begin() }
    const acquired = {
      ...state,
      owner: this.session,
      pid: process.pid,
      ...(currentPlace === undefined ? {} : { place: currentPlace }),
    }
    const isAcquired = await this.write(acquired, stored?.bytes)
    this.seen = undefined
    return isAcquired ? acquired : undefined
  }

  /** Only for the owner; commits `letter` too. Without changes a heartbeat. Throws SubscriptionLost, StoreUnavailable, OutcomeUnknown. */
  async update(change: Partial<SubscriptionState> = {}, letter?: DeadLetter): Promise<SubscriptionState> {
    const { owned } = this
    if (owned === undefined) throw new SubscriptionLost()
    const state = { ...owned.state, ...change }
    const { nextLetter, deadLetters } = state
    const next = letter === undefined ? state : { ...state, nextLetter: nextLetter + 1, deadLetters: deadLetters + 1 }
    const extra: Change[] = []
    if (letter !== undefined) {
      const value = Buffer.from(JSON.stringify({ ...letter, number: state.nextLetter }))
      extra.push({ kind: 'put', key: deadLetterKey(this.name, state.nextLetter), value })
      // The oldest one is dropped.
      if (next.deadLetters > deadLettersMax) extra.push(...(await this.oldestLetter()))
    }
    const bounded = { ...next, deadLetters: Math.min(next.deadLetters, deadLettersMax) }
    if (!(await this.write(bounded, owned.bytes, extra))) throw new SubscriptionLost()
    return bounded
  }

  /** Releases ownership, if this process has it. Throws StoreUnavailable. */
  async release(): Promise<void> {
    const { owned } = this
    this.owned = undefined
    if (owned !== undefined) await this.write({ ...owned.state, owner: 0 }, owned.bytes)
  }

  /** A change by an operator, which the owner notices at its next write. Undefined if absent. Throws StoreUnavailable, TransactionContention. */
  async intervene(change: (state: SubscriptionState) => SubscriptionState): Promise<SubscriptionState | undefined> {
    for (;;) {
      const stored = await this.read()
      if (stored === undefined) return undefined
      const state = { ...change(stored.state), owner: 0 }
      if (await this.commit(state, stored.bytes, [])) return state
    }
  }

  /** Those after the number, the oldest first. Throws StoreUnavailable. */
  async deadLetters(after: number): Promise<readonly DeadLetterSummary[]> {
    const range = { ...deadLetterRange(this.name), from: deadLetterKey(this.name, after + 1) }
    return withSnapshot(this.store, async (snapshot) => {
      const letters: DeadLetterSummary[] = []
      const read = (_key: Bytes, value: Bytes): DeadLetterSummary => {
        const { body: _, ...summary } = JSON.parse(Buffer.from(value).toString()) as DeadLetter
        return summary
      }
      for await (const batch of snapshot.scan(range, read, { limit: deadLettersPageMax })) letters.push(...batch)
      return letters
    })
  }

  /** Undefined if it does not exist. Throws StoreUnavailable. */
  async deadLetter(number: number): Promise<DeadLetter | undefined> {
    return withSnapshot(this.store, async (snapshot) => {
      const value = await snapshot.view(deadLetterKey(this.name, number), (bytes) => Buffer.from(bytes).toString())
      return value === undefined ? undefined : (JSON.parse(value) as DeadLetter)
    })
  }

  /** False if it does not exist. Throws StoreUnavailable. */
  async removeDeadLetter(number: number): Promise<boolean> {
    const key = deadLetterKey(this.name, number)
    for (;;) {
      if ((await this.deadLetter(number)) === undefined) return false
      const stored = await this.read()
      if (stored === undefined) return false
      const { state, bytes } = stored
      const isRemoved = await this.commit({ ...state, deadLetters: Math.max(0, state.deadLetters - 1) }, bytes, [
        { kind: 'delete', key },
      ])
      if (isRemoved) return true
    }
  }

  private async oldestLetter(): Promise<Change[]> {
    return withSnapshot(this.store, async (snapshot) => {
      const changes: Change[] = []
      const read = (key: Bytes): number => deadLetterNumber(key)
      for await (const batch of snapshot.scan(deadLetterRange(this.name), read, { limit: 1, keysOnly: true })) {
        for (const number of batch) changes.push({ kind: 'delete', key: deadLetterKey(this.name, number) })
      }
      return changes
    })
  }

  private isFree({ bytes, state }: Stored): boolean {
    if (state.owner === 0 || state.owner === this.session) return true
    if (isProcessDead(bytes.subarray(counterBytes))) return true
    const nowMs = performance.now()
    if (this.seen === undefined || Buffer.compare(this.seen.bytes, bytes) !== 0) this.seen = { bytes, sinceMs: nowMs }
    return nowMs - this.seen.sinceMs > subscriptionLeaseMs
  }

  private async read(): Promise<Stored | undefined> {
    const bytes = await withSnapshot(this.store, (snapshot) => snapshot.view(this.key, (value) => Buffer.from(value)))
    return bytes === undefined ? undefined : decode(bytes)
  }

  /** Writes a state of this process; false, without a change, if the stored one has changed. */
  private async write(state: SubscriptionState, before: Buffer | undefined, changes: Change[] = []): Promise<boolean> {
    const bytes = await this.commit(state, before, changes)
    this.owned = bytes === undefined || state.owner !== this.session ? undefined : { bytes, state }
    return bytes !== undefined
  }

  private async commit(
    state: SubscriptionState,
    before: Buffer | undefined,
    changes: readonly Change[],
  ): Promise<Buffer | undefined> {
    const { key } = this
    const value = encode(state, before)
    const outcome = await this.store.commit({
      changes: [{ kind: 'put', key, value }, ...changes],
      preconditions: [
        before === undefined
          ? { kind: 'absent', key }
          : { kind: 'revision', key, prefix: before.subarray(0, counterBytes) },
      ],
    })
    return outcome.isCommitted ? value : undefined
  }
}
