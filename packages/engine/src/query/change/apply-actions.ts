/** Applies SET, CLEAR, ADD and REMOVE to one object, with the same checks as an update by a request. */
import { applyChanges } from '../../objects/apply-changes.ts'
import type { ValueChange } from '../../records/attribute-change.ts'
import { changeAt, formatAt } from '../../records/attribute-path.ts'
import type { AttributeFormat } from '../../records/class-format.ts'
import { creationValue } from '../../records/creation-value.ts'
import type { Catalog } from '../../schema/catalog.ts'
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import type { MapPair } from '../../types/map.ts'
import { noOid } from '../../types/oid.ts'
import type { UnitOfWork } from '../../write/unit-of-work.ts'
import type { ObjectState } from '../../write/working-set.ts'
import { placed } from '../language/query-error.ts'
import { isMany, type ValueType } from '../values/value-type.ts'
import type { ActionValues, ElementChoice } from './action-values.ts'
import {
  acceptedElements,
  acceptedValue,
  type ChangeContext,
  errorOfAttribute,
  holdsNewObject,
  materializeNewObjects,
  valueChange,
} from './change-values.ts'
import {
  changeEdited,
  changeWithin,
  clearElements,
  fieldsWithin,
  type Operand,
  removeElement,
  setElements,
} from './changed-elements.ts'
import { attributesOfTarget, ElementEdits } from './element-edits.ts'
import type { ActionPlan, TargetPlan } from './plan-change.ts'

/** `evaluated`: the evaluated operands of each action. */
export async function applyActions(
  changeContext: ChangeContext,
  actions: readonly ActionPlan[],
  evaluated: readonly ActionValues[],
): Promise<void> {
  const edits = new ElementEdits(changeContext)
  for (const [i, action] of actions.entries()) {
    const { target } = action
    try {
      await applyAction(changeContext, edits, action, evaluated[i] as ActionValues)
    } catch (error) {
      throw placed(
        changeContext.text,
        target.span,
        errorOfAttribute(error, target.attribute.cls.name, attributesOfTarget(target)),
      )
    }
  }
  await edits.apply()
}

async function applyAction(
  changeContext: ChangeContext,
  edits: ElementEdits,
  action: ActionPlan,
  values: ActionValues,
): Promise<void> {
  const { unit } = changeContext
  await unit.objects.loadAll(values.owners)
  const operand = once(() => operandOf(changeContext, action, values))
  for (const oid of values.owners) {
    const state = unit.objects.loaded(oid)
    if (state === undefined) {
      unit.requireNoObject(oid)
      continue
    }
    const found = changeFor(edits, action, values.elements, operand, state, unit)
    const change = found instanceof Promise ? await found : found
    if (change !== undefined) {
      await applyChanges(unit, state, [
        changeAt(unit.commandFormatOf(state), attributesOfTarget(action.target), change),
      ])
    }
  }
}

function once(make: Operand): Operand {
  let made: { readonly value: Awaitable<unknown> } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** The change of the attribute; undefined if there is none, or if `edits` holds it. */
function changeFor(
  edits: ElementEdits,
  action: ActionPlan,
  choice: ElementChoice | undefined,
  operand: Operand,
  state: ObjectState,
  unit: UnitOfWork,
): Awaitable<ValueChange | undefined> {
  const { target } = action
  switch (action.kind) {
    case 'set':
      if (choice === undefined) return operand() as Awaitable<ValueChange>
      return setElements(action, { edits, choice, operand, state, unit })
    case 'clear':
      if (choice !== undefined) return clearElements(target, { edits, choice, operand, state, unit })
      return { kind: 'set', value: creationValue(formatAt(unit.commandFormatOf(state), attributesOfTarget(target))) }
    case 'add':
    case 'remove': {
      if (choice !== undefined) return changeWithin(action, { edits, choice, operand, state, unit })
      if (action.isEdited) return changeEdited(edits, action, operand, state)
      return mapAwaitable(operand(), (made) => collectionChange(action, made))
    }
    case 'removeAt':
      return removeElement(edits, target, choice, state)
  }
}

function collectionChange(
  { kind, target }: Extract<ActionPlan, { kind: 'add' | 'remove' }>,
  operand: unknown,
): ValueChange {
  if (target.type.kind !== 'map') return { kind, elements: operand as readonly unknown[] }
  return kind === 'add'
    ? { kind: 'putPairs', pairs: operand as readonly MapPair[] }
    : { kind: 'removeKeys', keys: operand as readonly unknown[] }
}

/** The operand of an action in the attribute's representation. Creates new objects; synchronous without any. Throws ValueError. */
function operandOf(changeContext: ChangeContext, action: ActionPlan, evaluated: ActionValues): Awaitable<unknown> {
  const { values, pairs } = evaluated
  if (!holdsNewObject(values) && !holdsNewObject(pairs)) return acceptedOperand(changeContext, action, evaluated)
  const made = async (): Promise<ActionValues> => ({
    ...evaluated,
    values: (await materializeNewObjects(changeContext, values)) as readonly unknown[],
    pairs: (await materializeNewObjects(changeContext, pairs)) as readonly MapPair[],
  })
  return made().then((plain) => acceptedOperand(changeContext, action, plain))
}

/** A change of a whole attribute, or a value for elements, elements, pairs or keys. Throws ValueError. */
function acceptedOperand({ unit }: ChangeContext, action: ActionPlan, evaluated: ActionValues): unknown {
  const { target } = action
  const { commandCatalog: catalog } = unit
  const format = targetFormat(unit, target)
  switch (action.kind) {
    case 'set': {
      const { type } = action.value
      const [value] = evaluated.values
      if (action.isSpread) return editedElements(format, type, value, catalog)
      if (target.elements === undefined) return valueChange(format, type, value, catalog)
      if (target.within.length > 0) return acceptedValue(format.codec, type, value, catalog)
      // The value of a key is checked together with its key.
      return target.elements.kind === 'key'
        ? value
        : editedElements(format, { kind: 'collection', form: 'list', element: type }, [value], catalog)[0]
    }
    case 'add':
      if (target.type.kind === 'map') return operandPairs(action, format, evaluated, catalog)
      return operandElements(action, format, evaluated, catalog)
    case 'remove':
      if (target.type.kind === 'map') return operandKeys(action, format, evaluated)
      return operandElements(action, format, evaluated, catalog)
    default:
      return undefined
  }
}

/** The format of the target attribute, perhaps within elements, or of the collection whose elements are selected. */
function targetFormat({ commandFormats }: UnitOfWork, target: TargetPlan): AttributeFormat {
  const within = fieldsWithin(target, commandFormats).at(-1)
  return within ?? formatAt(commandFormats.byNumber(target.attribute.cls.number), attributesOfTarget(target))
}

/** In a set whose elements are selected, a null reference may be assigned: it removes the element. */
function editedElements(
  { codec, attribute }: AttributeFormat,
  type: ValueType,
  value: unknown,
  catalog: Catalog,
): readonly unknown[] {
  if (attribute.spec.logicalType !== 'set') return acceptedElements(codec, type, value, catalog)
  const elements = (isMany(type) ? (value ?? []) : [value]) as readonly unknown[]
  return elements.map((element) => element ?? noOid)
}

function operandElements(
  { elements: plans, isEdited }: Extract<ActionPlan, { kind: 'add' | 'remove' }>,
  format: AttributeFormat,
  { values }: ActionValues,
  catalog: Catalog,
): unknown[] {
  const elements: unknown[] = []
  for (const [i, { type }] of plans.entries()) {
    const accepted = isEdited
      ? editedElements(format, type, values[i], catalog)
      : acceptedElements(format.codec, type, values[i], catalog)
    for (const element of accepted) elements.push(element)
  }
  return elements
}

function operandPairs(
  action: Extract<ActionPlan, { kind: 'add' }>,
  { codec }: AttributeFormat,
  { values, pairs: operand }: ActionValues,
  catalog: Catalog,
): readonly unknown[] {
  const pairs: MapPair[] = [...operand]
  for (const [i, { type }] of action.elements.entries()) {
    for (const pair of acceptedValue(codec, type, values[i], catalog) as readonly MapPair[]) pairs.push(pair)
  }
  return codec.accept(pairs) as readonly unknown[]
}

/** Converted as pairs without values, since the codec of a map has no other access to its keys. */
function operandKeys(
  { elements }: Extract<ActionPlan, { kind: 'remove' }>,
  { codec }: AttributeFormat,
  { values }: ActionValues,
): readonly unknown[] {
  const keys: unknown[] = []
  for (const [i, { type }] of elements.entries()) {
    const operand = type.kind === 'collection' ? ((values[i] ?? []) as readonly unknown[]) : [values[i]]
    for (const key of operand) keys.push(key)
  }
  return (codec.accept(keys.map((key) => ({ key, value: null }))) as readonly MapPair[]).map(({ key }) => key)
}
