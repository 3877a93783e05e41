/** Values as bytes of a key: equal exactly where the values are, and ordered as they are. */
import { KeyWriter } from '../../bytes/key-writer.ts'
import { unreachable } from '../../errors.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import { referenceKey } from '../../types/reference.ts'
import { scalarKinds } from '../values/scalars/scalar-kinds.ts'
import { isScalar, type ScalarType, type ValueType } from '../values/value-type.ts'

/** Writes a value of one type, as a part of a key; null has a place of its own, and so has what is no number. */
export type WriteKey = (value: unknown, writer: KeyWriter) => void

let writer = new KeyWriter()
/** What a long text has made of it is let go of again. */
const writerBytesMax = 65_536

/** Empty, and the same each time: a key is written at once. */
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

/** Scalars as their codec writes them into an index; what no index can have, as a text. The reference to nothing stands with the nulls. */
export function keyWriter(type: ValueType): WriteKey {
  const write = isScalar(type) ? scalarKinds[type.kind].writeKey : writerOf(type)
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
      // A kind without a key would make all its values equal: the compiler names this line for a new one.
      return unreachable(type satisfies never)
  }
}
