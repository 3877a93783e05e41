/**
 * Checks made at the end of a transaction of several steps (contract 10.4.12): `minItems`, and `isRequired` of references,
 * which one step may violate and a later one repair.
 */
import type { AshlarError } from '../errors.ts'
import { constraintsOf, isDeferrable, type Violation } from '../records/constraints.ts'
import { inParts } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import { linkViolations } from './check-links.ts'
import { violationError, violationTo } from './constraint-error.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { type ObjectState, objectBatchSize } from './working-set.ts'

/** The step whose change is rejected at the end of the transaction; `cause` is the reason. */
export class StepFailure extends Error {
  /** Counts from 1. */
  readonly step: number

  constructor(step: number, cause: unknown) {
    super('a step is refused at the end of its transaction', { cause })
    this.step = step
  }
}

interface Deferred {
  /** The step that last changed the object; 0 if there are no steps. */
  readonly step: number
  readonly isAddressed: boolean
}

export class DeferredChecks {
  private readonly objects = new Map<Oid, Deferred>()
  /** The current step. */
  step = 0

  /** For statements, whose text gives attributes no position. */
  readonly forStatements = {
    note: ({ oid }: Pick<ObjectState, 'oid'>): void => this.note({ oid, isAddressed: false }),
    noteChanged: (state: ObjectState): void => {
      if (this.objects.has(state.oid)) this.forStatements.note(state)
    },
  }

  /** Records an object that violates such a constraint, or that violated one and changes again. */
  note({ oid, isAddressed }: Pick<ObjectState, 'oid' | 'isAddressed'>): void {
    this.objects.set(oid, { step: this.step, isAddressed })
  }

  noteChanged(state: ObjectState): void {
    if (this.objects.has(state.oid)) this.note(state)
  }

  get isEmpty(): boolean {
    return this.objects.size === 0
  }

  /** `unit`: sees all writes of the transaction. Throws ConstraintViolation, wrapped in a StepFailure if there are steps. */
  async judge(unit: UnitOfWork): Promise<void> {
    await inParts([...this.objects.keys()], objectBatchSize, async (part) => {
      await unit.objects.loadAll(part)
      for (const oid of part) {
        const state = unit.objects.loaded(oid)
        if (state !== undefined) await this.judgeOne(unit, state)
      }
    })
  }

  private async judgeOne(unit: UnitOfWork, state: ObjectState): Promise<void> {
    const constraints = constraintsOf(state.format, unit.objects.formats, unit.expressions.all)
    const violations: Violation[] =
      constraints?.violations(state.values, undefined, undefined).filter(isDeferrable) ?? []
    for (const attribute of state.format.neededLinks) {
      violations.push(...(await linkViolations(unit, state, attribute)).filter(isDeferrable))
    }
    if (violations.length === 0) return
    const { step, isAddressed } = this.objects.get(state.oid) as Deferred
    state.isAddressed = isAddressed
    const error: AshlarError = violationError(state, violations, unit.guard?.catalog)
    const reported = unit.guard === undefined ? error : await violationTo(unit.guard, state, error)
    throw step === 0 ? reported : new StepFailure(step, reported)
  }
}
