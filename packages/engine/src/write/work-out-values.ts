/** Values that expressions give: defaults of what a creation leaves out, and what a change leaves as it is (contract 10.6). */
import { toBeWorkedOut } from '../records/class-format.ts'
import { isSameValue } from '../records/same-value.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { type ObjectState, setValue } from './working-set.ts'

/** Once all else of the object is as it will be written. Throws AshlarError for what cannot be worked out or does not fit. */
export function workOutValues(
  state: ObjectState,
  { objects: { formats }, expressions: { all, user } }: UnitOfWork,
): void {
  const { format, values } = state
  for (const { index, valueFor } of all.defaultsOf(format, formats)) {
    if (values[index] === toBeWorkedOut) setValue(state, { index }, valueFor(values, user))
  }
  if (!state.isUpdated || state.stored === undefined) return
  for (const { index, valueFor } of all.updatesOf(format, formats)) {
    if (isLeft(state, index)) setValue(state, { index }, valueFor(values, user))
  }
}

function isLeft({ format, before, values, changed }: ObjectState, index: number): boolean {
  if (changed === undefined || before === undefined) return false
  const { codec } = format.attributes[index] as ObjectState['format']['attributes'][number]
  return !changed.has(index) || isSameValue(codec, values[index], before[index])
}
