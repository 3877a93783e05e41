/** What is done with lists, sets, maps and sequences (DO, section 4). */
import type { MapPair } from '../../records/collection-change.ts'
import type { Bound } from '../bind/bound.ts'
import { foldValues } from '../execute/aggregate.ts'
import type { Evaluate } from '../execute/run.ts'
import { queryError } from '../query-error.ts'
import { isMany, type ValueType } from '../values/value-type.ts'
import type { Compiler } from './compile-expression.ts'
import { elementsIn, slotElements, slotFiller } from './element-slot.ts'

type CollectionNode = Extract<
  Bound,
  { kind: 'each' | 'elementAt' | 'valueOfKey' | 'slice' | 'choose' | 'fold' | 'isEmpty' | 'elements' | 'pairs' }
>

export function compileCollection(bound: CollectionNode, compiler: Compiler): Evaluate {
  switch (bound.kind) {
    case 'each':
      return compileEach(bound, compiler)
    case 'choose':
      return compileChoose(bound, compiler)
    case 'elementAt':
      return compileElementAt(bound, compiler)
    case 'slice':
      return compileSlice(bound, compiler)
    case 'valueOfKey': {
      const [map, key] = [compiler.compile(bound.map), compiler.compile(bound.key)]
      return (run) => {
        const [pairs, wanted] = [map(run), key(run)]
        if (pairs === null || wanted === null) return null
        return (pairs as readonly MapPair[]).find((pair) => pair.key === wanted)?.value ?? null
      }
    }
    case 'isEmpty': {
      const operand = compiler.compile(bound.operand)
      return (run) => {
        const held = operand(run)
        return held === null ? null : (held as readonly unknown[]).length === 0
      }
    }
    case 'elements': {
      const elements = compiler.compileAll(bound.elements)
      const isSet = bound.type.kind === 'collection' && bound.type.form === 'set'
      return (run) => {
        const values = elements.map((element) => element(run) ?? null)
        return isSet ? [...new Set(values)] : values
      }
    }
    case 'pairs': {
      const pairs = bound.pairs.map(({ key, value }) => ({
        key: compiler.compile(key),
        value: compiler.compile(value),
      }))
      return (run) => pairs.map(({ key, value }) => ({ key: key(run), value: value(run) ?? null }))
    }
    case 'fold': {
      const collection = compiler.compile(bound.collection)
      const elements = elementsIn(bound.collection.type)
      const elementType = elementTypeOf(bound.collection.type)
      return (run) => {
        const held = collection(run)
        const values = held === null || held === undefined ? [] : elements(held)
        if (bound.countsNulls) return countOf(values)
        const result = foldValues(bound.function, values, bound.compare, bound.type, elementType)
        if (result === undefined) throw queryError(run.text, bound, 'the sum is beyond what an integer holds')
        return result
      }
    }
  }
}

function elementTypeOf(type: ValueType): ValueType {
  return isMany(type) ? type.element : type
}

function countOf(values: Iterable<unknown>): number {
  if (Array.isArray(values)) return values.length
  let count = 0
  for (const _value of values) count++
  return count
}

function compileEach(bound: Extract<Bound, { kind: 'each' }>, compiler: Compiler): Evaluate {
  const collection = compiler.compile(bound.collection)
  const fill = slotFiller(bound.collection.type, bound.slot)
  const body = compiler.compile(bound.body)
  const elements = slotElements(bound.collection.type)
  const flatten = isMany(bound.body.type) ? elementsIn(bound.body.type) : undefined
  return (run) => {
    const held = collection(run)
    if (held === null || held === undefined) return null
    const values: unknown[] = []
    for (const element of elements(run, held)) {
      fill(run, element)
      const value = body(run) ?? null
      if (flatten === undefined) values.push(value)
      else if (value !== null) for (const inner of flatten(value)) values.push(inner)
    }
    return values
  }
}

function compileChoose(bound: Extract<Bound, { kind: 'choose' }>, compiler: Compiler): Evaluate {
  const collection = compiler.compile(bound.collection)
  const fill = slotFiller(bound.collection.type, bound.slot)
  const predicate = compiler.compile(bound.predicate)
  const elements = slotElements(bound.collection.type)
  return (run) => {
    const held = collection(run)
    if (held === null || held === undefined) return null
    return [...elements(run, held)].filter((element) => {
      fill(run, element)
      return predicate(run) === true
    })
  }
}

/** From 0, negative from the end, null outside. */
function compileElementAt(bound: Extract<Bound, { kind: 'elementAt' }>, compiler: Compiler): Evaluate {
  const [collection, index] = [compiler.compile(bound.collection), compiler.compile(bound.index)]
  return (run) => {
    const [held, at] = [collection(run), index(run)]
    if (held === null || at === null) return null
    return (held as readonly unknown[]).at(Number(at)) ?? null
  }
}

/** Half-open; ends that lie outside are moved in, as Array.slice does. */
function compileSlice(bound: Extract<Bound, { kind: 'slice' }>, compiler: Compiler): Evaluate {
  const collection = compiler.compile(bound.collection)
  const from = bound.from === undefined ? undefined : compiler.compile(bound.from)
  const to = bound.to === undefined ? undefined : compiler.compile(bound.to)
  return (run) => {
    const held = collection(run)
    const [first, last] = [from?.(run), to?.(run)]
    if (held === null || first === null || last === null) return null
    return (held as readonly unknown[]).slice(
      first === undefined ? undefined : Number(first),
      last === undefined ? undefined : Number(last),
    )
  }
}
