/** EXPLAIN ANALYZE: tracks which statement of a text is running, and records its time and the peak memory of the request. */

import type { RequestMemory } from '../../budget/request-memory.ts'
import { assert } from '../../errors.ts'
import type { TimeSlice } from '../../store/time-slice.ts'
import type { Statement } from '../language/ast.ts'
import { StatementProbe } from './statement-probe.ts'

/** Approximate memory of a statement's measurements. */
export const probeBytes = 2_000

export interface AnalyzedStatement {
  readonly probe: StatementProbe
  /** Peak of the bytes charged to the request, by the statement and for values of earlier ones. */
  heldBytesMax: number
  /** Peak of the bytes charged to its transaction. */
  changedBytesMax: number
}

export class Analysis {
  /** Top-level statements, in execution order. */
  readonly statements: AnalyzedStatement[] = []
  private readonly slice: MeasuredSlice
  private readonly memory: RequestMemory
  private probe: StatementProbe | undefined

  constructor(slice: MeasuredSlice, memory: RequestMemory) {
    this.slice = slice
    this.memory = memory
  }

  /** The running statement. */
  get current(): StatementProbe | undefined {
    return this.probe
  }

  /** Runs a statement, as a part of the running one if there is one. */
  async within<T>(statement: Statement, execute: () => Promise<T>): Promise<T> {
    const { memory, probe: outer } = this
    const nowMs = (): number => performance.now() - this.slice.pausedMs
    const probe = outer === undefined ? new StatementProbe(statement, nowMs) : outer.part(statement)
    if (probe.loops === 0) memory.chargeRequest(probeBytes)
    if (outer === undefined) memory.watchPeaks()
    this.probe = probe
    const started = nowMs()
    try {
      return await execute()
    } finally {
      probe.measured.ms += nowMs() - started
      probe.ended()
      this.probe = outer
      const { statementBytes, transactionBytes } = memory.peaks
      if (outer === undefined)
        this.statements.push({ probe, heldBytesMax: statementBytes, changedBytesMax: transactionBytes })
    }
  }

  /** Runs a part of the running statement whose rows are consumed later: it ends when its rows do. */
  async streaming<T, S extends Rows<T>>(statement: Statement, start: () => Promise<S & Rows<T>>): Promise<S> {
    const probe = this.probe?.part(statement)
    assert(probe !== undefined, 'it is part of another statement')
    if (probe.loops === 0) this.memory.chargeRequest(probeBytes)
    try {
      const rows = await this.during(probe, start)
      return { ...rows, batches: this.measuredBatches(rows.batches, probe) }
    } catch (error) {
      probe.ended()
      throw error
    }
  }

  private async *measuredBatches<T>(batches: AsyncGenerator<T>, probe: StatementProbe): AsyncGenerator<T> {
    try {
      for (;;) {
        const next = await this.during(probe, () => batches.next())
        if (next.done === true) return
        yield next.value
      }
    } finally {
      await batches.return(undefined)
      probe.ended()
    }
  }

  /** Attributes the time to the statement, and nested statements to it as parts. */
  private async during<T>(probe: StatementProbe, execute: () => Promise<T>): Promise<T> {
    const nowMs = (): number => performance.now() - this.slice.pausedMs
    const { probe: outer } = this
    this.probe = probe
    const started = nowMs()
    try {
      return await execute()
    } finally {
      probe.measured.ms += nowMs() - started
      this.probe = outer
    }
  }
}

interface Rows<T> {
  readonly batches: AsyncGenerator<T>
}

/** Measures the time spent yielding. */
export class MeasuredSlice implements TimeSlice {
  pausedMs = 0
  private readonly slice: TimeSlice

  constructor(slice: TimeSlice) {
    this.slice = slice
  }

  get isOver(): boolean {
    return this.slice.isOver
  }

  yieldIfDue(): Promise<void> | undefined {
    const started = performance.now()
    return this.slice.yieldIfDue()?.finally(() => {
      this.pausedMs += performance.now() - started
    })
  }
}
