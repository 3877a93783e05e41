/** References within a value in a record: the objects they refer to, and the value without some of them. */

import type { FormatSource } from '../records/class-format.ts'
import { unevaluated } from '../records/creation-value.ts'
import { mayHoldReferences } from '../records/references-in.ts'
import type { Bytes } from '../store/store.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { MapSpec, TypeSpec } from '../types/type-spec.ts'

export type IsVisible = (oid: Oid) => boolean

/** Collects the objects that a value refers to. */
export function targetsIn(
  spec: TypeSpec,
  value: unknown,
  formats: FormatSource,
  into: Map<Oid, undefined | Bytes>,
): void {
  if (value === unevaluated) return
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

/** Replaces references to invisible objects by null, and removes elements that are such references; returns the same value if there are none. */
export function visibleOf(spec: TypeSpec, value: unknown, formats: FormatSource, isVisible: IsVisible): unknown {
  if (value === unevaluated) return value
  switch (spec.logicalType) {
    case 'reference':
      return isReferenceVisible(value, isVisible) ? value : noOid
    case 'object': {
      const values = value as readonly unknown[]
      const visible: unknown[] = []
      for (const { attribute, index } of formats.byNumber(spec.class).attributes) {
        visible[index] = visibleOf(attribute.spec, values[index], formats, isVisible)
      }
      return visible.every((one, i) => one === values[i]) ? value : visible
    }
    case 'list':
    case 'set': {
      if (!mayHoldReferences(spec)) return value
      const elements = value as readonly unknown[]
      if (spec.element.logicalType === 'reference') return visibleElements(elements, isVisible)
      const visible = elements.map((element) => visibleOf(spec.element, element, formats, isVisible))
      return visible.every((element, i) => element === elements[i]) ? value : visible
    }
    case 'map':
      return visiblePairs(spec, value as readonly MapPair[], isVisible)
    default:
      return value
  }
}

function visibleElements(elements: readonly unknown[], isVisible: IsVisible): unknown {
  const visible = elements.filter((element) => isReferenceVisible(element, isVisible))
  return visible.length === elements.length ? elements : visible
}

function visiblePairs(spec: MapSpec, pairs: readonly MapPair[], isVisible: IsVisible): unknown {
  const visible = pairs.filter(({ key, value }) => {
    const isKeyVisible = spec.key.logicalType !== 'reference' || isReferenceVisible(key, isVisible)
    return isKeyVisible && isReferenceVisible(value, isVisible)
  })
  return visible.length === pairs.length ? pairs : visible
}

export function isReferenceVisible(value: unknown, isVisible: IsVisible): boolean {
  return value === null || value === noOid || isVisible(value as Oid)
}
