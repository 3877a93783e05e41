/** The references within a value that is kept in a record: which objects they name, and the value without some of them. */

import type { FormatSource } from '../records/class-format.ts'
import { mayHoldReferences } from '../records/references-in.ts'
import type { Bytes } from '../store/store.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { MapSpec, TypeSpec } from '../types/type-spec.ts'

export type IsVisible = (oid: Oid) => boolean

/** The objects that a value names. */
export function targetsIn(
  spec: TypeSpec,
  value: unknown,
  formats: FormatSource,
  into: Map<Oid, undefined | Bytes>,
): void {
  switch (spec.logicalType) {
    case 'reference':
      if (value !== null && value !== noOid) into.set(value as Oid, undefined)
      return
    case 'object': {
      const values = value as readonly unknown[]
      for (const { attribute, index } of formats.byNumber(spec.class).attributes) {
        targetsIn(attribute.spec, values[index], formats, into)
      }
      return
    }
    case 'list':
    case 'set': {
      if (!mayHoldReferences(spec)) return
      for (const element of value as readonly unknown[]) {
        if (spec.element.logicalType !== 'reference') targetsIn(spec.element, element, formats, into)
        else if (element !== noOid) into.set(element as Oid, undefined)
      }
      return
    }
    case 'map': {
      for (const { key, value: target } of value as readonly MapPair[]) {
        if (spec.key.logicalType === 'reference') into.set(key as Oid, undefined)
        if (target !== noOid) into.set(target as Oid, undefined)
      }
      return
    }
    default:
  }
}

/** A value with null in the place of references to objects that are not visible, and without elements that are such: the same value where there are none. */
export function visibleOf(spec: TypeSpec, value: unknown, formats: FormatSource, isVisible: IsVisible): unknown {
  switch (spec.logicalType) {
    case 'reference':
      return isReferenceVisible(value, isVisible) ? value : noOid
    case 'object': {
      const values = value as readonly unknown[]
      const kept: unknown[] = []
      for (const { attribute, index } of formats.byNumber(spec.class).attributes) {
        kept[index] = visibleOf(attribute.spec, values[index], formats, isVisible)
      }
      return kept.every((one, i) => one === values[i]) ? value : kept
    }
    case 'list':
    case 'set': {
      if (!mayHoldReferences(spec)) return value
      const elements = value as readonly unknown[]
      if (spec.element.logicalType === 'reference') return visibleElements(elements, isVisible)
      const kept: unknown[] = []
      let isSame = true
      for (const element of elements) {
        const visible = visibleOf(spec.element, element, formats, isVisible)
        if (visible !== element) isSame = false
        kept.push(visible)
      }
      return isSame ? value : kept
    }
    case 'map':
      return visiblePairs(spec, value as readonly MapPair[], isVisible)
    default:
      return value
  }
}

function visibleElements(elements: readonly unknown[], isVisible: IsVisible): unknown {
  const kept: unknown[] = []
  for (const element of elements) {
    if (isReferenceVisible(element, isVisible)) kept.push(element)
  }
  return kept.length === elements.length ? elements : kept
}

function visiblePairs(spec: MapSpec, pairs: readonly MapPair[], isVisible: IsVisible): unknown {
  const kept: MapPair[] = []
  for (const pair of pairs) {
    const isKeyVisible = spec.key.logicalType !== 'reference' || isReferenceVisible(pair.key, isVisible)
    if (isKeyVisible && isReferenceVisible(pair.value, isVisible)) kept.push(pair)
  }
  return kept.length === pairs.length ? pairs : kept
}

export function isReferenceVisible(value: unknown, isVisible: IsVisible): boolean {
  return value === null || value === noOid || isVisible(value as Oid)
}
