/** What statements come to that are run for the rows around them: once for all rows that ask for the same, many at a time where each read is a trip. */
import type { RequestMemory } from '../../budget/request-memory.ts'
import { isLongText, textDigest } from '../../bytes/text-digest.ts'
import { type InnerReader, needsFetch } from '../evaluate/evaluation-context.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'

export type RunInner = (index: number, captured: readonly unknown[]) => Promise<unknown>

/** What is asked of the context of the statement around them. */
interface Around {
  readonly isRemote: boolean
  readonly probe: unknown
  readonly script: { readonly memory: RequestMemory; readonly limits: { readonly statementBytesMax: number } }
  turn(): Promise<void>
}

interface Asked {
  readonly index: number
  readonly captured: readonly unknown[]
}

/** Where each read is a trip, so many are under way at once: what they read at the same time comes together. */
const runsAtOnce = 32
/** Between batches of rows, results are let go of that take more; and no more than a share of what a statement may hold. */
const keptBytesMax = 4 * 2 ** 20
const keptShare = 1 / 8
const entryBytes = 200

export class InnerValues implements InnerReader {
  private readonly run: RunInner
  private readonly around: Around
  private readonly known = new Map<string, { readonly value: unknown }>()
  private readonly missing = new Map<string, Asked>()
  private bytes = 0

  constructor(run: RunInner, around: Around) {
    this.run = run
    this.around = around
  }

  value(index: number, captured: readonly unknown[]): unknown {
    const key = keyOf(index, captured)
    const known = this.known.get(key)
    if (known !== undefined) return known.value
    this.missing.set(key, { index, captured })
    throw needsFetch
  }

  /** Runs the statements for all that was asked for in vain. Throws what they throw. */
  async fetchMissing(): Promise<void> {
    const asked = [...this.missing]
    this.missing.clear()
    const { isRemote, probe } = this.around
    const atOnce = isRemote && probe === undefined ? runsAtOnce : 1
    for (let at = 0; at < asked.length; at += atOnce) {
      await this.runTogether(asked.slice(at, at + atOnce))
      await this.around.turn()
    }
  }

  private async runTogether(asked: readonly (readonly [key: string, asked: Asked])[]): Promise<void> {
    const { memory } = this.around.script
    const before = memory.statementBytes
    const keptBefore = memory.keptBytes
    const ends = await Promise.allSettled(asked.map(([, { index, captured }]) => this.run(index, captured)))
    // What they held meanwhile is let go of, but for what they came to, and what is kept for others that run the same statements.
    memory.chargeStatement(before + memory.keptBytes - keptBefore - memory.statementBytes)
    for (const [i, [key]] of asked.entries()) {
      const end = ends[i] as PromiseSettledResult<unknown>
      if (end.status === 'rejected') throw end.reason
      const value = end.value ?? null
      const bytes = entryBytes + elementBytes + valueBytes(key) + valueBytes(value)
      memory.chargeStatement(bytes, 'values')
      this.bytes += bytes
      this.known.set(key, { value })
    }
  }

  /** Between batches of rows. */
  trim(): void {
    const { memory, limits } = this.around.script
    if (this.bytes <= Math.min(keptBytesMax, limits.statementBytesMax * keptShare)) return
    memory.chargeStatement(-this.bytes)
    this.bytes = 0
    this.known.clear()
  }
}

/** The same for the same values. A digest begins with no bracket. */
function keyOf(index: number, captured: readonly unknown[]): string {
  const json = JSON.stringify([index, captured], (_key, value: unknown) => {
    if (typeof value === 'bigint') return { bigint: String(value) }
    return typeof value === 'number' && !Number.isFinite(value) ? { number: String(value) } : value
  })
  return isLongText(json) ? textDigest(json) : json
}
