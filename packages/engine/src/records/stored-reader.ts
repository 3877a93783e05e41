/** Readers of values that are stored in an earlier type of their attribute. */
import type { ShapeAttribute } from '../schema/class-definition.ts'
import type { Bytes } from '../store/store.ts'
import { type Conversion, conversionFor } from '../types/conversion.ts'
import { codecFor } from '../types/index.ts'
import type { CodecContext } from '../types/logical-type.ts'
import { valueOfJson } from './creation-value.ts'

/** Returns the value in memory, in the present type. */
export type StoredReader = (bytes: Bytes, start: number, end: number) => unknown

/** Undefined if the bytes need no conversion: the type is unchanged, or only the class of references has changed. */
export function storedReader(types: readonly ShapeAttribute[], context: CodecContext): StoredReader | undefined {
  const [first] = types
  const steps = conversionsBetween(types, context)
  if (first === undefined || steps.length === 0) return undefined
  const { read } = codecFor(first.spec, context)
  return (bytes, start, end) => convertAll(read(bytes, start, end), steps)
}

/** Returns a value of the first type in the last one. */
export function converted(value: unknown, types: readonly ShapeAttribute[], context: CodecContext): unknown {
  return convertAll(value, conversionsBetween(types, context))
}

/**
 * Converts from each type to the next; changes of the referenced class need no conversion. A value that does not fit becomes
 * the default that the attribute had when it got the type.
 */
function conversionsBetween(types: readonly ShapeAttribute[], context: CodecContext): Conversion[] {
  return types.slice(1).flatMap(({ spec, conversion, initial }, i) => {
    const lost = valueOfJson(codecFor(spec, context), initial)
    return conversionFor((types[i] as ShapeAttribute).spec, spec, conversion ?? 'lenient', lost) ?? []
  })
}

function convertAll(value: unknown, steps: readonly Conversion[]): unknown {
  let result = value
  for (const step of steps) result = result === null ? null : step.convert(result)
  return result
}
