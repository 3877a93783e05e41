/** Converts values to a caller's view (hidden references omitted, hidden attributes defaulted) and merges its changes back (decision 0026). */
import { assert } from '../errors.ts'
import type { AttributeChange, ElementOrigins, ValueChange } from '../records/attribute-change.ts'
import { type AttributeFormat, type ClassFormat, embeddedClassOf } from '../records/class-format.ts'
import { unevaluated } from '../records/creation-value.ts'
import type { RecordFormats } from '../records/record-formats.ts'
import { mayHoldReferences } from '../records/references-in.ts'
import { encodeValue, isSameValue } from '../records/same-value.ts'
import type { StepwiseWork } from '../types/logical-type.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { ClassNumber, TypeSpec } from '../types/type-spec.ts'
import type { ClassAccess } from './class-access.ts'
import { exactOrigins, likelyOrigins } from './element-origins.ts'
import { mayHide } from './hidden-within.ts'
import { holdsKeyOf } from './link-elements.ts'
import { type IsVisible, isReferenceVisible, visibleOf } from './value-references.ts'

/** Embedded objects between two yields: each takes microseconds if it may have hidden parts, and a list may have 60,000. */
const elementsPerYield = 100

/** Origins of the elements of lists that were edited element by element, by the resulting list. */
export type OriginsByList = Map<unknown, ElementOrigins>

/** Context of merging a change of one object. */
export interface MergeContext {
  readonly isVisible: IsVisible
  readonly action: 'create' | 'update'
  /** Throws the error for an attribute that the caller may not change. */
  refuse(attribute: AttributeFormat, format: ClassFormat): never
  /** Throws the error for an attribute that no grant allows to set. */
  refuseReadOnly(attribute: AttributeFormat, format: ClassFormat): never
  /** Throws the error for a list whose elements cannot be matched. */
  refuseUnclear(): never
  /** Origins of the elements of a list of `after`, where they are known. */
  originsOf(list: readonly unknown[]): ElementOrigins | undefined
}

export class VisibleValues {
  private readonly access: ClassAccess
  private readonly formats: RecordFormats
  /** Formats of the restricted catalog. */
  private readonly restrictedFormats: RecordFormats

  constructor(access: ClassAccess, formats: RecordFormats, restricted: RecordFormats) {
    this.access = access
    this.formats = formats
    this.restrictedFormats = restricted
  }

  *visible(spec: TypeSpec, value: unknown, isVisible: IsVisible): StepwiseWork<unknown> {
    return yield* this.withDefaults(spec, visibleOf(spec, value, this.formats, isVisible))
  }

  /** Embedded objects in the layout of the restricted catalog. */
  *toRestricted(spec: TypeSpec, visible: unknown): StepwiseWork<unknown> {
    return yield* this.toLayout(spec, visible, 'restricted')
  }

  /** The change in the layout of the full catalog; records the origins of its lists in `origins`. */
  *changeOf(attribute: AttributeFormat, change: ValueChange, origins: OriginsByList): StepwiseWork<ValueChange> {
    const { spec } = attribute.attribute
    const embedded = embeddedClassOf(spec)
    if (embedded === undefined) return change
    switch (change.kind) {
      case 'set': {
        const value = yield* this.toLayout(spec, change.value, 'full')
        if (change.origins !== undefined) origins.set(value, change.origins)
        return { kind: 'set', value }
      }
      case 'add':
      case 'remove': {
        const elements = yield* this.toLayout(spec, change.elements, 'full')
        return { kind: change.kind, elements: elements as readonly unknown[] }
      }
      case 'merge': {
        const format = this.formats.byNumber(embedded)
        const fields: AttributeChange[] = []
        for (const { attribute: field, name, change: within } of change.fields) {
          const full = format.attribute(field.attribute.number)
          fields.push({ attribute: full, name, change: yield* this.changeOf(full, within, origins) })
        }
        return { kind: 'merge', fields }
      }
      default:
        return change
    }
  }

  /**
   * `after`: the value as the caller sees it. `format`: class of the attribute. Hidden elements of a list keep their positions, hidden elements
   * of sets and maps are kept; embedded objects of a list keep their hidden parts (`exactOrigins`).
   */
  *mergeHidden(
    format: ClassFormat,
    attribute: AttributeFormat,
    before: unknown,
    after: unknown,
    context: MergeContext,
  ): StepwiseWork<unknown> {
    const { spec } = attribute.attribute
    if (!mayHoldReferences(spec) || before === unevaluated || after === unevaluated) return after
    const { isVisible } = context
    switch (spec.logicalType) {
      case 'reference':
        if (isReferenceVisible(before, isVisible)) return after
        return after === noOid || after === null ? before : context.refuse(attribute, format)
      case 'object':
        return yield* this.mergeObject(spec.class, before as readonly unknown[], after as readonly unknown[], context)
      case 'list':
        if (spec.element.logicalType === 'reference') return mergeElements(before as Oid[], after as Oid[], isVisible)
        return yield* this.mergeObjects(spec.element, before as unknown[], after as unknown[], context)
      case 'set': {
        const hidden = (before as readonly Oid[]).filter((oid) => !isReferenceVisible(oid, isVisible))
        return hidden.length === 0 ? after : attribute.codec.accept([...(after as readonly Oid[]), ...hidden])
      }
      case 'map': {
        const hidden = (before as readonly MapPair[]).filter((pair) => isPairHidden(spec, pair, isVisible))
        const pairs = after as readonly MapPair[]
        if (hidden.length === 0) return after
        if (holdsKeyOf(pairs, hidden)) return context.refuse(attribute, format)
        return attribute.codec.accept([...pairs, ...hidden])
      }
      default:
        return after
    }
  }

  private *mergeObject(
    number: ClassNumber,
    before: readonly unknown[],
    after: readonly unknown[],
    context: MergeContext,
  ): StepwiseWork<unknown[]> {
    const format = this.formats.byNumber(number)
    const visibleAttributes = this.access.attributesOf(format.cls)
    const writable = this.access.writableIn(format.cls, context.action)
    const values = [...before]
    for (const attribute of format.attributes) {
      const { index, codec } = attribute
      const { number: attributeNumber, spec } = attribute.attribute
      if (!visibleAttributes.has(attributeNumber)) continue
      const oldValue = before[index]
      if (writable.has(attributeNumber))
        values[index] = yield* this.mergeHidden(format, attribute, oldValue, after[index], context)
      else if (after[index] !== unevaluated) {
        const visible = yield* this.visible(spec, oldValue, context.isVisible)
        if (!isSameValue(codec, visible, after[index])) context.refuseReadOnly(attribute, format)
      }
    }
    return values
  }

  private *mergeObjects(
    spec: TypeSpec,
    before: readonly unknown[],
    after: readonly unknown[],
    context: MergeContext,
  ): StepwiseWork<unknown[]> {
    assert(spec.logicalType === 'object', 'what holds references is one or an object')
    const origins = context.originsOf(after) ?? (yield* this.origins(spec, before, after, context))
    const created: readonly unknown[] = this.formats.byNumber(spec.class).defaultValues().values
    const merged: unknown[] = []
    for (const [i, element] of after.entries()) {
      if (i % elementsPerYield === elementsPerYield - 1) yield
      const origin = origins[i]
      const oldValue = origin === undefined ? created : before[origin]
      merged.push(
        yield* this.mergeObject(spec.class, oldValue as readonly unknown[], element as readonly unknown[], context),
      )
    }
    return merged
  }

  private *origins(
    spec: TypeSpec & { readonly logicalType: 'object' },
    before: readonly unknown[],
    after: readonly unknown[],
    { isVisible, refuseUnclear }: MergeContext,
  ): StepwiseWork<ElementOrigins> {
    const codec = this.formats.embedded(spec.class)
    const [oldValues, newValues]: [string[], string[]] = [[], []]
    for (const [i, element] of before.entries()) {
      if (i % elementsPerYield === elementsPerYield - 1) yield
      oldValues.push(encodeValue(codec, yield* this.visible(spec, element, isVisible)).toString('latin1'))
    }
    for (const [i, element] of after.entries()) {
      if (i % elementsPerYield === elementsPerYield - 1) yield
      newValues.push(encodeValue(codec, element).toString('latin1'))
    }
    if (mayHide(spec, this.access, ['reference', 'attribute']))
      return exactOrigins(oldValues, newValues) ?? refuseUnclear()
    return before.length === after.length ? after.map((_element, i) => i) : likelyOrigins(oldValues, newValues)
  }

  /** Replaces hidden attributes by their defaults. */
  private *withDefaults(spec: TypeSpec, value: unknown): StepwiseWork<unknown> {
    if (embeddedClassOf(spec) === undefined) return value
    return yield* this.toLayout(spec, yield* this.toLayout(spec, value, 'restricted'), 'full')
  }

  /** `to`: target layout of embedded objects, which have the layout of the other catalog. */
  private *toLayout(spec: TypeSpec, value: unknown, to: 'restricted' | 'full'): StepwiseWork<unknown> {
    if (spec.logicalType === 'object') {
      const [format, restricted] = [this.formats.byNumber(spec.class), this.restrictedFormats.byNumber(spec.class)]
      const result: unknown[] = to === 'restricted' ? [] : format.defaultValues().values
      for (const { attribute, index } of restricted.attributes) {
        const full = format.attribute(attribute.number).index
        const [from, at] = to === 'restricted' ? [full, index] : [index, full]
        result[at] = yield* this.toLayout(attribute.spec, (value as readonly unknown[])[from], to)
      }
      return result
    }
    if (spec.logicalType !== 'list' || spec.element.logicalType !== 'object') return value
    const elements: unknown[] = []
    for (const [i, element] of (value as readonly unknown[]).entries()) {
      if (i % elementsPerYield === elementsPerYield - 1) yield
      elements.push(yield* this.toLayout(spec.element, element, to))
    }
    return elements
  }
}

/** Hidden elements of `before` keep their positions; visible ones are replaced in order, and the rest is appended. */
export function mergeElements(before: readonly Oid[], after: readonly Oid[], isVisible: IsVisible): Oid[] {
  const merged: Oid[] = []
  let next = 0
  for (const element of before) {
    if (!isReferenceVisible(element, isVisible)) merged.push(element)
    else if (next < after.length) merged.push(after[next++] as Oid)
  }
  for (; next < after.length; next++) merged.push(after[next] as Oid)
  return merged
}

function isPairHidden(
  { key: { logicalType } }: { readonly key: TypeSpec },
  { key, value }: MapPair,
  isVisible: IsVisible,
): boolean {
  if (!isReferenceVisible(value, isVisible)) return true
  return logicalType === 'reference' && !isReferenceVisible(key, isVisible)
}
