/**
 * Checks made at the end of a transaction of several steps (contract 10.4.12): `minItems`, `isRequired` of references, and
 * checks that count references, which one step may violate and a later one repair.
 */
import type { AshlarError } from '../errors.ts'
import { constraintKey, constraintsOf, isDeferrable, type Violation } from '../records/constraints.ts'
import { inParts } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import { linkViolations } from './check-links.ts'
import { violationError, violationTo } from './constraint-error.ts'
import { valuesWithCounts } from './count-links.ts'
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
  /** The constraints that a step has violated; others may have been violated before the transaction. */
  readonly violated: ReadonlySet<string>
}

type NotedObject = Pick<ObjectState, 'oid' | 'isAddressed'>

export class DeferredChecks {
  private readonly objects = new Map<Oid, Deferred>()
  /** The current step. */
  step = 0

  /** For statements, whose text gives attributes no position. */
  readonly forStatements = {
    note: ({ oid }: NotedObject, violations: readonly Violation[]): void => {
      this.note({ oid, isAddressed: false }, violations)
    },
    noteChanged: ({ oid }: NotedObject): void => this.noteChanged({ oid, isAddressed: false }),
  }

  /** Records an object that violates such constraints. */
  note({ oid, isAddressed }: NotedObject, violations: readonly Violation[]): void {
    const violated = new Set([...(this.objects.get(oid)?.violated ?? []), ...violations.map(constraintKey)])
    this.objects.set(oid, { step: this.step, isAddressed, violated })
  }

  /** If the object was recorded, its errors are those of the present step. */
  noteChanged({ oid, isAddressed }: NotedObject): void {
    const noted = this.objects.get(oid)
    if (noted !== undefined) this.objects.set(oid, { ...noted, step: this.step, isAddressed })
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
    const { step, isAddressed, violated } = this.objects.get(state.oid) as Deferred
    const constraints = constraintsOf(state.format, unit.objects.formats, unit.expressions.all)
    const all: Violation[] = []
    if (constraints !== undefined) {
      const values = await valuesWithCounts(unit, state, constraints.countedLinks())
      all.push(...constraints.violations(values, undefined, undefined))
    }
    for (const attribute of state.format.neededLinks) all.push(...(await linkViolations(unit, state, attribute)))
    const violations = all.filter((one) => isDeferrable(one) && violated.has(constraintKey(one)))
    if (violations.length === 0) return
    state.isAddressed = isAddressed
    const error: AshlarError = violationError(state, violations, unit.guard?.catalog)
    const reported = unit.guard === undefined ? error : await violationTo(unit.guard, state, error)
    throw step === 0 ? reported : new StepFailure(step, reported)
  }
}
