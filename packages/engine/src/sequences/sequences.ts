/** Draws numbers from sequences in small commits, outside the transactions that request them (contract 6.3). */
import { catalogVersionKey } from '../bytes/key-space.ts'
import type { CatalogCache } from '../catalog/catalog-cache.ts'
import { decodeNextNumber, encodeNextNumber, nextNumberKey } from '../catalog/next-number.ts'
import { AshlarError, withoutEffect } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import type { SequenceDefinition } from '../schema/class-definition.ts'
import { sequenceMax, sequenceMin, sequenceNamed } from '../schema/sequence-definition.ts'
import { ReadSkew } from '../store/read-skew.ts'
import type { Bytes, Store } from '../store/store.ts'
import { transact } from '../transaction/transact.ts'
import type { Transaction } from '../transaction/transaction.ts'

interface NumberRequest {
  readonly count: number
  readonly resolve: (numbers: readonly bigint[]) => void
  readonly reject: (error: unknown) => void
}

/** The numbers for one request, or an error if the sequence has fewer left. */
type DrawResult = readonly bigint[] | AshlarError

/**
 * A number is beyond every number replied before it was requested, by any process: the commit that draws it begins after the
 * request and requires the sequence's entry as the previous commit left it. Therefore no process may cache numbers for later
 * callers. Requests that arrive during a commit are served together by the next one.
 */
export class Sequences {
  private readonly store: Store
  private readonly catalogs: Pick<CatalogCache, 'at' | 'latest'>
  private readonly limits: Pick<EngineLimits, 'transactionAttemptsMax'>
  /** By name: requests for the next commit. A sequence has an entry while requests are being served. */
  private readonly pending = new Map<string, NumberRequest[]>()

  constructor(
    store: Store,
    catalogs: Pick<CatalogCache, 'at' | 'latest'>,
    limits: Pick<EngineLimits, 'transactionAttemptsMax'>,
  ) {
    this.store = store
    this.catalogs = catalogs
    this.limits = limits
  }

  /** Returns `count` numbers in order, each drawn only once. Throws SequenceNotFound, SequenceExhausted, TransactionContention. */
  next(name: string, count = 1): Promise<readonly bigint[]> {
    return new Promise((resolve, reject) => {
      const request = { count, resolve, reject }
      const queued = this.pending.get(name)
      if (queued !== undefined) {
        queued.push(request)
        return
      }
      const queue = [request]
      this.pending.set(name, queue)
      // Requests of the same event loop turn share the first commit.
      queueMicrotask(() => void this.serve(name, queue))
    })
  }

  /** Runs until the queue is empty. A failure rejects only the requests that it affects. */
  private async serve(name: string, pending: NumberRequest[]): Promise<void> {
    while (pending.length > 0) {
      const batch = pending.splice(0)
      try {
        const results = await this.draw(name, batch)
        for (const [i, { resolve, reject }] of batch.entries()) {
          const numbers = results[i] as DrawResult
          if (numbers instanceof AshlarError) reject(numbers)
          else resolve(numbers)
        }
      } catch (error) {
        // If it is unknown whether the commit took effect, its numbers are never used; the sequence has a gap.
        for (const { reject } of batch) reject(withoutEffect(error))
      }
    }
    this.pending.delete(name)
  }

  private draw(name: string, requests: readonly NumberRequest[]): Promise<readonly DrawResult[]> {
    const { store, catalogs, limits } = this
    const cached = catalogs.latest?.sequenceByName(name)
    const isRemote = !store.capabilities.hasSynchronousReads
    return transact(store, limits.transactionAttemptsMax, (transaction) => this.take(name, requests, transaction), {
      isReservation: true,
      prefetchKeys: isRemote && cached !== undefined ? [catalogVersionKey, nextNumberKey(cached.number)] : undefined,
    })
  }

  private async take(
    name: string,
    requests: readonly NumberRequest[],
    transaction: Transaction,
  ): Promise<readonly DrawResult[]> {
    const catalog = await this.catalogs.at(transaction.snapshot)
    transaction.requireRevision(catalogVersionKey, catalog.version)
    const sequence = sequenceNamed(catalog, name)
    const { changeLog = 0 } = catalog.state.counters
    transaction.logEpoch = this.store.capabilities.canAppend ? changeLog : 0
    const key = nextNumberKey(sequence.number)
    const stored = await transaction.readOne(key)
    const { results, next } = drawNumbers(sequence, stored, requests)
    transaction.requireAsRead(key, stored)
    if (next !== undefined) transaction.put(key, next, stored)
    return results
  }
}

/** Returns the numbers for each request and the new entry of the sequence; undefined if the entry is unchanged. */
function drawNumbers(
  sequence: SequenceDefinition,
  stored: Bytes | undefined,
  requests: readonly Pick<NumberRequest, 'count'>[],
): { readonly results: readonly DrawResult[]; readonly next: Bytes | undefined } {
  if (stored === undefined) throw new ReadSkew(`sequence ${sequence.name} has no entry for its next number`)
  const drawn = new NumbersLeft(sequence, stored)
  const results = requests.map(({ count }) => drawn.take(count))
  return { results, next: drawn.isTouched ? drawn.entry : undefined }
}

/** The remaining numbers of a sequence. */
export class NumbersLeft {
  private readonly name: string
  private readonly step: bigint
  /** Undefined if the sequence is exhausted. */
  private next: bigint | undefined
  isTouched = false

  /** `stored`: the entry of the sequence. */
  constructor({ name, step }: SequenceDefinition, stored: Bytes) {
    this.name = name
    this.step = BigInt(step)
    this.next = decodeNextNumber(stored)
  }

  /** Takes `count` numbers, or none if fewer are left. */
  take(count: number): DrawResult {
    const { next, step } = this
    if (count === 0) return []
    if (next === undefined || !isNumber(next + step * BigInt(count - 1))) return this.exhausted(count)
    const numbers: bigint[] = []
    for (let number = next; numbers.length < count; number += step) numbers.push(number)
    const following = next + step * BigInt(count)
    this.next = isNumber(following) ? following : undefined
    this.isTouched = true
    return numbers
  }

  /** The value to store. */
  get entry(): Buffer {
    return encodeNextNumber(this.next)
  }

  private exhausted(count: number): AshlarError {
    const { name, step } = this
    const end = step > 0n ? sequenceMax : sequenceMin
    const problem = count === 1 ? 'no more numbers' : `fewer than ${count} numbers left`
    return new AshlarError(
      'SequenceExhausted',
      `Sequence ${name} has ${problem}: its STEP ${step} leads beyond ${end}. ALTER SEQUENCE ${name} RESTART n has it begin anew.`,
    )
  }
}

function isNumber(value: bigint): boolean {
  return value >= sequenceMin && value <= sequenceMax
}
