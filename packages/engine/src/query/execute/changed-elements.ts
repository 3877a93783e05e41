/** Elements of a collection that are set, cleared, added or removed (DO, section 4). */
import { AshlarError, assert } from '../../errors.ts'
import type { Catalog } from '../../schema/catalog.ts'
import { noOid } from '../../types/oid.ts'
import type { ObjectState } from '../../write/working-set.ts'
import type { ActionPlan, TargetPlan } from '../plan/plan-change.ts'
import { scalarCodec, toJson } from '../values/value-json.ts'
import { isMany, isReference, isScalar, type ValueType } from '../values/value-type.ts'
import type { ElementChoice } from './action-values.ts'
import { type ElementEdits, isPaired, without } from './element-edits.ts'

/** The value that is given, as JSON: made once for all objects and elements that get it, and only where there is one. */
export type Given = () => Promise<unknown>

/** Returns what a request body would say, where that is all there is to do. */
export async function setElements(
  edits: ElementEdits,
  action: Extract<ActionPlan, { kind: 'set' }>,
  choice: ElementChoice,
  given: Given,
  state: ObjectState,
  catalog: Catalog,
): Promise<unknown> {
  const { target, isSpread } = action
  if (choice.kind === 'none') return undefined
  if (choice.kind === 'key') return keyJson(target, choice.key, await given(), catalog)
  const collection = await edits.of(target, state)
  collection.target = target
  if (isSpread) {
    assert(choice.kind === 'slice', 'a range is replaced')
    collection.replace(choice, (await given()) as readonly unknown[])
    return undefined
  }
  const places = collection.places(choice)
  if (places.length === 0) return undefined
  const json = await given()
  collection.change(places, (element) => withField(element, namesWithin(target), () => json))
  return undefined
}

/** To the default of the elements' type; elements that a bidirectional link has are removed. */
export async function clearElements(
  edits: ElementEdits,
  target: TargetPlan,
  choice: ElementChoice,
  state: ObjectState,
  catalog: Catalog,
): Promise<unknown> {
  if (choice.kind === 'none') return undefined
  if (choice.kind === 'key') return choice.isHeld ? keyJson(target, choice.key, noOid, catalog) : undefined
  const collection = await edits.of(target, state)
  collection.target = target
  const places = collection.places(choice)
  if (target.within.length === 0 && isPaired(target)) collection.remove(places)
  else {
    const last = target.within.at(-1)
    const cleared = last === undefined ? clearedElement(target, catalog) : clearedJson(last.type, catalog)
    collection.change(places, (element) => withField(element, namesWithin(target), () => cleared))
  }
  return undefined
}

/** ADD to and REMOVE from a list or set that an element has. */
export async function changeWithin(
  edits: ElementEdits,
  action: Extract<ActionPlan, { kind: 'add' | 'remove' }>,
  choice: ElementChoice,
  given: Given,
  state: ObjectState,
): Promise<void> {
  const { target, kind } = action
  if (choice.kind !== 'index') return
  const collection = await edits.of(target, state)
  collection.target = target
  const places = collection.places(choice)
  if (places.length === 0) {
    throw new AshlarError(
      'QueryError',
      `${target.text}: there is no element ${choice.index} among ${collection.length}.`,
    )
  }
  const elements = (await given()) as readonly unknown[]
  const isOfSet = target.type.kind === 'collection' && target.type.form === 'set'
  const change = (held: unknown): unknown => {
    const present = (held ?? []) as readonly unknown[]
    if (kind === 'remove') return without(present, elements)
    return [...present, ...(isOfSet ? without(elements, present) : elements)]
  }
  collection.change(places, (element) => withField(element, namesWithin(target), change))
}

/** REMOVE list[i] FROM list. */
export async function removeElement(
  edits: ElementEdits,
  target: TargetPlan,
  choice: ElementChoice | undefined,
  state: ObjectState,
): Promise<void> {
  if (choice?.kind !== 'index') return
  const collection = await edits.of(target, state)
  collection.target = target
  collection.remove(collection.places(choice))
}

/** ADD to and REMOVE from a collection of which other actions of the statement choose elements. */
export async function changeEdited(
  edits: ElementEdits,
  action: Extract<ActionPlan, { kind: 'add' | 'remove' }>,
  given: Given,
  state: ObjectState,
): Promise<void> {
  const { target, kind } = action
  const collection = await edits.of(target, state)
  collection.target = target
  const elements = (await given()) as readonly unknown[]
  if (kind === 'remove') collection.removeEqual(elements)
  else collection.add(elements)
}

function namesWithin({ within }: TargetPlan): readonly string[] {
  return within.map(({ name }) => name)
}

function withField(json: unknown, [name, ...rest]: readonly string[], change: (held: unknown) => unknown): unknown {
  if (name === undefined) return change(json)
  const object = (json ?? {}) as Record<string, unknown>
  return { ...object, [name]: withField(object[name], rest, change) }
}

function keyJson({ attribute, inner }: TargetPlan, key: unknown, value: unknown, catalog: Catalog): unknown {
  const { type } = inner.at(-1) ?? attribute
  assert(type.kind === 'map', 'only maps have keys')
  return { action: 'add', pairs: [{ key: toJson(type.key, key, catalog), value }] }
}

/** What CLEAR makes of an attribute: the default of its type (REST interface, section 3), as a request body says it. */
export function clearedJson(type: ValueType, catalog: Catalog): unknown {
  // Of all others null is the default: empty, an object of its defaults, or no object.
  return isScalar(type) ? toJson(type, scalarCodec(type).defaultValue, catalog) : null
}

function clearedElement({ attribute, inner }: TargetPlan, catalog: Catalog): unknown {
  const { type } = inner.at(-1) ?? attribute
  const element = isMany(type) ? type.element : type
  if (isReference(element)) return noOid
  return element.kind === 'embedded' ? {} : clearedJson(element, catalog)
}
