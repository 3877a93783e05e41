/** Encodes values as bytes of a key that is equal for equal values, and ordered like the values. */
import { KeyWriter } from '../../bytes/key-writer.ts'
import { unreachable } from '../../errors.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import { referenceKey } from '../../types/reference.ts'
import { scalarKinds } from '../values/scalars/scalar-kinds.ts'
import { isScalarType, type ScalarType, type ValueType } from '../values/value-type.ts'

/** Appends a value of one type to a key; null and NaN share a key that sorts after all other values. */
export type WriteKey = (value: unknown, writer: KeyWriter) => void

let writer = new KeyWriter()
/** A writer that a long text has enlarged beyond this is discarded. */
const writerBytesMax = 65_536

/** Returns the shared writer, emptied: a key must be complete before the next one begins. */
export function beginKey(): KeyWriter {
  if (writer.to.bytes.length > writerBytesMax) writer = new KeyWriter()
  writer.to.reset()
  return writer
}

/** Equal exactly where the values are. */
export function groupKey(writers: readonly WriteKey[], values: readonly unknown[]): string {
  const key = beginKey()
  for (const [i, write] of writers.entries()) write(values[i], key)
  return key.to.bytes.toString('latin1', 0, key.to.length)
}

/** Scalars are encoded as in an index, types that cannot be indexed as text. The null reference counts as null. */
export function keyWriter(type: ValueType): WriteKey {
  const write = isScalarType(type) ? scalarKinds[type.kind].writeKey : writerOf(type)
  return (value, to) => {
    if (value === null || value === undefined || Number.isNaN(value)) to.null()
    else write(value, to)
  }
}

function writerOf(type: Exclude<ValueType, ScalarType>): WriteKey {
  switch (type.kind) {
    case 'reference':
    case 'object':
      return (value, to) => (value === noOid ? to.null() : referenceKey.write(value as Oid, to))
    case 'null':
    case 'embedded':
    case 'collection':
    case 'map':
    case 'record':
    case 'edge':
      return (value, to) => to.text(String(value))
    default:
      // A type without an encoding would make all its values equal, so that the compiler rejects a new type here.
      return unreachable(type satisfies never)
  }
}
