/**
 * A subscription to the changes that is kept in the store itself: how far it has come, which process works for it, and what could not be
 * delivered. Of the processes that serve a store one works for it at a time, until it gives the subscription up or has given no heartbeat for a while.
 */
import {
  deadLetterKey,
  deadLetterNumber,
  deadLetterRange,
  subscriptionKey,
  subscriptionRange,
} from '../change-log/subscription-keys.ts'
import { isProcessDead, ownPlace } from '../ddl/heartbeat.ts'
import { deadLettersMax, deadLettersPageMax, subscriptionLeaseMs } from '../limits.ts'
import type { Bytes, Change, Snapshot, Store } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'

/** What is kept of it, as JSON. Times are ISO 8601 in UTC. */
export interface SubscriptionState {
  /** Changes up to here are delivered, or are dead letters. */
  readonly position: string
  /** Changes before the position were removed from the log, and nobody was told of them yet. */
  readonly hasMissed?: boolean | undefined
  /** The delivery of the changes that follow the position, from before its first attempt on. */
  readonly due?: DueDelivery | undefined
  /** Of the delivery that is due: how often it has failed, since when, and why it did last. */
  readonly attempts?: number | undefined
  readonly failingSince?: string | undefined
  readonly nextAttemptAt?: string | undefined
  readonly error?: string | undefined
  /** Why nothing is delivered until somebody resumes it. */
  readonly disabled?: string | undefined
  readonly deliveredAt?: string | undefined
  readonly deliveries: number
  readonly failures: number
  readonly deadLetters: number
  /** The number that the next dead letter gets. */
  readonly nextLetter: number
  /** The session of the process that works for it; 0 for none. Its `pid` and `place` are those of a heartbeat. */
  readonly owner: number
  readonly pid?: number | undefined
  readonly place?: string | undefined
}

export interface DueDelivery {
  readonly id: string
  readonly at: string
  /** How many it holds, and up to where. */
  readonly changes: number
  readonly position: string
}

/** What could not be delivered. */
export interface DeadLetter {
  /** Within the subscription; 0 for one that is not stored yet. */
  readonly number: number
  /** ISO 8601 in UTC. */
  readonly at: string
  readonly attempts: number
  readonly error: string
  /** Of the message. */
  readonly id: string
  readonly changes: number
  /** As it was sent. */
  readonly body: string
}

export type DeadLetterSummary = Omit<DeadLetter, 'body'>

/** Somebody else has changed the subscription meanwhile. */
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

/** `before`: each value has another counter, so that a heartbeat is a change, and the counter alone tells one from the other. */
function encode(state: SubscriptionState, before: Buffer | undefined): Buffer {
  const counter = Buffer.alloc(counterBytes)
  counter.writeBigUInt64BE((before?.readBigUInt64BE(0) ?? 0n) + 1n)
  return Buffer.concat([counter, Buffer.from(JSON.stringify(state))])
}

/** Of all subscriptions: where each has come to. */
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
  /** As this process has it, while it works for it. */
  private held: Stored | undefined
  /** As another process has it, and since when it has not changed, by performance.now(). */
  private seen: { readonly bytes: Buffer; readonly sinceMs: number } | undefined

  /** `session`: of this process in the store. */
  constructor(store: Store, session: number, name: string) {
    this.store = store
    this.session = session
    this.name = name
    this.key = subscriptionKey(name)
  }

  /** Undefined for one that nobody has begun. Throws StoreUnavailable. */
  async state(): Promise<SubscriptionState | undefined> {
    return (await this.read())?.state
  }

  /**
   * Its state, from now on this process's to change; undefined while another process works for it. `begin`: where one that is new begins. To be asked
   * again every few seconds. Throws StoreUnavailable, and what `begin` throws.
   */
  async acquire(begin: () => Promise<string>): Promise<SubscriptionState | undefined> {
    const stored = await this.read()
    if (stored !== undefined && !this.isFree(stored)) return undefined
    const fresh = { position: '', deliveries: 0, failures: 0, deadLetters: 0, nextLetter: 1 }
    const state = stored?.state ?? { ...fresh, position: await begin() }
    const own = {
      ...state,
      owner: this.session,
      pid: process.pid,
      ...(ownPlace === undefined ? {} : { place: ownPlace }),
    }
    const isOwn = await this.write(own, stored?.bytes)
    this.seen = undefined
    return isOwn ? own : undefined
  }

  /**
   * While this process works for it; with a dead letter in the same commit. Without a change it is a heartbeat. Throws SubscriptionLost,
   * StoreUnavailable, OutcomeUnknown.
   */
  async update(change: Partial<SubscriptionState> = {}, letter?: DeadLetter): Promise<SubscriptionState> {
    const { held } = this
    if (held === undefined) throw new SubscriptionLost()
    const state = { ...held.state, ...change }
    const next = letter === undefined ? state : withLetter(state)
    const extra: Change[] = []
    if (letter !== undefined) {
      const value = Buffer.from(JSON.stringify({ ...letter, number: state.nextLetter }))
      extra.push({ kind: 'put', key: deadLetterKey(this.name, state.nextLetter), value })
      // The oldest gives way.
      if (next.deadLetters > deadLettersMax) extra.push(...(await this.oldestLetter()))
    }
    const bounded = { ...next, deadLetters: Math.min(next.deadLetters, deadLettersMax) }
    if (!(await this.write(bounded, held.bytes, extra))) throw new SubscriptionLost()
    return bounded
  }

  /** Others may work for it at once. Nothing where this process does not. Throws StoreUnavailable. */
  async release(): Promise<void> {
    const { held } = this
    this.held = undefined
    if (held !== undefined) await this.write({ ...held.state, owner: 0 }, held.bytes)
  }

  /**
   * What somebody else than its process changes: it finds out at its next one, and goes on from there. Undefined for one that nobody has begun. Throws
   * StoreUnavailable, TransactionContention.
   */
  async intervene(change: (state: SubscriptionState) => SubscriptionState): Promise<SubscriptionState | undefined> {
    for (;;) {
      const stored = await this.read()
      if (stored === undefined) return undefined
      const state = { ...change(stored.state), owner: 0 }
      if (await this.commit(state, stored.bytes, [])) return state
    }
  }

  /** The oldest first, behind the number. Throws StoreUnavailable. */
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

  /** Undefined where there is none. Throws StoreUnavailable. */
  async deadLetter(number: number): Promise<DeadLetter | undefined> {
    return withSnapshot(this.store, async (snapshot) => {
      const value = await snapshot.view(deadLetterKey(this.name, number), (bytes) => Buffer.from(bytes).toString())
      return value === undefined ? undefined : (JSON.parse(value) as DeadLetter)
    })
  }

  /** False where there is none. Throws StoreUnavailable. */
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

  /** What this process has from then on; false, and nothing, where somebody else has changed it. */
  private async write(state: SubscriptionState, before: Buffer | undefined, changes: Change[] = []): Promise<boolean> {
    const bytes = await this.commit(state, before, changes)
    this.held = bytes === undefined || state.owner !== this.session ? undefined : { bytes, state }
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

function withLetter(state: SubscriptionState): SubscriptionState {
  return { ...state, nextLetter: state.nextLetter + 1, deadLetters: state.deadLetters + 1 }
}
