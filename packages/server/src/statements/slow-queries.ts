/** The slow-query log: a log line for each slow query, with its plan, but without values from its text. */

import { planWithoutValues, withoutLiterals } from '@ashlar/engine'
import type { Logger } from 'pino'
import { slowQueryLinesMax, slowQueryLinesPerSecond, slowQueryTextMax } from '../limits.ts'
import { TokenBucket } from '../shares/token-bucket.ts'

/** Returns the plans of the statements of the query, as JSON, like EXPLAIN. */
export type Explain = () => Promise<readonly string[]>

export interface SlowQuery {
  readonly statement: string
  readonly fdAlias: string
  /** The name of the caller; null without authentication. */
  readonly caller: string | null
  readonly clientAddress: string
  readonly text: string
  /** From the request to the end of the reply, without time in which the client did not read. */
  readonly ms: number
  readonly workedMs: number
  readonly rows: number
  /** Objects examined to produce the rows. */
  readonly touched: number
  readonly status: number
  readonly explain: Explain | undefined
}

export class SlowQueries {
  readonly thresholdMs: number
  private readonly logger: Logger
  /** Limits log lines: under load every query may be slow, and each line requires planning. */
  private readonly bucket = new TokenBucket(slowQueryLinesMax, slowQueryLinesPerSecond)
  private unlisted = 0

  constructor(thresholdMs: number, logger: Logger) {
    this.thresholdMs = thresholdMs
    this.logger = logger
  }

  /** Returns immediately; the plan is computed and the line written later. */
  log(query: SlowQuery): void {
    if (!this.bucket.take()) {
      this.unlisted++
      return
    }
    const { unlisted } = this
    this.unlisted = 0
    void this.write(query, unlisted)
  }

  private async write({ explain, text, ms, workedMs, ...fields }: SlowQuery, unlisted: number): Promise<void> {
    const line = {
      ...fields,
      ms: rounded(ms),
      workedMs: rounded(workedMs),
      text: withoutLiterals(text, slowQueryTextMax),
      ...(unlisted > 0 && { unlisted }),
    }
    this.logger.warn({ ...line, ...(explain && (await plansOf(explain))) }, 'slow query')
  }
}

/** Returns no plan if the query can no longer be planned, e.g. after a schema change or with an unavailable store. */
async function plansOf(explain: Explain): Promise<{ readonly plan: unknown } | { readonly noPlan: string }> {
  try {
    const plan: unknown[] = []
    for (const one of await explain()) plan.push(await planWithoutValues(JSON.parse(one)))
    return { plan }
  } catch (error) {
    // The message may contain values.
    return { noPlan: (error as { readonly type?: string }).type ?? 'SystemError' }
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100
}
