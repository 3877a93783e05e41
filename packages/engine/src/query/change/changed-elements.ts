/** Changes of selected elements of a collection: SET, CLEAR, ADD and REMOVE. */
import { AshlarError, assert } from '../../errors.ts'
import { applyChange } from '../../records/apply-change.ts'
import type { ValueChange } from '../../records/attribute-change.ts'
import { formatAt } from '../../records/attribute-path.ts'
import type { AttributeFormat, ClassFormat } from '../../records/class-format.ts'
import { creationValue } from '../../records/creation-value.ts'
import type { Awaitable } from '../../store/store.ts'
import type { MapPair } from '../../types/map.ts'
import { noOid } from '../../types/oid.ts'
import type { UnitOfWork } from '../../write/unit-of-work.ts'
import type { ObjectState } from '../../write/working-set.ts'
import { widestCodec } from '../values/scalars/scalar-kinds.ts'
import { isMany, isReference, isScalarType } from '../values/value-type.ts'
import type { ElementChoice } from './action-values.ts'
import { attributesOfTarget, type EditedCollection, type ElementEdits, isPaired } from './element-edits.ts'
import type { ActionPlan, TargetPlan } from './plan-change.ts'

/** The operand of an action: evaluated once for all objects and elements, and only if it is used. */
export type Operand = () => Awaitable<unknown>

/** An action on elements of one object. */
interface ElementsChange {
  readonly edits: ElementEdits
  readonly choice: ElementChoice
  readonly operand: Operand
  readonly state: ObjectState
  readonly unit: UnitOfWork
}

/** Returns the change of the whole attribute if no collection is edited. */
export async function setElements(
  { target, isSpread }: Extract<ActionPlan, { kind: 'set' }>,
  { edits, choice, operand, state, unit }: ElementsChange,
): Promise<ValueChange | undefined> {
  if (choice.kind === 'none') return undefined
  if (choice.kind === 'key')
    return keyChange(formatAt(unit.commandFormatOf(state), attributesOfTarget(target)), choice.key, await operand())
  const collection = await collectionOf(edits, target, state)
  if (isSpread) {
    assert(choice.kind === 'slice', 'a range is replaced')
    collection.replace(choice, (await operand()) as readonly unknown[])
    return undefined
  }
  const places = collection.places(choice)
  if (places.length === 0) return undefined
  const value = await operand()
  collection.change(places, (element) => withField(element, fieldsWithin(target, unit.commandFormats), () => value))
  return undefined
}

/** Resets elements to the default of their type; elements of a bidirectional link are removed. */
export async function clearElements(
  target: TargetPlan,
  { edits, choice, state, unit }: ElementsChange,
): Promise<ValueChange | undefined> {
  if (choice.kind === 'none') return undefined
  const format = formatAt(unit.commandFormatOf(state), attributesOfTarget(target))
  if (choice.kind === 'key') return choice.hasKey ? keyChange(format, choice.key, noOid) : undefined
  const collection = await collectionOf(edits, target, state)
  const places = collection.places(choice)
  if (target.within.length === 0 && isPaired(target)) collection.remove(places)
  else {
    const fields = fieldsWithin(target, unit.commandFormats)
    const last = fields.at(-1)
    const cleared = last === undefined ? clearedElement(target, format, unit.commandFormats) : creationValue(last)
    collection.change(places, (element) => withField(element, fields, () => cleared))
  }
  return undefined
}

/** ADD to and REMOVE from a list or set within an element. */
export async function changeWithin(
  { target, kind }: Extract<ActionPlan, { kind: 'add' | 'remove' }>,
  { edits, choice, operand, state, unit }: ElementsChange,
): Promise<undefined> {
  if (choice.kind !== 'index') return undefined
  const collection = await collectionOf(edits, target, state)
  const places = collection.places(choice)
  if (places.length === 0) {
    throw new AshlarError(
      'QueryError',
      `${target.text}: there is no element ${choice.index} among ${collection.length}.`,
    )
  }
  const elements = (await operand()) as readonly unknown[]
  const fields = fieldsWithin(target, unit.commandFormats)
  const last = fields.at(-1)
  assert(last !== undefined, 'the collection is an attribute of the element')
  collection.change(places, (element) =>
    withField(element, fields, (current) => applyChange(last, current, { kind, elements })),
  )
}

/** REMOVE list[i] FROM list. */
export async function removeElement(
  edits: ElementEdits,
  target: TargetPlan,
  choice: ElementChoice | undefined,
  state: ObjectState,
): Promise<undefined> {
  if (choice?.kind !== 'index') return undefined
  const collection = await collectionOf(edits, target, state)
  collection.remove(collection.places(choice))
}

/** ADD to and REMOVE from a collection with elements that other actions of the statement select. */
export async function changeEdited(
  edits: ElementEdits,
  { target, kind }: Extract<ActionPlan, { kind: 'add' | 'remove' }>,
  operand: Operand,
  state: ObjectState,
): Promise<undefined> {
  const collection = await collectionOf(edits, target, state)
  const elements = (await operand()) as readonly unknown[]
  if (kind === 'remove') collection.removeEqual(elements)
  else collection.add(elements)
}

async function collectionOf(edits: ElementEdits, target: TargetPlan, state: ObjectState): Promise<EditedCollection> {
  const collection = await edits.of(target, state)
  collection.target = target
  return collection
}

/** The attributes from an element down to the target; none if the element itself is the target. */
export function fieldsWithin({ within }: TargetPlan, formats: FormatsByNumber): readonly AttributeFormat[] {
  return within.map(({ cls, number }) => formats.byNumber(cls.number).attribute(number))
}

interface FormatsByNumber {
  byNumber(number: ClassFormat['cls']['number']): ClassFormat
}

function withField(
  value: unknown,
  [field, ...rest]: readonly AttributeFormat[],
  change: (current: unknown) => unknown,
): unknown {
  if (field === undefined) return change(value)
  const values = value as readonly unknown[]
  return values.with(field.index, withField(values[field.index], rest, change))
}

/** Throws ValueError. */
function keyChange({ codec }: AttributeFormat, key: unknown, value: unknown): ValueChange {
  return { kind: 'putPairs', pairs: codec.accept([{ key, value }]) as readonly MapPair[] }
}

function clearedElement(
  { attribute, inner }: TargetPlan,
  { codec }: AttributeFormat,
  formats: FormatsByNumber,
): unknown {
  const { type } = inner.at(-1) ?? attribute
  const element = isMany(type) ? type.element : type
  if (isReference(element)) return noOid
  if (element.kind === 'embedded') return formats.byNumber(element.cls.number).defaultValues().values
  assert(isScalarType(element), 'elements are scalars, references or embedded objects')
  return (codec.accept([widestCodec(element).defaultValue]) as readonly unknown[])[0]
}
