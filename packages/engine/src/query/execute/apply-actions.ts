/** SET, CLEAR, ADD and REMOVE carried out on one object, with the same checks as PUT /v1/object. */
import { applyAttributes } from '../../objects/apply-attributes.ts'
import type { ObjectState } from '../../records/working-set.ts'
import type { Oid } from '../../types/oid.ts'
import type { ActionPlan } from '../plan/plan-change.ts'
import { atPlace } from '../query-error.ts'
import { isMany, type ValueType } from '../values/value-type.ts'
import type { ActionValues } from './action-values.ts'
import { attributeJson, bodyFor, type Changing, eachJson, elementsJson } from './change-values.ts'
import { changeWithin, clearElements, setElements, withoutElement } from './changed-elements.ts'

export async function applyAction(changing: Changing, action: ActionPlan, values: ActionValues): Promise<void> {
  const { changes, text } = changing
  await changes.objects.loadAll(values.owners)
  await atPlace(
    text,
    () => action.target.span,
    async () => {
      for (const oid of values.owners) await applyTo(changing, action, values, oid)
    },
  )
}

async function applyTo(changing: Changing, action: ActionPlan, values: ActionValues, oid: Oid): Promise<void> {
  const { changes } = changing
  const state = changes.objects.known(oid)
  if (state === undefined) {
    changes.expectNoObject(oid)
    return
  }
  const json = await jsonFor(changing, action, values, state)
  if (json === undefined) return
  const { attribute, inner } = action.target
  await applyAttributes(changes, state, bodyFor([attribute, ...inner], json))
}

/** What a request body would say for the attribute; undefined where there is nothing to change. */
async function jsonFor(
  changing: Changing,
  action: ActionPlan,
  values: ActionValues,
  state: ObjectState,
): Promise<unknown> {
  const { target } = action
  const type = (target.inner.at(-1) ?? target.attribute).type
  switch (action.kind) {
    case 'set':
      if (values.elements !== undefined) return setElements(changing, action, values, values.elements, state)
      return isMany(type) && action.values.length > 1
        ? eachJson(changing, action.values, values.values)
        : wholeJson(changing, action.values, values.values, type)
    case 'clear':
      return values.elements === undefined ? null : clearElements(changing, target, values.elements, state)
    case 'add':
      if (values.elements !== undefined) return changeWithin(changing, action, values, values.elements, state)
      return addJson(changing, action, values, type)
    case 'remove':
      if (values.elements !== undefined) return changeWithin(changing, action, values, values.elements, state)
      return { action: 'remove', elements: await eachJson(changing, action.elements, values.values) }
    case 'removeAt':
      return withoutElement(changing, target, values.elements, state)
  }
}

async function wholeJson(
  changing: Changing,
  plans: readonly { readonly type: ValueType }[],
  values: readonly unknown[],
  target: ValueType,
): Promise<unknown> {
  const type = plans[0]?.type ?? target
  const json = await attributeJson(changing, type.kind === 'null' ? target : type, values[0])
  // An embedded value that is set replaces the one that was there; given as a body it would only be merged.
  return target.kind === 'embedded' && json !== null ? { action: 'override', ...(json as object) } : json
}

async function addJson(
  changing: Changing,
  action: Extract<ActionPlan, { kind: 'add' }>,
  values: ActionValues,
  type: ValueType,
): Promise<unknown> {
  if (type.kind !== 'map') return { action: 'add', elements: await eachJson(changing, action.elements, values.values) }
  const pairs: unknown[] = []
  for (const [i, { key, value }] of action.pairs.entries()) {
    const given = values.pairs[i]
    const [keyJson] = await elementsJson(changing, key.type, given?.key ?? null)
    const [valueJson] = await elementsJson(changing, value.type, given?.value ?? null)
    pairs.push({ key: keyJson, value: valueJson })
  }
  for (const [i, { type: given }] of action.elements.entries()) {
    const whole = (await attributeJson(changing, given, values.values[i])) as { pairs: unknown[] } | null
    for (const pair of whole?.pairs ?? []) pairs.push(pair)
  }
  return { action: 'add', pairs }
}
