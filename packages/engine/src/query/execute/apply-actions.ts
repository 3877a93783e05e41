/** SET, CLEAR, ADD and REMOVE carried out on one object, with the same checks as PUT /v1/object. */
import { AshlarError } from '../../errors.ts'
import { linkHeaderBytes, linkRange } from '../../links/link-keys.ts'
import { applyAttributes } from '../../objects/apply-attributes.ts'
import type { ObjectState } from '../../records/working-set.ts'
import { noOid, type Oid, oidFromBytes } from '../../types/oid.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import type { ActionPlan, ElementsPlan, TargetPlan } from '../plan/plan-change.ts'
import { isNothing } from '../values/compare.ts'
import { toJson } from '../values/value-json.ts'
import { isMany, isReference, type ValueType } from '../values/value-type.ts'
import { attributeJson, bodyFor, type Changing, elementsJson } from './change-values.ts'
import type { Run } from './run.ts'
import { shownKind } from './snapshot-reader.ts'

/** What was worked out for one row and one action, before any object was changed. */
export interface ActionValues {
  /** The objects whose attribute is meant. */
  readonly owners: readonly Oid[]
  readonly values: readonly unknown[]
  readonly pairs: readonly { readonly key: unknown; readonly value: unknown }[]
  readonly elements: ElementChoice | undefined
}

type ElementChoice =
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'key'; readonly key: unknown }
  | { readonly kind: 'slice'; readonly from: number | undefined; readonly to: number | undefined }
  | { readonly kind: 'positions'; readonly positions: readonly number[] }
  /** The index or key is null: there is no such element. */
  | { readonly kind: 'none' }

export function workOut(action: ActionPlan, run: Run, self: Oid): ActionValues {
  const { owners, elements } = action.target
  const held = owners?.(run)
  const found = owners === undefined ? [self] : Array.isArray(held) ? held : [held]
  return {
    owners: [...new Set(found.filter((oid) => !isNothing(oid)))] as Oid[],
    values: valuesOf(action, run),
    pairs:
      action.kind === 'add'
        ? action.pairs.map(({ key, value }) => ({ key: key.evaluate(run), value: value.evaluate(run) }))
        : [],
    elements:
      action.kind === 'removeAt'
        ? indexChoice(action.index(run))
        : elements === undefined
          ? undefined
          : choose(elements, run),
  }
}

function valuesOf(action: ActionPlan, run: Run): unknown[] {
  switch (action.kind) {
    case 'set':
      return action.values.map(({ evaluate }) => evaluate(run) ?? null)
    case 'add':
    case 'remove':
      return action.elements.map(({ evaluate }) => evaluate(run) ?? null)
    default:
      return []
  }
}

function indexChoice(index: unknown): ElementChoice {
  return index === null || index === undefined ? { kind: 'none' } : { kind: 'index', index: Number(index) }
}

function choose(elements: ElementsPlan, run: Run): ElementChoice {
  switch (elements.kind) {
    case 'index':
      return indexChoice(elements.index(run))
    case 'key': {
      const key = elements.key.evaluate(run)
      return key === null || key === undefined ? { kind: 'none' } : { kind: 'key', key }
    }
    case 'slice': {
      const [from, to] = [elements.from?.(run), elements.to?.(run)]
      if (from === null || to === null) return { kind: 'none' }
      return {
        kind: 'slice',
        from: from === undefined ? undefined : Number(from),
        to: to === undefined ? undefined : Number(to),
      }
    }
    case 'positions':
      return { kind: 'positions', positions: elements.positions(run) as readonly number[] }
  }
}

export async function applyAction(changing: Changing, action: ActionPlan, values: ActionValues): Promise<void> {
  const { changes } = changing
  await changes.objects.loadAll(values.owners)
  for (const oid of values.owners) {
    const state = changes.objects.known(oid)
    if (state === undefined) continue
    const json = await jsonFor(changing, action, values, state)
    if (json === undefined) continue
    const { attribute, inner } = action.target
    await applyAttributes(changes, state, bodyFor([attribute, ...inner], json))
  }
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
      return addJson(changing, action, values, type)
    case 'remove':
      return { action: 'remove', elements: await eachJson(changing, action.elements, values.values) }
    case 'removeAt': {
      const present = await presentElements(changing, target, state)
      const at = values.elements?.kind === 'index' ? positionIn(present, values.elements.index) : undefined
      return at === undefined ? undefined : present.toSpliced(at, 1)
    }
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

async function eachJson(
  changing: Changing,
  plans: readonly { readonly type: ValueType }[],
  values: readonly unknown[],
): Promise<unknown[]> {
  const elements: unknown[] = []
  for (const [i, { type }] of plans.entries()) elements.push(...(await elementsJson(changing, type, values[i])))
  return elements
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
    pairs.push(...(whole?.pairs ?? []))
  }
  return { action: 'add', pairs }
}

async function setElements(
  changing: Changing,
  action: Extract<ActionPlan, { kind: 'set' }>,
  { values }: ActionValues,
  choice: ElementChoice,
  state: ObjectState,
): Promise<unknown> {
  if (choice.kind === 'none') return undefined
  const given = await eachJson(changing, action.values, values)
  if (choice.kind === 'key') return keyJson(changing, action.target, choice.key, given[0])
  const present = await presentElements(changing, action.target, state)
  if (choice.kind === 'slice') {
    const { from, to } = rangeIn(present, choice)
    return present.toSpliced(from, to - from, ...given)
  }
  const positions = choice.kind === 'index' ? [checkedPosition(present, choice.index, action.target)] : choice.positions
  return replaced(present, positions, given[0])
}

function keyJson({ changes }: Changing, { attribute }: TargetPlan, key: unknown, value: unknown): unknown {
  if (attribute.type.kind !== 'map') throw new Error('assertion failed: only maps have keys')
  return { action: 'add', pairs: [{ key: toJson(attribute.type.key, key, changes.catalog), value }] }
}

/** To the default of the elements' type; a key of a map then refers to nothing. */
async function clearElements(
  changing: Changing,
  target: TargetPlan,
  choice: ElementChoice,
  state: ObjectState,
): Promise<unknown> {
  if (choice.kind === 'none') return undefined
  if (choice.kind === 'key') return keyJson(changing, target, choice.key, noOid)
  const present = await presentElements(changing, target, state)
  const cleared = clearedElement(target)
  if (choice.kind === 'slice') {
    const { from, to } = rangeIn(present, choice)
    return replaced(
      present,
      Array.from({ length: to - from }, (_, i) => from + i),
      cleared,
    )
  }
  const positions = choice.kind === 'index' ? [checkedPosition(present, choice.index, target)] : choice.positions
  return replaced(present, positions, cleared)
}

function clearedElement({ attribute, inner, text }: TargetPlan): unknown {
  const { type } = inner.at(-1) ?? attribute
  const element = isMany(type) ? type.element : type
  if (isReference(element)) return noOid
  switch (element.kind) {
    case 'boolean':
      return false
    case 'integer':
    case 'real':
      return 0
    case 'string':
      return ''
    case 'embedded':
      return {}
    default:
      throw new AshlarError('QueryError', `The elements of ${text} have no default that they could be cleared to.`)
  }
}

function replaced(present: readonly unknown[], positions: readonly number[], value: unknown): unknown[] {
  const elements = [...present]
  for (const position of positions) elements[position] = value
  return elements
}

function positionIn(elements: readonly unknown[], index: number): number | undefined {
  const position = index < 0 ? elements.length + index : index
  return position >= 0 && position < elements.length ? position : undefined
}

function checkedPosition(elements: readonly unknown[], index: number, { text }: TargetPlan): number {
  const position = positionIn(elements, index)
  if (position !== undefined) return position
  throw new AshlarError('QueryError', `${text}: there is no element ${index} among ${elements.length}.`)
}

function rangeIn(
  { length }: readonly unknown[],
  { from = 0, to = length }: { readonly from: number | undefined; readonly to: number | undefined },
): { from: number; to: number } {
  const inside = (index: number): number => Math.max(0, Math.min(length, index < 0 ? length + index : index))
  return { from: inside(from), to: Math.max(inside(from), inside(to)) }
}

/** The elements that the collection has now, as JSON. */
async function presentElements({ changes }: Changing, target: TargetPlan, state: ObjectState): Promise<unknown[]> {
  const attribute: BoundAttribute = target.inner.at(-1) ?? target.attribute
  const { type } = attribute
  if (type.kind !== 'collection') throw new Error('assertion failed: elements are of a list or set')
  const format = state.format.attribute(target.attribute.number)
  if (format.linkForm !== undefined) {
    const range = linkRange(state.oid, target.attribute.number, shownKind(format))
    const entries = (await changes.transaction.read([], [range])).ranges[0] ?? []
    return entries.map(({ key, value }) =>
      format.linkForm === 'set' ? oidFromBytes(key, linkHeaderBytes) : oidFromBytes(value, 0),
    )
  }
  let held: unknown = state.values[format.index]
  for (const { index } of target.inner) held = (held as readonly unknown[])[index]
  return ((held ?? []) as readonly unknown[]).map((element) => toJson(type.element, element, changes.catalog))
}
