/** Reads records and embedded objects in pieces, since they may have very many parts. */
import type { Bytes } from '../store/store.ts'
import type { Codec, StepwiseWork } from '../types/logical-type.ts'
import type { ShapeNumber } from '../types/type-spec.ts'
import type { ClassFormat } from './class-format.ts'
import type { RecordValues } from './record-values.ts'

/** `ClassFormat.readValues` in pieces. */
export function* readValuesStepwise(
  format: ClassFormat,
  bytes: Bytes,
  start: number,
  end: number,
  shapeNumber: ShapeNumber,
): StepwiseWork<RecordValues> {
  const deferred: [index: number, codec: Codec, from: number, to: number][] = []
  const { values, positions } = format.readValues(bytes, start, end, shapeNumber, (...one) => deferred.push(one))
  for (const [index, codec, from, to] of deferred) values[index] = yield* codec.readStepwise?.(bytes, from, to) ?? []
  return { values: format.cls.isReferenceable ? values : [...format.withStoredValues(values)], positions }
}
