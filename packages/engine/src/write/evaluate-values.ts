/** Evaluates expressions for values: defaults of attributes that a creation leaves out, `onUpdate`, and computed attributes (contract 10.6). */
import { AshlarError, type CommandPlace } from '../errors.ts'
import { type AttributeFormat, type ClassFormat, embeddedIn } from '../records/class-format.ts'
import { isFollowing, isUnstored } from '../records/computed.ts'
import { unevaluated } from '../records/creation-value.ts'
import { encodeValue, isSameValue } from '../records/same-value.ts'
import { formatForMessage, type StepwiseWork } from '../types/logical-type.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { type ObjectState, setValue } from './working-set.ts'

/** Embedded objects between two yields, each of which takes microseconds. */
export const objectsPerYield = 100

/** Evaluates the expressions of embedded objects. Throws like `evaluateValues`. */
export function* evaluateWithin(state: ObjectState, unit: UnitOfWork): StepwiseWork<undefined> {
  const { format, values, before, changed } = state
  const previous = objectBefore(state)
  for (const attribute of format.evaluatedWithin) {
    const { index } = attribute
    if (before !== undefined && changed?.has(index) !== true) continue
    values[index] = yield* valueWithin(attribute, values[index], previous, ['attributes'], unit)
  }
}

/** The value of an attribute that embeds objects. */
function* valueWithin(
  attribute: AttributeFormat,
  value: unknown,
  previous: ObjectsBefore,
  place: CommandPlace,
  unit: UnitOfWork,
): StepwiseWork<unknown> {
  const format = embeddedIn(attribute) as ClassFormat
  const inner = previous.within(attribute, format)
  const path = [...place, attribute.attribute.outputName]
  if (attribute.embedded !== undefined) return yield* evaluatedObject(value as Values, inner, path, unit)
  const objects: Values[] = []
  for (const [i, object] of (value as readonly Values[]).entries()) {
    if (i % objectsPerYield === objectsPerYield - 1) yield
    objects.push(yield* evaluatedObject(object, inner, [...path, i], unit))
  }
  return objects
}

type Values = readonly unknown[]

/** The object with the values that its expressions give; the object itself if it was there before. */
function* evaluatedObject(
  object: Values,
  previous: ObjectsBefore,
  place: CommandPlace,
  unit: UnitOfWork,
): StepwiseWork<Values> {
  if (previous.includes(object)) return object
  const { format } = previous
  const values = [...object]
  for (const attribute of format.evaluatedWithin) {
    values[attribute.index] = yield* valueWithin(attribute, values[attribute.index], previous, place, unit)
  }
  evaluateDefaults(format, values, unit)
  evaluateComputed(format, values, previous, place)
  return values
}

/** Runs when all other values of the object are final. Throws AshlarError if an expression cannot be evaluated or its value does not fit. */
export function evaluateValues(state: ObjectState, unit: UnitOfWork): void {
  const { format, values, stored } = state
  const { objects, expressions, isUnchecked } = unit
  evaluateDefaults(format, values, unit, (index) => setValue(state, { index }, values[index]))
  // An object that is rebuilt from an archive is changed in steps, which are not changes in the sense of onUpdate.
  if (state.isUpdated && stored !== undefined && !isUnchecked) {
    for (const { index, valueFor } of expressions.all.updatesOf(format, objects.formats)) {
      if (isLeft(state, index)) setValue(state, { index }, valueFor(values, expressions.user))
    }
  }
  if (format.computedAttributes.length === 0) return
  evaluateComputed(format, values, objectBefore(state), ['attributes'], (index) =>
    setValue(state, { index }, values[index]),
  )
}

function evaluateDefaults(
  format: ClassFormat,
  values: unknown[],
  { objects: { formats }, expressions: { all, user }, isUnchecked, numbers }: UnitOfWork,
  onSet?: (index: number) => void,
): void {
  for (const { index, valueFor } of all.defaultsOf(format, formats)) {
    if (values[index] !== unevaluated) continue
    // An object that is rebuilt from an archive gets all its values in later steps.
    values[index] = isUnchecked ? null : valueFor(values, user, numbers)
    onSet?.(index)
  }
}

/** A value that is evaluated on read takes no space in the record. Throws ValueNotAllowed if a value is given that is not that of before or after. */
function evaluateComputed(
  format: ClassFormat,
  values: unknown[],
  previous: ObjectsBefore,
  place: CommandPlace,
  onSet?: (index: number) => void,
): void {
  const input = format.computedAttributes.map(({ index }) => values[index])
  // Otherwise one that names another would be evaluated with the value that this had before.
  for (const { index } of format.computedAttributes) values[index] = unevaluated
  for (const [i, attribute] of format.computedAttributes.entries()) {
    const { index, codec } = attribute
    const hasInput = input[i] !== unevaluated
    const isStored = !isUnstored(attribute.attribute)
    if (!isStored && !hasInput) continue
    if (isFollowing(attribute.attribute))
      throw refusal(format, attribute, 'is computed from other objects and cannot be set', place)
    const value = format.valueIn(values, index)
    const isSame = hasInput && isSameValue(codec, input[i], value)
    if (hasInput && !isSame && !previous.had(attribute, input[i])) {
      const text = formatForMessage(value === null ? null : codec.toJson(value))
      throw refusal(format, attribute, `is computed and has the value ${text} here`, place)
    }
    if (!isStored) continue
    values[index] = value
    if (!isSame) onSet?.(index)
  }
}

function refusal(
  { cls }: ClassFormat,
  { attribute: { outputName } }: AttributeFormat,
  words: string,
  place: CommandPlace,
): AshlarError {
  const details = [{ place: [...place, outputName], message: words }]
  return new AshlarError('ValueNotAllowed', `Class ${cls.name}: attribute ${outputName} ${words}.`, details)
}

function isLeft({ format, before, values, changed }: ObjectState, index: number): boolean {
  if (before === undefined || changed === undefined) return false
  const { codec } = format.attributes[index] as ObjectState['format']['attributes'][number]
  return !changed.has(index) || isSameValue(codec, values[index], before[index])
}

function objectBefore({ format, before }: ObjectState): ObjectsBefore {
  return new ObjectsBefore(() => (before === undefined ? [] : [before]), format)
}

/** The objects of one class that stood at a place before a change: the object itself, or all elements of a list. */
class ObjectsBefore {
  readonly format: ClassFormat
  private readonly find: () => readonly Values[]
  private found: ReadonlySet<Values> | undefined
  private readonly valuesOf = new Map<number, ReadonlySet<string>>()

  /** `find`: called at most once. */
  constructor(find: () => readonly Values[], format: ClassFormat) {
    this.find = find
    this.format = format
  }

  private get objects(): ReadonlySet<Values> {
    this.found ??= new Set(this.find())
    return this.found
  }

  includes(object: Values): boolean {
    return this.objects.has(object)
  }

  /** The objects that those of an attribute embed. */
  within({ index, embedded }: AttributeFormat, format: ClassFormat): ObjectsBefore {
    const find = (): Values[] => {
      const values = [...this.objects].map((object) => object[index])
      return (embedded === undefined ? values.flat() : values) as Values[]
    }
    return new ObjectsBefore(find, format)
  }

  /** Whether a computed attribute of one of the objects had the value. */
  had({ index, codec }: AttributeFormat, value: unknown): boolean {
    let texts = this.valuesOf.get(index)
    if (texts === undefined) {
      texts = new Set([...this.objects].map((object) => textOf(codec, this.format.valueAt(object, index))))
      this.valuesOf.set(index, texts)
    }
    return texts.has(textOf(codec, value))
  }
}

function textOf(codec: AttributeFormat['codec'], value: unknown): string {
  return value === null ? 'null' : encodeValue(codec, value).toString('latin1')
}
