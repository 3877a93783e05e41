/** Cache of the values of correlated subqueries: each distinct input is run once, and many concurrently where reads are remote. */
import type { RequestMemory } from '../../budget/request-memory.ts'
import { isLongText, textDigest } from '../../bytes/text-digest.ts'
import { type InnerReader, needsFetch } from '../evaluate/evaluation-context.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'

export type RunInner = (index: number, captured: readonly unknown[]) => Promise<unknown>

/** The part of the enclosing statement's context that subqueries use. */
interface EnclosingContext {
  readonly isRemote: boolean
  readonly probe: unknown
  readonly script: { readonly memory: RequestMemory; readonly limits: { readonly statementBytesMax: number } }
  yieldToEventLoop(): Promise<void>
}

interface PendingRun {
  readonly index: number
  readonly captured: readonly unknown[]
}

/** Concurrent runs where each read is a round trip: reads issued at the same time share one. */
const concurrentRuns = 32
/** The cache is cleared between batches of rows when it exceeds this size, or this share of a statement's memory limit. */
const cachedBytesMax = 4 * 2 ** 20
const cachedShare = 1 / 8
const entryBytes = 200

export class InnerValues implements InnerReader {
  private readonly run: RunInner
  private readonly enclosing: EnclosingContext
  private readonly cached = new Map<string, { readonly value: unknown }>()
  private readonly pendingRuns = new Map<string, PendingRun>()
  private bytes = 0

  constructor(run: RunInner, enclosing: EnclosingContext) {
    this.run = run
    this.enclosing = enclosing
  }

  value(index: number, captured: readonly unknown[]): unknown {
    const key = keyOf(index, captured)
    const cached = this.cached.get(key)
    if (cached !== undefined) return cached.value
    this.pendingRuns.set(key, { index, captured })
    throw needsFetch
  }

  /** Runs the subqueries whose values were missing. Throws their errors. */
  async fetchMissing(): Promise<void> {
    const pending = [...this.pendingRuns]
    this.pendingRuns.clear()
    const { isRemote, probe } = this.enclosing
    const batchSize = isRemote && probe === undefined ? concurrentRuns : 1
    for (let at = 0; at < pending.length; at += batchSize) {
      await this.runTogether(pending.slice(at, at + batchSize))
      await this.enclosing.yieldToEventLoop()
    }
  }

  private async runTogether(pending: readonly (readonly [key: string, pending: PendingRun])[]): Promise<void> {
    const { memory } = this.enclosing.script
    const before = memory.statementBytes
    const retainedBefore = memory.retainedBytes
    const outcomes = await Promise.allSettled(pending.map(([, { index, captured }]) => this.run(index, captured)))
    // Memory that the runs used is released, except for their results and for data that is cached for later runs of the same statements.
    memory.chargeStatement(before + memory.retainedBytes - retainedBefore - memory.statementBytes)
    for (const [i, [key]] of pending.entries()) {
      const outcome = outcomes[i] as PromiseSettledResult<unknown>
      if (outcome.status === 'rejected') throw outcome.reason
      const value = outcome.value ?? null
      const bytes = entryBytes + elementBytes + valueBytes(key) + valueBytes(value)
      memory.chargeStatement(bytes, 'values')
      this.bytes += bytes
      this.cached.set(key, { value })
    }
  }

  /** Called between batches of rows. */
  trim(): void {
    const { memory, limits } = this.enclosing.script
    if (this.bytes <= Math.min(cachedBytesMax, limits.statementBytesMax * cachedShare)) return
    memory.chargeStatement(-this.bytes)
    this.bytes = 0
    this.cached.clear()
  }
}

/** Equal for equal inputs. A digest cannot collide with JSON, which begins with a bracket. */
function keyOf(index: number, captured: readonly unknown[]): string {
  const json = JSON.stringify([index, captured], (_key, value: unknown) => {
    if (typeof value === 'bigint') return { bigint: String(value) }
    return typeof value === 'number' && !Number.isFinite(value) ? { number: String(value) } : value
  })
  return isLongText(json) ? textDigest(json) : json
}
