/**
 * Checks made at the end of a transaction of several steps (contract 10.4.12): `minItems`, `maxItems` of collections stored as
 * links, `isRequired` of references, and checks that count references, which one step may violate and a later one repair.
 */
import { constraintKey, constraintsOf, isDeferrable, type Violation } from '../records/constraints.ts'
import { inParts, openTimeSlice } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import { linkConstraintKeys, linkViolations } from './check-links.ts'
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
  /** Assigns the error to the statement that last changed the object; undefined for operations. */
  readonly placeError: PlaceError | undefined
  readonly isAddressed: boolean
  /** The keys of the constraints that a step has or may have violated; others may have been violated before the transaction. */
  readonly concerned: ReadonlySet<string>
}

/** Adds the place in a text to an error. */
export type PlaceError = (error: unknown) => unknown

type NotedObject = Pick<ObjectState, 'oid' | 'isAddressed' | 'position' | 'linkPosition'>

export class DeferredChecks {
  private readonly objects = new Map<Oid, Deferred>()
  /** Objects noted since `attributeSteps` was called. */
  private readonly recent = new Set<Oid>()
  /** By object and constraint: the step since which it has been violated, as far as `attributeSteps` has found. */
  private readonly violatedSince = new Map<Oid, Map<string, number>>()
  /** The current step; if several commands are run together, that of the first. */
  step = 0

  /** Receives the objects of one unit of work. For statements, whose text gives attributes no position, with `placeError`. */
  during(placeError?: PlaceError): UnitOfWork['deferred'] {
    const noted = (state: NotedObject, concerned: ReadonlySet<string>): void => {
      const isAddressed = state.isAddressed && placeError === undefined
      this.recent.add(state.oid)
      const command = Math.max(state.position ?? 0, state.linkPosition ?? 0)
      this.objects.set(state.oid, { step: this.step + command, placeError, isAddressed, concerned })
    }
    return {
      note: (state, constraintKeys) => {
        noted(state, new Set([...(this.objects.get(state.oid)?.concerned ?? []), ...constraintKeys]))
      },
      noteChanged: (state) => {
        const earlier = this.objects.get(state.oid)
        if (earlier !== undefined) noted(state, earlier.concerned)
      },
    }
  }

  get isEmpty(): boolean {
    return this.objects.size === 0
  }

  /**
   * Called after a step, so that `judge` reports the step that has violated a constraint, and not the last one that has changed the
   * object. `unit`: sees all writes of the transaction so far.
   */
  async attributeSteps(unit: UnitOfWork): Promise<void> {
    const oids = [...this.recent]
    this.recent.clear()
    await unit.objects.loadAll(oids)
    for (const oid of oids) {
      const state = unit.objects.loaded(oid)
      const earlier = this.violatedSince.get(oid)
      const since = new Map<string, number>()
      const { step } = this.objects.get(oid) as Deferred
      for (const one of state === undefined ? [] : await this.violationsOf(unit, state)) {
        const key = constraintKey(one)
        since.set(key, earlier?.get(key) ?? step)
      }
      this.violatedSince.set(oid, since)
    }
  }

  /** `unit`: sees all writes of the transaction. Throws ConstraintViolation, wrapped in a StepFailure if there are steps. */
  async judge(unit: UnitOfWork): Promise<void> {
    const slice = openTimeSlice()
    await inParts([...this.objects.keys()], objectBatchSize, async (part) => {
      await unit.objects.loadAll(part)
      for (const oid of part) {
        const state = unit.objects.loaded(oid)
        if (state !== undefined) await this.judgeOne(unit, state)
        await slice.yieldIfDue()
      }
    })
  }

  private async judgeOne(unit: UnitOfWork, state: ObjectState): Promise<void> {
    const { placeError, isAddressed, step: last } = this.objects.get(state.oid) as Deferred
    const violations = await this.violationsOf(unit, state)
    const [first] = violations
    if (first === undefined) return
    const step = this.violatedSince.get(state.oid)?.get(constraintKey(first)) ?? last
    state.isAddressed = isAddressed
    const error = violationError(state, violations, unit)
    const seen = unit.guard === undefined ? error : await violationTo(unit.guard, state, error)
    const reported = placeError === undefined ? seen : placeError(seen)
    throw step === 0 ? reported : new StepFailure(step, reported)
  }

  private async violationsOf(unit: UnitOfWork, state: ObjectState): Promise<Violation[]> {
    const { concerned } = this.objects.get(state.oid) as Deferred
    const constraints = constraintsOf(state.format, unit.objects.formats, unit.expressions.all)
    const all: Violation[] = []
    if (constraints !== undefined) {
      const values = await valuesWithCounts(unit, state, constraints.countedLinks())
      all.push(...constraints.violations(values, undefined, undefined))
    }
    for (const attribute of state.format.linkAttributes) {
      if (linkConstraintKeys(attribute).some((key) => concerned.has(key)))
        all.push(...(await linkViolations(unit, state, attribute)))
    }
    return all.filter((one) => isDeferrable(one) && concerned.has(constraintKey(one)))
  }
}
