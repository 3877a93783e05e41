/**
 * Values as a caller sees them, and back (decision 0026): in what is `seen`, hidden references are left out and hidden attributes of embedded objects have their
 * defaults; `putBack` gives a value that the caller has changed what is hidden in the value that was there. What is put back unchanged is the value that was there.
 */
import { assert } from '../errors.ts'
import type { AttributeChange, ElementOrigins, ValueChange } from '../records/attribute-change.ts'
import { type AttributeFormat, type ClassFormat, embeddedClassOf } from '../records/class-format.ts'
import type { RecordFormats } from '../records/record-formats.ts'
import { mayHoldReferences } from '../records/references-in.ts'
import { encodeValue, isSameValue } from '../records/same-value.ts'
import type { Pieces } from '../types/logical-type.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { ClassNumber, TypeSpec } from '../types/type-spec.ts'
import type { ClassAccess } from './class-access.ts'
import { exactOrigins, likelyOrigins } from './element-origins.ts'
import { mayHide } from './hidden-within.ts'
import { holdsKeyOf } from './link-elements.ts'
import { type IsVisible, isReferenceVisible, visibleOf } from './value-references.ts'

/**
 * Embedded objects that are looked at between two turns for others. Each takes some microseconds for what may be hidden in it: of the 60,000 that a
 * list may be given in one request, too long for one step.
 */
const elementsAtOnce = 100

/** Of lists of embedded objects that are edited one by one, by the list that comes of it. */
export type Origins = Map<unknown, ElementOrigins>

/** A change of one object. */
export interface Putting {
  readonly isVisible: IsVisible
  readonly action: 'create' | 'update'
  /** Throws what the caller is told that may not change the attribute of the class. */
  refuse(attribute: AttributeFormat, format: ClassFormat): never
  /** Likewise where no grant lets it be set. */
  refuseReadOnly(attribute: AttributeFormat, format: ClassFormat): never
  /** Likewise where it cannot be known which element of a list is which. */
  refuseUnclear(): never
  /** Of a list of `after`, where whoever changes it knows. */
  originsOf(list: readonly unknown[]): ElementOrigins | undefined
}

export class SeenValues {
  private readonly access: ClassAccess
  private readonly formats: RecordFormats
  /** Of the catalog as the caller knows it. */
  private readonly knownFormats: RecordFormats

  constructor(access: ClassAccess, formats: RecordFormats, known: RecordFormats) {
    this.access = access
    this.formats = formats
    this.knownFormats = known
  }

  *seen(spec: TypeSpec, value: unknown, isVisible: IsVisible): Pieces<unknown> {
    return yield* this.blanked(spec, visibleOf(spec, value, this.formats, isVisible))
  }

  /** Embedded objects as the catalog that the caller knows lays them out. */
  *known(spec: TypeSpec, seen: unknown): Pieces<unknown> {
    return yield* this.laidOut(spec, seen, 'known')
  }

  /** The change under the formats of the whole catalog; `origins` are told those of its lists. */
  *changeOf(attribute: AttributeFormat, change: ValueChange, origins: Origins): Pieces<ValueChange> {
    const { spec } = attribute.attribute
    const embedded = embeddedClassOf(spec)
    if (embedded === undefined) return change
    switch (change.kind) {
      case 'set': {
        const value = yield* this.laidOut(spec, change.value, 'whole')
        if (change.origins !== undefined) origins.set(value, change.origins)
        return { kind: 'set', value }
      }
      case 'add':
      case 'remove': {
        const elements = yield* this.laidOut(spec, change.elements, 'whole')
        return { kind: change.kind, elements: elements as readonly unknown[] }
      }
      case 'merge': {
        const format = this.formats.byNumber(embedded)
        const fields: AttributeChange[] = []
        for (const { attribute: field, name, change: within } of change.fields) {
          const own = format.attribute(field.attribute.number)
          fields.push({ attribute: own, name, change: yield* this.changeOf(own, within, origins) })
        }
        return { kind: 'merge', fields }
      }
      default:
        return change
    }
  }

  /**
   * `after`: as seen. `format`: the class of the attribute. Hidden elements of a list stay at their places, those of sets and
   * maps stay; embedded objects of a list keep what they hide (`exactOrigins`).
   */
  *putBack(
    format: ClassFormat,
    attribute: AttributeFormat,
    before: unknown,
    after: unknown,
    putting: Putting,
  ): Pieces<unknown> {
    const { spec } = attribute.attribute
    if (!mayHoldReferences(spec)) return after
    const { isVisible } = putting
    switch (spec.logicalType) {
      case 'reference':
        if (isReferenceVisible(before, isVisible)) return after
        return after === noOid || after === null ? before : putting.refuse(attribute, format)
      case 'object':
        return yield* this.putObject(spec.class, before as readonly unknown[], after as readonly unknown[], putting)
      case 'list':
        if (spec.element.logicalType === 'reference') return putElements(before as Oid[], after as Oid[], isVisible)
        return yield* this.putObjects(spec.element, before as unknown[], after as unknown[], putting)
      case 'set': {
        const hidden = (before as readonly Oid[]).filter((oid) => !isReferenceVisible(oid, isVisible))
        return hidden.length === 0 ? after : attribute.codec.accept([...(after as readonly Oid[]), ...hidden])
      }
      case 'map': {
        const hidden = (before as readonly MapPair[]).filter((pair) => isPairHidden(spec, pair, isVisible))
        const pairs = after as readonly MapPair[]
        if (hidden.length === 0) return after
        if (holdsKeyOf(pairs, hidden)) return putting.refuse(attribute, format)
        return attribute.codec.accept([...pairs, ...hidden])
      }
      default:
        return after
    }
  }

  private *putObject(
    number: ClassNumber,
    before: readonly unknown[],
    after: readonly unknown[],
    putting: Putting,
  ): Pieces<unknown[]> {
    const format = this.formats.byNumber(number)
    const shown = this.access.attributesOf(format.cls)
    const writable = this.access.writableIn(format.cls, putting.action)
    const values = [...before]
    for (const attribute of format.attributes) {
      const { index, codec } = attribute
      const { number: own, spec } = attribute.attribute
      if (!shown.has(own)) continue
      const old = before[index]
      if (writable.has(own)) values[index] = yield* this.putBack(format, attribute, old, after[index], putting)
      else {
        const seen = yield* this.seen(spec, old, putting.isVisible)
        if (!isSameValue(codec, seen, after[index])) putting.refuseReadOnly(attribute, format)
      }
    }
    return values
  }

  private *putObjects(
    spec: TypeSpec,
    before: readonly unknown[],
    after: readonly unknown[],
    putting: Putting,
  ): Pieces<unknown[]> {
    assert(spec.logicalType === 'object', 'what holds references is one or an object')
    const origins = putting.originsOf(after) ?? (yield* this.origins(spec, before, after, putting))
    const created: readonly unknown[] = this.formats.byNumber(spec.class).defaultValues().values
    const merged: unknown[] = []
    for (const [i, element] of after.entries()) {
      if (i % elementsAtOnce === elementsAtOnce - 1) yield
      const origin = origins[i]
      const old = origin === undefined ? created : before[origin]
      merged.push(yield* this.putObject(spec.class, old as readonly unknown[], element as readonly unknown[], putting))
    }
    return merged
  }

  private *origins(
    spec: TypeSpec & { readonly logicalType: 'object' },
    before: readonly unknown[],
    after: readonly unknown[],
    { isVisible, refuseUnclear }: Putting,
  ): Pieces<ElementOrigins> {
    const codec = this.formats.embedded(spec.class)
    const [old, given]: [string[], string[]] = [[], []]
    for (const [i, element] of before.entries()) {
      if (i % elementsAtOnce === elementsAtOnce - 1) yield
      old.push(encodeValue(codec, yield* this.seen(spec, element, isVisible)).toString('latin1'))
    }
    for (const [i, element] of after.entries()) {
      if (i % elementsAtOnce === elementsAtOnce - 1) yield
      given.push(encodeValue(codec, element).toString('latin1'))
    }
    if (mayHide(spec, this.access, ['reference', 'attribute'])) return exactOrigins(old, given) ?? refuseUnclear()
    return before.length === after.length ? after.map((_element, i) => i) : likelyOrigins(old, given)
  }

  /** With the defaults of hidden attributes. */
  private *blanked(spec: TypeSpec, value: unknown): Pieces<unknown> {
    if (embeddedClassOf(spec) === undefined) return value
    return yield* this.laidOut(spec, yield* this.laidOut(spec, value, 'known'), 'whole')
  }

  /** `to`: the catalog whose layout embedded objects are to have; they have that of the other one. */
  private *laidOut(spec: TypeSpec, value: unknown, to: 'known' | 'whole'): Pieces<unknown> {
    if (spec.logicalType === 'object') {
      const [format, known] = [this.formats.byNumber(spec.class), this.knownFormats.byNumber(spec.class)]
      const laidOut: unknown[] = to === 'known' ? [] : format.defaultValues().values
      for (const { attribute, index } of known.attributes) {
        const own = format.attribute(attribute.number).index
        const [from, at] = to === 'known' ? [own, index] : [index, own]
        laidOut[at] = yield* this.laidOut(attribute.spec, (value as readonly unknown[])[from], to)
      }
      return laidOut
    }
    if (spec.logicalType !== 'list' || spec.element.logicalType !== 'object') return value
    const elements: unknown[] = []
    for (const [i, element] of (value as readonly unknown[]).entries()) {
      if (i % elementsAtOnce === elementsAtOnce - 1) yield
      elements.push(yield* this.laidOut(spec.element, element, to))
    }
    return elements
  }
}

/** The elements of `before` that are hidden stay at their places; the others are replaced in their order, and what is over follows. */
export function putElements(before: readonly Oid[], after: readonly Oid[], isVisible: IsVisible): Oid[] {
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
