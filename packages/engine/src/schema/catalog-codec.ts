/** Encodes the parts of the catalog: JSON, one value per class, shape, index and sequence. Part of the storage format. */

import { assert } from '../errors.ts'
import type { SequenceNumber } from '../types/type-spec.ts'
import type {
  CatalogCounters,
  CatalogState,
  ClassDefinition,
  IndexDefinition,
  IndexNumber,
  SequenceDefinition,
  Shape,
} from './class-definition.ts'

export interface ChangedParts {
  readonly classes: readonly ClassDefinition[]
  readonly shapes: readonly Shape[]
  readonly indexes: readonly IndexDefinition[]
  readonly removedIndexes: readonly IndexNumber[]
  readonly sequences: readonly SequenceDefinition[]
  readonly removedSequences: readonly SequenceNumber[]
  readonly counters: CatalogCounters | undefined
}

/** Parts are immutable, so a changed part is another object. */
export function changedParts(before: CatalogState, after: CatalogState): ChangedParts {
  return {
    classes: added(before.classes, after.classes),
    shapes: added(before.shapes, after.shapes),
    indexes: added(before.indexes, after.indexes),
    removedIndexes: removed(before.indexes, after.indexes),
    sequences: added(before.sequences, after.sequences),
    removedSequences: removed(before.sequences, after.sequences),
    counters: before.counters === after.counters ? undefined : after.counters,
  }
}

function added<T>(before: readonly T[], after: readonly T[]): T[] {
  const existing = new Set(before)
  return after.filter((part) => !existing.has(part))
}

/** Compares by number, since changed parts keep theirs. */
function removed<N>(before: readonly { readonly number: N }[], after: readonly { readonly number: N }[]): N[] {
  if (before === after) return []
  const remaining = new Set(after.map(({ number }) => number))
  return before.map(({ number }) => number).filter((number) => !remaining.has(number))
}

export const encodeClass: (definition: ClassDefinition) => Buffer = encode
export const encodeShape: (shape: Shape) => Buffer = encode
export const encodeIndex: (definition: IndexDefinition) => Buffer = encode
export const encodeSequence: (definition: SequenceDefinition) => Buffer = encode
export const encodeCounters: (counters: CatalogCounters) => Buffer = encode

export function decodeClass(bytes: Uint8Array): ClassDefinition {
  return decode<ClassDefinition>(bytes, ['number', 'name', 'shapeNumber', 'attributes'])
}

export function decodeShape(bytes: Uint8Array): Shape {
  return decode<Shape>(bytes, ['number', 'classNumber', 'attributes'])
}

export function decodeIndex(bytes: Uint8Array): IndexDefinition {
  return decode<IndexDefinition>(bytes, ['number', 'name', 'indexedClass', 'keyAttributes', 'state'])
}

export function decodeSequence(bytes: Uint8Array): SequenceDefinition {
  return decode<SequenceDefinition>(bytes, ['number', 'name', 'start', 'step'])
}

export function decodeCounters(bytes: Uint8Array): CatalogCounters {
  return decode<CatalogCounters>(bytes, ['classOrShape', 'attribute', 'index'])
}

function encode(part: object): Buffer {
  return Buffer.from(JSON.stringify(part))
}

function decode<T extends object>(bytes: Uint8Array, fields: readonly (keyof T & string)[]): T {
  const part = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()) as T
  for (const field of fields) assert(part[field] !== undefined, `a part of the catalog has its ${field}`)
  return part
}
