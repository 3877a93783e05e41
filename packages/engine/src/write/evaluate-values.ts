/** Evaluates expressions for values: defaults of attributes that a creation leaves out, and `onUpdate` (contract 10.6). */
import { AshlarError } from '../errors.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { defaultPending } from '../records/creation-value.ts'
import { isSameValue } from '../records/same-value.ts'
import { formatForMessage } from '../types/logical-type.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { type ObjectState, setValue } from './working-set.ts'

/** Runs when all other values of the object are final. Throws AshlarError if an expression cannot be evaluated or its value does not fit. */
export function evaluateValues(
  state: ObjectState,
  { objects: { formats }, expressions: { all, user }, isUnchecked, numbers }: UnitOfWork,
): void {
  const { format, values } = state
  for (const { index, valueFor } of all.defaultsOf(format, formats)) {
    if (values[index] !== defaultPending) continue
    // An object that is made as it was elsewhere gets all its values in later steps.
    setValue(state, { index }, isUnchecked ? null : valueFor(values, user, numbers))
  }
  // What is made as it was elsewhere is changed in steps, which are no changes of the object.
  if (state.isUpdated && state.stored !== undefined && !isUnchecked) {
    for (const { index, valueFor } of all.updatesOf(format, formats)) {
      if (isLeft(state, index)) setValue(state, { index }, valueFor(values, user))
    }
  }
  for (const attribute of format.computedAttributes) evaluate(state, attribute)
}

/** Throws ValueNotAllowed if the command gives a different value. */
function evaluate(state: ObjectState, { index, codec, attribute }: AttributeFormat): void {
  const { format, values, claims } = state
  const value = format.valueIn(values, index)
  if (claims?.has(index) === true && !isSameValue(codec, claims.get(index), value)) {
    const { outputName } = attribute
    const valueText = formatForMessage(value === null ? null : codec.toJson(value))
    const words = `is computed and has the value ${valueText} here`
    throw new AshlarError('ValueNotAllowed', `Class ${format.cls.name}: attribute ${outputName} ${words}.`, [
      { place: ['attributes', outputName], message: words },
    ])
  }
  // A value that is evaluated on read takes no space in the record.
  if (format.computedAt(index)?.isStored !== true) values[index] = codec.isNullable ? null : codec.defaultValue
  else if (!isSameValue(codec, values[index], value)) setValue(state, { index }, value)
}

function isLeft({ format, before, values, changed }: ObjectState, index: number): boolean {
  if (changed === undefined || before === undefined) return false
  const { codec } = format.attributes[index] as ObjectState['format']['attributes'][number]
  return !changed.has(index) || isSameValue(codec, values[index], before[index])
}
