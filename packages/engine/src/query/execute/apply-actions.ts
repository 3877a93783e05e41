/** SET, CLEAR, ADD and REMOVE carried out on one object, with the same checks as PUT /v1/object. */
import { applyAttributes } from '../../objects/apply-attributes.ts'
import type { ObjectState } from '../../write/working-set.ts'
import type { ActionPlan } from '../plan/plan-change.ts'
import { atPlace } from '../query-error.ts'
import { isMany, type ValueType } from '../values/value-type.ts'
import type { ActionValues } from './action-values.ts'
import { attributeJson, bodyFor, type Changing, eachJson, elementsJson } from './change-values.ts'
import {
  changeEdited,
  changeWithin,
  clearElements,
  clearedJson,
  type Given,
  removeElement,
  setElements,
} from './changed-elements.ts'
import { ElementEdits } from './element-edits.ts'

/** `worked`: what was worked out for each action. */
export async function applyActions(
  changing: Changing,
  actions: readonly ActionPlan[],
  worked: readonly ActionValues[],
): Promise<void> {
  const edits = new ElementEdits(changing)
  for (const [i, action] of actions.entries()) {
    const values = worked[i] as ActionValues
    const { unit, text } = changing
    await unit.objects.loadAll(values.owners)
    const given = once(() => givenJson(changing, action, values))
    await atPlace(
      text,
      () => action.target.span,
      async () => {
        for (const oid of values.owners) {
          const state = unit.objects.known(oid)
          if (state === undefined) unit.expectNoObject(oid)
          else await applyTo(changing, edits, action, values, given, state)
        }
      },
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
  const json = await jsonFor(edits, action, values, given, state, changing)
  if (json === undefined) return
  const { attribute, inner } = action.target
  await applyAttributes(unit, state, bodyFor([attribute, ...inner], json))
}

/** What a request body would say for the attribute; undefined where there is nothing to change, or elements only. */
async function jsonFor(
  edits: ElementEdits,
  action: ActionPlan,
  { elements: choice }: ActionValues,
  given: Given,
  state: ObjectState,
  { unit: { catalog } }: Changing,
): Promise<unknown> {
  const { target } = action
  switch (action.kind) {
    case 'set':
      return choice === undefined ? given() : setElements(edits, action, choice, given, state, catalog)
    case 'clear':
      if (choice !== undefined) return clearElements(edits, target, choice, state, catalog)
      return clearedJson((target.inner.at(-1) ?? target.attribute).type, catalog)
    case 'add':
    case 'remove': {
      if (choice !== undefined) return changeWithin(edits, action, choice, given, state)
      if (action.isOfEdited) return changeEdited(edits, action, given, state)
      const json = await given()
      return action.kind === 'add' && target.type.kind === 'map'
        ? { action: 'add', pairs: json }
        : { action: action.kind, elements: json }
    }
    case 'removeAt':
      return removeElement(edits, target, choice, state)
  }
}

/** What an action gives: a value, the elements of one, or pairs. New objects are created here. */
async function givenJson(changing: Changing, action: ActionPlan, { values, pairs }: ActionValues): Promise<unknown> {
  switch (action.kind) {
    case 'set':
      if (action.isSpread) return elementsJson(changing, action.value.type, values[0])
      return setJson(changing, action, values[0])
    case 'add':
      if (action.target.type.kind === 'map') return pairsJson(changing, action, values, pairs)
      return eachJson(changing, action.elements, values)
    case 'remove':
      return eachJson(changing, action.elements, values)
    default:
      return undefined
  }
}

async function setJson(
  changing: Changing,
  { target, value: { type } }: Extract<ActionPlan, { kind: 'set' }>,
  value: unknown,
): Promise<unknown> {
  const wanted = setType(target.type, target.elements?.kind === 'slice' && target.within.length === 0)
  const json = await attributeJson(changing, type.kind === 'null' ? wanted : type, value)
  if (wanted.kind !== 'embedded' || target.elements !== undefined || json === null) return json
  // An embedded value that is set replaces the one that was there; given as a body it would only be merged.
  return { action: 'override', ...(json as object) }
}

/** A range has the type of its collection; what is given to each of its elements has theirs. */
function setType(type: ValueType, isEach: boolean): ValueType {
  return isEach && isMany(type) ? type.element : type
}

async function pairsJson(
  changing: Changing,
  action: Extract<ActionPlan, { kind: 'add' }>,
  values: readonly unknown[],
  given: ActionValues['pairs'],
): Promise<unknown[]> {
  const pairs: unknown[] = []
  for (const [i, { key, value }] of action.pairs.entries()) {
    const [keyJson] = await elementsJson(changing, key.type, given[i]?.key ?? null)
    const [valueJson] = await elementsJson(changing, value.type, given[i]?.value ?? null)
    pairs.push({ key: keyJson, value: valueJson })
  }
  for (const [i, { type }] of action.elements.entries()) {
    const whole = (await attributeJson(changing, type, values[i])) as { pairs: unknown[] } | null
    for (const pair of whole?.pairs ?? []) pairs.push(pair)
  }
  return pairs
}
