/** Edits of elements by the actions on one object: all select among the elements before the statement, and the result is applied once. */
import { assert, unreachable } from '../../errors.ts'
import { readAndRequireLinks } from '../../links/attribute-links.ts'
import { applyChanges } from '../../objects/apply-changes.ts'
import type { ValueChange } from '../../records/attribute-change.ts'
import { changeAt, formatAt } from '../../records/attribute-path.ts'
import type { AttributeFormat } from '../../records/class-format.ts'
import { withoutElements } from '../../records/without-elements.ts'
import { runToEnd } from '../../store/time-slice.ts'
import { noOid } from '../../types/oid.ts'
import type { ObjectState } from '../../write/working-set.ts'
import { atPlace } from '../language/query-error.ts'
import type { ElementChoice } from './action-values.ts'
import { type ChangeContext, withAttributeErrors } from './change-values.ts'
import { collectionKey, type TargetPlan } from './plan-change.ts'

export class ElementEdits {
  private readonly changeContext: ChangeContext
  private readonly collections = new Map<string, EditedCollection>()

  constructor(changeContext: ChangeContext) {
    this.changeContext = changeContext
  }

  /** The collection that is the target or contains its elements; read on first use. */
  async of(target: TargetPlan, state: ObjectState): Promise<EditedCollection> {
    const key = `${state.oid},${collectionKey(target)}`
    let collection = this.collections.get(key)
    if (collection === undefined) {
      collection = new EditedCollection(
        target,
        state,
        formatAt(this.changeContext.unit.commandFormatOf(state), attributesOfTarget(target)),
        await presentElements(this.changeContext, target, state),
      )
      this.collections.set(key, collection)
    }
    return collection
  }

  /** Throws the errors of an update. */
  async apply(): Promise<void> {
    const { unit, text } = this.changeContext
    for (const collection of this.collections.values()) {
      const { target, state } = collection
      if (!collection.isChanged) continue
      const path = attributesOfTarget(target)
      await atPlace(
        text,
        () => target.span,
        () =>
          withAttributeErrors(state.format.cls.name, path, async () => {
            const change = collection.replacement()
            return applyChanges(unit, state, [changeAt(unit.commandFormatOf(state), path, change)])
          }),
      )
    }
  }
}

/** The attributes that lead to the collection or target. */
export function attributesOfTarget({ attribute, inner }: TargetPlan): readonly TargetPlan['attribute'][] {
  return [attribute, ...inner]
}

/** Elements are in the representation of the collection's codec. */
export class EditedCollection {
  /** The target of the last action, for errors. */
  target: TargetPlan
  readonly state: ObjectState
  isChanged = false
  private readonly format: AttributeFormat
  /** The original elements with the changes made to them. */
  private readonly elements: unknown[]
  private readonly removed = new Set<number>()
  /** New elements, by the position before which they are inserted. */
  private readonly inserted = new Map<number, readonly unknown[]>()
  private appended: readonly unknown[] = []

  /** `format`: of the collection, with the rights of the user. */
  constructor(target: TargetPlan, state: ObjectState, format: AttributeFormat, elements: unknown[]) {
    this.target = target
    this.state = state
    this.elements = elements
    this.format = format
  }

  get length(): number {
    return this.elements.length
  }

  /** The selected positions; empty if there is no such element. */
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
      this.elements[place] = change(this.elements[place])
      this.isChanged = true
    }
  }

  /** Replaces `[i:j]` with the elements. */
  replace(choice: Extract<ElementChoice, { kind: 'slice' }>, elements: readonly unknown[]): void {
    const { from, to } = this.range(choice)
    for (let place = from; place < to; place++) this.removed.add(place)
    this.inserted.set(from, [...(this.inserted.get(from) ?? []), ...elements])
    this.isChanged ||= to > from || elements.length > 0
  }

  remove(places: readonly number[]): void {
    for (const place of places) {
      this.removed.add(place)
      this.isChanged = true
    }
  }

  add(elements: readonly unknown[]): void {
    this.appended = [...this.appended, ...elements]
    this.isChanged = true
  }

  /** Removes every element equal to one of these. */
  removeEqual(elements: readonly unknown[]): void {
    const without = (all: readonly unknown[]): readonly unknown[] => {
      return runToEnd(withoutElements(this.format, all, elements))
    }
    const remaining = new Set(without(this.elements))
    for (const [place, element] of this.elements.entries()) if (!remaining.has(element)) this.removed.add(place)
    for (const [place, inserted] of this.inserted) this.inserted.set(place, without(inserted))
    this.appended = without(this.appended)
    this.isChanged = true
  }

  /** The new contents. A paired list and a set hold no null references. Throws ValueError. */
  replacement(): ValueChange {
    const elements: unknown[] = []
    const origins: (number | undefined)[] = []
    const push = (element: unknown, origin: number | undefined): void => {
      elements.push(element)
      origins.push(origin)
    }
    for (let place = 0; place <= this.length; place++) {
      for (const element of this.inserted.get(place) ?? []) push(element, undefined)
      if (place < this.length && !this.removed.has(place)) push(this.elements[place], place)
    }
    for (const element of this.appended) push(element, undefined)
    const isSet = this.format.attribute.spec.logicalType === 'set'
    if (!isPaired(this.target) && !isSet) return { kind: 'set', value: elements, origins }
    const objects = elements.filter((element) => element !== noOid)
    return { kind: 'set', value: isSet ? this.format.codec.accept(objects) : objects }
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

/** Whether each element refers back to the collection's object. */
export function isPaired({ attribute, inner }: TargetPlan): boolean {
  const { spec } = attribute
  if (inner.length > 0 || (spec.logicalType !== 'list' && spec.logicalType !== 'set')) return false
  return spec.element.logicalType === 'reference' && spec.element.inverseAttribute !== null
}

/** The current elements, as far as the user may see them. */
async function presentElements({ unit }: ChangeContext, target: TargetPlan, state: ObjectState): Promise<unknown[]> {
  const format = unit.commandFormatOf(state).attribute(target.attribute.number)
  if (format.linkStorage !== undefined) {
    unit.requireUnchanged(state)
    const links = await readAndRequireLinks(unit.transaction, state.oid, format)
    const elements = links.map(({ target: element }) => element)
    const hidden = await unit.guard?.hiddenAmong(elements.filter((oid) => oid !== noOid))
    return hidden === undefined ? elements : elements.filter((oid) => !hidden.has(oid))
  }
  let elements = await unit.seen(state, format)
  for (const { index } of target.inner) elements = (elements as readonly unknown[])[index]
  assert(Array.isArray(elements), 'elements are of a list or set')
  return [...elements]
}
