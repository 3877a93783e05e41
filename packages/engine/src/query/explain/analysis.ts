/** EXPLAIN ANALYZE: which statement of a text is under way, what it takes, and what the request holds meanwhile. */

import type { RequestMemory } from '../../budget/request-memory.ts'
import { assert } from '../../errors.ts'
import type { TimeSlice } from '../../store/time-slice.ts'
import type { Statement } from '../language/ast.ts'
import { StatementProbe } from './statement-probe.ts'

/** About what is noted of a statement takes in memory. */
export const probeBytes = 2_000

export interface AnalyzedStatement {
  readonly probe: StatementProbe
  /** What the request was charged with at most: by the statement and what it uses of those before. */
  heldBytesMax: number
  /** The same of its transaction. */
  changedBytesMax: number
}

export class Analysis {
  /** Those that are not part of another one, in the order in which they were carried out. */
  readonly statements: AnalyzedStatement[] = []
  private readonly slice: MeasuredSlice
  private readonly memory: RequestMemory
  private probe: StatementProbe | undefined

  constructor(slice: MeasuredSlice, memory: RequestMemory) {
    this.slice = slice
    this.memory = memory
  }

  /** Of the statement under way. */
  get current(): StatementProbe | undefined {
    return this.probe
  }

  /** Carries out a statement, which is part of the one under way where there is one. */
  async within<T>(statement: Statement, carryOut: () => Promise<T>): Promise<T> {
    const { memory, probe: outer } = this
    const nowMs = (): number => performance.now() - this.slice.pausedMs
    const probe = outer === undefined ? new StatementProbe(statement, nowMs) : outer.part(statement)
    if (probe.loops === 0) memory.chargeRequest(probeBytes)
    if (outer === undefined) memory.watchPeaks()
    this.probe = probe
    const started = nowMs()
    try {
      return await carryOut()
    } finally {
      probe.measured.ms += nowMs() - started
      probe.ended()
      this.probe = outer
      const { held, changed } = memory.peaks
      if (outer === undefined) this.statements.push({ probe, heldBytesMax: held, changedBytesMax: changed })
    }
  }

  /** The same of part of the one under way, whose rows are taken later: it ends when no more are taken. */
  async streaming<T, S extends Rows<T>>(statement: Statement, start: () => Promise<S & Rows<T>>): Promise<S> {
    const probe = this.probe?.part(statement)
    assert(probe !== undefined, 'it is part of another statement')
    if (probe.loops === 0) this.memory.chargeRequest(probeBytes)
    try {
      const rows = await this.during(probe, start)
      return { ...rows, batches: this.taken(rows.batches, probe) }
    } catch (error) {
      probe.ended()
      throw error
    }
  }

  private async *taken<T>(batches: AsyncGenerator<T>, probe: StatementProbe): AsyncGenerator<T> {
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

  /** The time counts as the statement's, and what is carried out meanwhile as part of it. */
  private async during<T>(probe: StatementProbe, carryOut: () => Promise<T>): Promise<T> {
    const nowMs = (): number => performance.now() - this.slice.pausedMs
    const { probe: outer } = this
    this.probe = probe
    const started = nowMs()
    try {
      return await carryOut()
    } finally {
      probe.measured.ms += nowMs() - started
      this.probe = outer
    }
  }
}

interface Rows<T> {
  readonly batches: AsyncGenerator<T>
}

/** Knows for how long others had their turns. */
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
