/**
 * Values as a caller sees them, and back (decision 0026): `seen` leaves out hidden attributes of embedded objects and hidden references, and `putBack` gives a value that
 * the caller has changed what is hidden in the value that was there. What is put back unchanged is the value that was there.
 */
import { assert } from '../errors.ts'
import { type AttributeFormat, type ClassFormat, embeddedClassOf } from '../records/class-format.ts'
import type { RecordFormats } from '../records/record-formats.ts'
import { mayHoldReferences } from '../records/references-in.ts'
import { encodeValue, isSameValue } from '../records/same-value.ts'
import type { Pieces } from '../types/logical-type.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { ClassNumber, TypeSpec } from '../types/type-spec.ts'
import type { ClassAccess } from './class-access.ts'
import { type IsVisible, isReferenceVisible, type MapPair, visibleOf } from './value-references.ts'

/** Embedded objects that are looked at between two turns for others. */
const elementsAtOnce = 100

/** A change of one object. */
export interface Putting {
  readonly isVisible: IsVisible
  readonly action: 'create' | 'update'
  /** Throws what the caller is told that may not change the attribute of the class. */
  refuse(attribute: AttributeFormat, format: ClassFormat): never
}

export class SeenValues {
  private readonly access: ClassAccess
  private readonly formats: RecordFormats
  /** Of the catalog as the caller knows it. */
  private readonly known: RecordFormats

  constructor(access: ClassAccess, formats: RecordFormats, known: RecordFormats) {
    this.access = access
    this.formats = formats
    this.known = known
  }

  /** `value`: of the whole catalog. */
  *seen(spec: TypeSpec, value: unknown, isVisible: IsVisible): Pieces<unknown> {
    return yield* this.projected(spec, yield* visibleOf(spec, value, this.formats, isVisible))
  }

  /**
   * The value of the whole catalog that is `after` where the caller sees it, and in other respects `before`. `format`: the class of the attribute. Hidden elements of
   * a list stay at their places, those of sets and maps stay; embedded objects of a list keep what they hide where they are found again (`pairing`).
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
    classNumber: ClassNumber,
    before: readonly unknown[],
    after: readonly unknown[],
    putting: Putting,
  ): Pieces<unknown[]> {
    const { format, known } = this.formatsOf(classNumber)
    const writable = this.access.writableIn(format.cls, putting.action)
    const values = [...before]
    for (const { attribute, index, codec } of known.attributes) {
      const own = format.attribute(attribute.number)
      const old = before[own.index]
      if (!writable.has(attribute.number)) {
        const seen = yield* this.seen(own.attribute.spec, old, putting.isVisible)
        if (!isSameValue(codec, seen, after[index])) putting.refuse(own, format)
      } else values[own.index] = yield* this.putBack(format, own, old, after[index], putting)
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
    const { format } = this.formatsOf(spec.class)
    const partners = before.length === after.length ? undefined : yield* this.partners(spec, before, after, putting)
    const created: readonly unknown[] = format.defaultValues().values
    const merged: unknown[] = []
    for (const [i, element] of after.entries()) {
      if (i % elementsAtOnce === elementsAtOnce - 1) yield
      const old = before[partners === undefined ? i : (partners[i] ?? before.length)] ?? created
      merged.push(yield* this.putObject(spec.class, old as readonly unknown[], element as readonly unknown[], putting))
    }
    return merged
  }

  /** For each element of `after` the position in `before` of that which it is. */
  private *partners(
    spec: TypeSpec,
    before: readonly unknown[],
    after: readonly unknown[],
    { isVisible }: Putting,
  ): Pieces<(number | undefined)[]> {
    assert(spec.logicalType === 'object', 'only objects have parts that are hidden')
    const codec = this.known.embedded(spec.class)
    const forms: [string[], string[]] = [[], []]
    for (const [i, element] of before.entries()) {
      if (i % elementsAtOnce === elementsAtOnce - 1) yield
      forms[0].push(encodeValue(codec, yield* this.seen(spec, element, isVisible)).toString('latin1'))
    }
    for (const [i, element] of after.entries()) {
      if (i % elementsAtOnce === elementsAtOnce - 1) yield
      forms[1].push(encodeValue(codec, element).toString('latin1'))
    }
    return pairing(...forms)
  }

  /** As the catalog that the caller knows lays out embedded objects. */
  private *projected(spec: TypeSpec, value: unknown): Pieces<unknown> {
    if (embeddedClassOf(spec) === undefined) return value
    if (spec.logicalType === 'object') {
      const { format, known } = this.formatsOf(spec.class)
      const values: unknown[] = []
      for (const { attribute, index } of known.attributes) {
        const own = format.attribute(attribute.number)
        values[index] = yield* this.projected(own.attribute.spec, (value as readonly unknown[])[own.index])
      }
      return values
    }
    assert(spec.logicalType === 'list', 'objects are embedded alone or in lists')
    const elements: unknown[] = []
    for (const [i, element] of (value as readonly unknown[]).entries()) {
      if (i % elementsAtOnce === elementsAtOnce - 1) yield
      elements.push(yield* this.projected(spec.element, element))
    }
    return elements
  }

  private formatsOf(number: ClassNumber): { readonly format: ClassFormat; readonly known: ClassFormat } {
    return { format: this.formats.byNumber(number), known: this.known.byNumber(number) }
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

export function isPairHidden(
  { key: { logicalType } }: { readonly key: TypeSpec },
  { key, value }: MapPair,
  isVisible: IsVisible,
): boolean {
  if (!isReferenceVisible(value, isVisible)) return true
  return logicalType === 'reference' && !isReferenceVisible(key, isVisible)
}

export function holdsKeyOf(pairs: readonly MapPair[], others: readonly MapPair[]): boolean {
  const keys = new Set(others.map(({ key }) => key))
  return pairs.some(({ key }) => keys.has(key))
}

/**
 * Which of the elements `before` each of those `after` is, by how they look: those at the beginning and at the end that look the same; of the rest, where all that is left of the
 * one list is in the other in the same order, those that look the same; else those at the same place.
 */
function pairing(before: readonly string[], after: readonly string[]): (number | undefined)[] {
  const least = Math.min(before.length, after.length)
  let start = 0
  while (start < least && before[start] === after[start]) start++
  let end = 0
  while (end < least - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const partners: (number | undefined)[] = after.map((_element, i) => {
    return i < start ? i : i >= after.length - end ? i + before.length - after.length : undefined
  })
  const [left, right] = [before.slice(start, before.length - end), after.slice(start, after.length - end)]
  const found = left.length > right.length ? placesOf(right, left) : invert(placesOf(left, right))
  for (const [i] of right.entries()) {
    const place = found === undefined ? i : found.get(i)
    if (place !== undefined && place < left.length) partners[start + i] = start + place
  }
  return partners
}

/** Where each of the elements is found in a longer list, in the same order; undefined where one is not. */
function placesOf(elements: readonly string[], within: readonly string[]): Map<number, number> | undefined {
  const places = new Map<number, number>()
  let at = 0
  for (const [i, element] of elements.entries()) {
    while (at < within.length && within[at] !== element) at++
    if (at === within.length) return undefined
    places.set(i, at++)
  }
  return places
}

function invert(places: ReadonlyMap<number, number> | undefined): Map<number, number> | undefined {
  return places && new Map([...places].map(([from, to]) => [to, from]))
}
