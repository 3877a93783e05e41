/**
 * What one updated object's actions do to elements: each collection is read once, every action chooses among the elements that it had
 * before the statement, and what becomes of it is given to its object once, when all actions are done.
 */
import { assert, unreachable } from '../../errors.ts'
import { readAndExpectLinks } from '../../links/attribute-links.ts'
import { applyAttributes } from '../../objects/apply-attributes.ts'
import { noOid } from '../../types/oid.ts'
import type { ObjectState } from '../../write/working-set.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import { collectionKey, type TargetPlan } from '../plan/plan-change.ts'
import { atPlace } from '../query-error.ts'
import { toJson } from '../values/value-json.ts'
import type { ElementChoice } from './action-values.ts'
import { bodyFor, type Changing } from './change-values.ts'

export class ElementEdits {
  private readonly changing: Changing
  private readonly collections = new Map<string, EditedCollection>()

  constructor(changing: Changing) {
    this.changing = changing
  }

  /** The collection that the target is, or chooses elements of; read where no action has asked for it yet. */
  async of(target: TargetPlan, state: ObjectState): Promise<EditedCollection> {
    const key = keyOf(target, state)
    let collection = this.collections.get(key)
    if (collection === undefined) {
      collection = new EditedCollection(target, state, await presentElements(this.changing, target, state))
      this.collections.set(key, collection)
    }
    return collection
  }

  /** Throws what PUT /v1/object does. */
  async apply(): Promise<void> {
    const { unit, text } = this.changing
    for (const { target, state, isChanged, elements } of this.collections.values()) {
      if (!isChanged) continue
      const body = bodyFor([target.attribute, ...target.inner], elements())
      await atPlace(
        text,
        () => target.span,
        () => applyAttributes(unit, state, body),
      )
    }
  }
}

function keyOf(target: TargetPlan, { oid }: ObjectState): string {
  return `${oid},${collectionKey(target)}`
}

/** Elements are JSON. */
export class EditedCollection {
  /** That of the last action, for errors. */
  target: TargetPlan
  readonly state: ObjectState
  isChanged = false
  /** The elements that it had, as they have become. */
  private readonly held: unknown[]
  private readonly removed = new Set<number>()
  /** New elements, by the place before which they stand. */
  private readonly inserted = new Map<number, unknown[]>()
  private appended: unknown[] = []

  constructor(target: TargetPlan, state: ObjectState, held: unknown[]) {
    this.target = target
    this.state = state
    this.held = held
  }

  get length(): number {
    return this.held.length
  }

  /** The chosen places, none where there is no such element. */
  places(choice: ElementChoice): readonly number[] {
    switch (choice.kind) {
      case 'index': {
        const place = choice.index < 0 ? this.length + choice.index : choice.index
        return place >= 0 && place < this.length ? [place] : []
      }
      case 'slice': {
        const { from, to } = this.range(choice)
        return Array.from({ length: to - from }, (_, i) => from + i)
      }
      case 'positions':
        return choice.positions.filter((place) => place < this.length)
      case 'none':
        return []
      case 'key':
        unreachable('elements are chosen by place')
    }
  }

  change(places: readonly number[], change: (element: unknown) => unknown): void {
    for (const place of places) {
      this.held[place] = change(this.held[place])
      this.isChanged = true
    }
  }

  /** `[i:j]` becomes these elements. */
  replace(choice: Extract<ElementChoice, { kind: 'slice' }>, elements: readonly unknown[]): void {
    const { from, to } = this.range(choice)
    for (let place = from; place < to; place++) this.removed.add(place)
    const inserted = this.inserted.get(from)
    if (inserted === undefined) this.inserted.set(from, [...elements])
    else for (const element of elements) inserted.push(element)
    this.isChanged ||= to > from || elements.length > 0
  }

  remove(places: readonly number[]): void {
    for (const place of places) {
      this.removed.add(place)
      this.isChanged = true
    }
  }

  add(elements: readonly unknown[]): void {
    for (const element of elements) this.appended.push(element)
    this.isChanged = true
  }

  /** Every element that is equal to one of these. */
  removeEqual(elements: readonly unknown[]): void {
    const forms = new Set(elements.map(formOf))
    const isKept = (element: unknown): boolean => !forms.has(formOf(element))
    for (const [place, element] of this.held.entries()) if (!isKept(element)) this.removed.add(place)
    for (const [place, inserted] of this.inserted) this.inserted.set(place, inserted.filter(isKept))
    this.appended = this.appended.filter(isKept)
    this.isChanged = true
  }

  /** What the collection has become. A paired list and a set have no element that refers to nothing. */
  readonly elements = (): unknown[] => {
    const elements: unknown[] = []
    for (let place = 0; place <= this.length; place++) {
      for (const element of this.inserted.get(place) ?? []) elements.push(element)
      if (place < this.length && !this.removed.has(place)) elements.push(this.held[place])
    }
    for (const element of this.appended) elements.push(element)
    if (!isPaired(this.target) && !isSet(this.target)) return elements
    return elements.filter((element) => element !== null && element !== noOid)
  }

  private range({ from = 0, to = this.length }: Extract<ElementChoice, { kind: 'slice' }>): {
    from: number
    to: number
  } {
    const inside = (index: number): number => {
      return Math.max(0, Math.min(this.length, index < 0 ? this.length + index : index))
    }
    return { from: inside(from), to: Math.max(inside(from), inside(to)) }
  }
}

function isSet(target: TargetPlan): boolean {
  const { type } = collectionOf(target)
  return type.kind === 'collection' && type.form === 'set'
}

/** True where each element has the collection's object as its partner. */
export function isPaired({ attribute, inner }: TargetPlan): boolean {
  const { spec } = attribute
  if (inner.length > 0 || (spec.logicalType !== 'list' && spec.logicalType !== 'set')) return false
  return spec.element.logicalType === 'reference' && spec.element.inverseAttribute !== null
}

function collectionOf({ attribute, inner }: TargetPlan): BoundAttribute {
  return inner.at(-1) ?? attribute
}

/** Those of `elements` that are not among `others`: each is looked at once. */
export function without(elements: readonly unknown[], others: readonly unknown[]): unknown[] {
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

/** The elements that the collection has now, as JSON. */
async function presentElements({ unit }: Changing, target: TargetPlan, state: ObjectState): Promise<unknown[]> {
  const { type } = collectionOf(target)
  assert(type.kind === 'collection', 'elements are of a list or set')
  const format = state.format.attribute(target.attribute.number)
  if (format.linkForm !== undefined) {
    unit.expectUnchanged(state)
    return (await readAndExpectLinks(unit.transaction, state.oid, format)).map(({ target: element }) => element)
  }
  let held: unknown = state.values[format.index]
  for (const { index } of target.inner) held = (held as readonly unknown[])[index]
  return ((held ?? []) as readonly unknown[]).map((element) => toJson(type.element, element, unit.catalog))
}
