/** Elements of a collection that are set, cleared or removed: the collection as it is afterwards, as a request body. */
import { AshlarError, assert, unreachable } from '../../errors.ts'
import { readAndExpectLinks } from '../../links/attribute-links.ts'
import type { ObjectState } from '../../records/working-set.ts'
import { noOid } from '../../types/oid.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import type { ActionPlan, TargetPlan } from '../plan/plan-change.ts'
import { toJson } from '../values/value-json.ts'
import { isMany, isReference } from '../values/value-type.ts'
import type { ActionValues, ElementChoice } from './action-values.ts'
import { attributeJson, type Changing, eachJson } from './change-values.ts'

export async function setElements(
  changing: Changing,
  action: Extract<ActionPlan, { kind: 'set' }>,
  { values }: ActionValues,
  choice: ElementChoice,
  state: ObjectState,
): Promise<unknown> {
  const { target } = action
  if (choice.kind === 'none') return undefined
  if (target.within.length > 0) {
    const isList = isMany(target.type) && action.values.length > 1
    const type = action.values[0]?.type ?? target.type
    const json = isList
      ? await eachJson(changing, action.values, values)
      : await attributeJson(changing, type.kind === 'null' ? target.type : type, values[0])
    return fieldsChanged(changing, target, choice, state, () => json)
  }
  const given = await eachJson(changing, action.values, values)
  if (choice.kind === 'key') return keyJson(changing, target, choice.key, given[0])
  const present = await presentElements(changing, target, state)
  if (choice.kind === 'slice') {
    const { from, to } = rangeIn(present, choice)
    return [...present.slice(0, from), ...given, ...present.slice(to)]
  }
  return replaced(present, positionsIn(present, choice, target), () => given[0])
}

/** To the default of the elements' type; a key of a map then refers to nothing. */
export async function clearElements(
  changing: Changing,
  target: TargetPlan,
  choice: ElementChoice,
  state: ObjectState,
): Promise<unknown> {
  if (choice.kind === 'none') return undefined
  if (target.within.length > 0) return fieldsChanged(changing, target, choice, state, () => null)
  if (choice.kind === 'key') return keyJson(changing, target, choice.key, noOid)
  const present = await presentElements(changing, target, state)
  const cleared = clearedElement(target)
  return replaced(present, positionsIn(present, choice, target), () => cleared)
}

/** ADD to and REMOVE from a list or set that an element has. */
export async function changeWithin(
  changing: Changing,
  action: Extract<ActionPlan, { kind: 'add' | 'remove' }>,
  { values }: ActionValues,
  choice: ElementChoice,
  state: ObjectState,
): Promise<unknown> {
  if (choice.kind === 'none') return undefined
  const { target } = action
  const given = await eachJson(changing, action.elements, values)
  const isSet = target.type.kind === 'collection' && target.type.form === 'set'
  return fieldsChanged(changing, target, choice, state, (held) => {
    const elements = (held ?? []) as readonly unknown[]
    if (action.kind === 'remove') return without(elements, given)
    return [...elements, ...(isSet ? without(given, elements) : given)]
  })
}

/** REMOVE list[i] FROM list; undefined where there is no such element. */
export async function withoutElement(
  changing: Changing,
  target: TargetPlan,
  choice: ElementChoice | undefined,
  state: ObjectState,
): Promise<unknown> {
  const present = await presentElements(changing, target, state)
  const at = choice?.kind === 'index' ? positionIn(present, choice.index) : undefined
  return at === undefined ? undefined : present.toSpliced(at, 1)
}

/** Those of `elements` that are not among `others`: each is looked at once. */
function without(elements: readonly unknown[], others: readonly unknown[]): unknown[] {
  const forms = new Set(others.map(formOf))
  return elements.filter((element) => !forms.has(formOf(element)))
}

/** The same text for the same JSON: whatever the order of names, and whole numbers of either kind (2 is 2n, and 0 is -0). */
function formOf(json: unknown): string {
  if (typeof json === 'bigint') return String(json)
  if (typeof json === 'number') return Number.isInteger(json) ? String(BigInt(json)) : String(json)
  if (Array.isArray(json)) return `[${json.map(formOf).join()}]`
  if (typeof json !== 'object' || json === null) return JSON.stringify(json) ?? ''
  const fields = Object.entries(json).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${formOf(value)}`).join()}}`
}

/** The collection with one attribute of the chosen elements changed. */
async function fieldsChanged(
  changing: Changing,
  target: TargetPlan,
  choice: ElementChoice,
  state: ObjectState,
  change: (held: unknown) => unknown,
): Promise<unknown> {
  const present = await presentElements(changing, target, state)
  const names = target.within.map(({ name }) => name)
  return replaced(present, positionsIn(present, choice, target), (element) => withField(element, names, change))
}

function withField(json: unknown, [name, ...rest]: readonly string[], change: (held: unknown) => unknown): unknown {
  if (name === undefined) return change(json)
  const object = (json ?? {}) as Record<string, unknown>
  return { ...object, [name]: withField(object[name], rest, change) }
}

function keyJson({ changes }: Changing, { attribute }: TargetPlan, key: unknown, value: unknown): unknown {
  assert(attribute.type.kind === 'map', 'only maps have keys')
  return { action: 'add', pairs: [{ key: toJson(attribute.type.key, key, changes.catalog), value }] }
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

function replaced(
  present: readonly unknown[],
  positions: readonly number[],
  change: (element: unknown) => unknown,
): unknown[] {
  const elements = [...present]
  for (const position of positions) elements[position] = change(present[position])
  return elements
}

function positionsIn(present: readonly unknown[], choice: ElementChoice, target: TargetPlan): readonly number[] {
  switch (choice.kind) {
    case 'index':
      return [checkedPosition(present, choice.index, target)]
    case 'slice': {
      const { from, to } = rangeIn(present, choice)
      return Array.from({ length: to - from }, (_, i) => from + i)
    }
    case 'positions':
      return choice.positions
    default:
      unreachable('elements are chosen by place')
  }
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
  assert(type.kind === 'collection', 'elements are of a list or set')
  const format = state.format.attribute(target.attribute.number)
  if (format.linkForm !== undefined) {
    changes.expectUnchanged(state)
    return (await readAndExpectLinks(changes.transaction, state.oid, format)).map(({ target: element }) => element)
  }
  let held: unknown = state.values[format.index]
  for (const { index } of target.inner) held = (held as readonly unknown[])[index]
  return ((held ?? []) as readonly unknown[]).map((element) => toJson(type.element, element, changes.catalog))
}
