/** SET, CLEAR, ADD and REMOVE carried out on one object, with the same checks as PUT /v1/object. */
import { applyChanges } from '../../objects/apply-changes.ts'
import type { MapPair, ValueChange } from '../../records/attribute-change.ts'
import { changeAt, formatAt } from '../../records/attribute-path.ts'
import type { AttributeFormat } from '../../records/class-format.ts'
import { noOid } from '../../types/oid.ts'
import type { ObjectState } from '../../write/working-set.ts'
import type { ActionPlan, TargetPlan } from '../plan/plan-change.ts'
import { atPlace } from '../query-error.ts'
import { isMany, type ValueType } from '../values/value-type.ts'
import type { ActionValues } from './action-values.ts'
import {
  acceptedElements,
  acceptedValue,
  type Changing,
  ofAttribute,
  valueChange,
  withoutNewObjects,
} from './change-values.ts'
import {
  changeEdited,
  changeWithin,
  clearElements,
  fieldsWithin,
  type Given,
  removeElement,
  setElements,
} from './changed-elements.ts'
import { ElementEdits, pathOf } from './element-edits.ts'

/** `worked`: what was worked out for each action. */
export async function applyActions(
  changing: Changing,
  actions: readonly ActionPlan[],
  worked: readonly ActionValues[],
): Promise<void> {
  const edits = new ElementEdits(changing)
  const { unit, text } = changing
  for (const [i, action] of actions.entries()) {
    const values = worked[i] as ActionValues
    const { target } = action
    await unit.objects.loadAll(values.owners)
    const given = once(() => givenValue(changing, action, values))
    const apply = async (): Promise<void> => {
      for (const oid of values.owners) {
        const state = unit.objects.known(oid)
        if (state === undefined) unit.expectNoObject(oid)
        else await applyTo(changing, edits, action, values, given, state)
      }
    }
    await atPlace(
      text,
      () => target.span,
      () => ofAttribute(target.attribute.cls.name, pathOf(target), apply),
    )
  }
  await edits.apply()
}

function once(make: Given): Given {
  let made: Promise<unknown> | undefined
  return () => {
    made ??= make()
    return made
  }
}

async function applyTo(
  changing: Changing,
  edits: ElementEdits,
  action: ActionPlan,
  values: ActionValues,
  given: Given,
  state: ObjectState,
): Promise<void> {
  const { unit } = changing
  const change = await changeFor(edits, action, values, given, state, changing)
  if (change !== undefined) {
    await applyChanges(unit, state, [changeAt(state.format, pathOf(action.target), change)])
  }
}

/** What is done to the attribute; undefined where there is nothing to change, or elements only. */
async function changeFor(
  edits: ElementEdits,
  action: ActionPlan,
  { elements: choice }: ActionValues,
  given: Given,
  state: ObjectState,
  { unit }: Changing,
): Promise<ValueChange | undefined> {
  const { target } = action
  switch (action.kind) {
    case 'set':
      if (choice === undefined) return (await given()) as ValueChange
      return setElements(edits, action, choice, given, state, unit)
    case 'clear':
      if (choice !== undefined) return clearElements(edits, target, choice, state, unit)
      return { kind: 'set', value: formatAt(state.format, pathOf(target)).codec.defaultValue }
    case 'add':
    case 'remove': {
      if (choice !== undefined) {
        await changeWithin(edits, action, choice, given, state, unit)
        return undefined
      }
      if (action.isOfEdited) {
        await changeEdited(edits, action, given, state)
        return undefined
      }
      return collectionChange(action, await given())
    }
    case 'removeAt':
      await removeElement(edits, target, choice, state)
      return undefined
  }
}

function collectionChange(
  { kind, target }: Extract<ActionPlan, { kind: 'add' | 'remove' }>,
  given: unknown,
): ValueChange {
  if (target.type.kind !== 'map') return { kind, elements: given as readonly unknown[] }
  return kind === 'add'
    ? { kind: 'putPairs', pairs: given as readonly MapPair[] }
    : { kind: 'removeKeys', keys: given as readonly unknown[] }
}

/**
 * What an action gives, as the attribute keeps it: the change of a whole attribute, the value for elements, elements, pairs or
 * keys. New objects are created here. Throws ValueError.
 */
async function givenValue(changing: Changing, action: ActionPlan, worked: ActionValues): Promise<unknown> {
  const { target } = action
  const format = targetFormat(changing, target)
  switch (action.kind) {
    case 'set': {
      const { type } = action.value
      const [value] = worked.values
      if (action.isSpread) return editedElements(changing, format, type, value)
      if (target.elements === undefined) return valueChange(changing, format, type, value)
      return target.within.length > 0
        ? acceptedValue(changing, format.codec, type, value)
        : elementValue(changing, action, format, value)
    }
    case 'add':
      if (target.type.kind === 'map') return givenPairs(changing, action, format, worked)
      return givenElements(changing, action, format, worked)
    case 'remove':
      if (target.type.kind === 'map') return givenKeys(changing, action, format, worked)
      return givenElements(changing, action, format, worked)
    default:
      return undefined
  }
}

/** Of the attribute that is meant, within chosen elements or not, or of the collection that has them. */
function targetFormat({ unit }: Changing, target: TargetPlan): AttributeFormat {
  const { formats } = unit.objects
  const within = fieldsWithin(target, formats).at(-1)
  return within ?? formatAt(formats.byNumber(target.attribute.cls.number), pathOf(target))
}

/** For a key of a map, or for each of the chosen elements. */
async function elementValue(
  changing: Changing,
  { target, value: { type } }: Extract<ActionPlan, { kind: 'set' }>,
  format: AttributeFormat,
  value: unknown,
): Promise<unknown> {
  if (target.elements?.kind === 'key') return withoutNewObjects(changing, value)
  const list = { kind: 'collection', form: 'list', element: type } as const
  return (await editedElements(changing, format, list, [value]))[0]
}

/** Where elements are chosen, a set may be given the reference to nothing: it removes the element. */
async function editedElements(
  changing: Changing,
  { codec, attribute }: AttributeFormat,
  type: ValueType,
  value: unknown,
): Promise<readonly unknown[]> {
  if (attribute.spec.logicalType !== 'set') return acceptedElements(changing, codec, type, value)
  const plain = await withoutNewObjects(changing, isMany(type) ? value : [value])
  return ((plain ?? []) as readonly unknown[]).map((element) => element ?? noOid)
}

async function givenElements(
  changing: Changing,
  { elements: plans, isOfEdited }: Extract<ActionPlan, { kind: 'add' | 'remove' }>,
  format: AttributeFormat,
  { values }: ActionValues,
): Promise<unknown[]> {
  const elements: unknown[] = []
  for (const [i, { type }] of plans.entries()) {
    const accepted = isOfEdited
      ? editedElements(changing, format, type, values[i])
      : acceptedElements(changing, format.codec, type, values[i])
    for (const element of await accepted) elements.push(element)
  }
  return elements
}

async function givenPairs(
  changing: Changing,
  action: Extract<ActionPlan, { kind: 'add' }>,
  { codec }: AttributeFormat,
  { values, pairs: given }: ActionValues,
): Promise<readonly unknown[]> {
  const pairs: MapPair[] = []
  for (const { key, value } of given) pairs.push({ key, value: await withoutNewObjects(changing, value) })
  for (const [i, { type }] of action.elements.entries()) {
    for (const pair of (await acceptedValue(changing, codec, type, values[i])) as readonly MapPair[]) pairs.push(pair)
  }
  return codec.accept(pairs) as readonly unknown[]
}

/** By way of pairs without a value: a map's codec knows its keys. */
async function givenKeys(
  changing: Changing,
  { elements }: Extract<ActionPlan, { kind: 'remove' }>,
  { codec }: AttributeFormat,
  { values }: ActionValues,
): Promise<readonly unknown[]> {
  const keys: unknown[] = []
  for (const [i, { type }] of elements.entries()) {
    const plain = await withoutNewObjects(changing, values[i])
    const given = type.kind === 'collection' ? ((plain ?? []) as readonly unknown[]) : [plain]
    for (const key of given) keys.push(key)
  }
  return (codec.accept(keys.map((key) => ({ key, value: null }))) as readonly MapPair[]).map(({ key }) => key)
}
