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

/** The step that has or may have violated a constraint; others may have been violated before the transaction. */
interface Concern {
  /** 0 if there are no steps. */
  readonly step: number
  /** Assigns the error to the statement; undefined for operations. */
  readonly placeError: PlaceError | undefined
  readonly isAddressed: boolean
}

/** Adds the place in a text to an error. */
export type PlaceError = (error: unknown) => unknown

type NotedObject = Pick<ObjectState, 'oid' | 'isAddressed' | 'position' | 'linkPosition'>

export class DeferredChecks {
  /** By constraint: the last step that concerned it. */
  private readonly objects = new Map<Oid, Map<string, Concern>>()
  /** The current step; if several commands are run together, that of the first. */
  step = 0

  /** Receives the objects of one unit of work. For statements, whose text gives attributes no position, with `placeError`. */
  during(placeError?: PlaceError): UnitOfWork['deferred'] {
    const note = (state: NotedObject, constraintKeys: readonly string[]): void => {
      const command = Math.max(state.position ?? 0, state.linkPosition ?? 0)
      const isAddressed = state.isAddressed && placeError === undefined
      const concern = { step: this.step + command, placeError, isAddressed }
      const concerns = this.objects.get(state.oid) ?? new Map<string, Concern>()
      this.objects.set(state.oid, concerns)
      for (const key of constraintKeys) concerns.set(key, concern)
    }
    return { note }
  }

  get isEmpty(): boolean {
    return this.objects.size === 0
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
    const concerns = this.objects.get(state.oid) as ReadonlyMap<string, Concern>
    const violations = await violationsOf(unit, state, concerns)
    const [first] = violations
    if (first === undefined) return
    const { step, placeError, isAddressed } = concerns.get(constraintKey(first)) as Concern
    state.isAddressed = isAddressed
    const error = violationError(state, violations, unit)
    const seen = unit.guard === undefined ? error : await violationTo(unit.guard, state, error)
    const reported = placeError === undefined ? seen : placeError(seen)
    throw step === 0 ? reported : new StepFailure(step, reported)
  }
}

async function violationsOf(
  unit: UnitOfWork,
  state: ObjectState,
  concerned: ReadonlyMap<string, Concern>,
): Promise<Violation[]> {
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
