/** Exact binary encoding of values in temporary files, which only the process that wrote them reads. */
import type { ByteWriter } from '../../bytes/byte-writer.ts'
import { assert, unreachable } from '../../errors.ts'
import type { ClassFormat } from '../../records/class-format.ts'
import { Decimal } from '../../types/decimal-number.ts'
import type { Oid } from '../../types/oid.ts'
import { NewObject } from '../evaluate/new-object.ts'
import { ObjectView } from '../evaluate/object-view.ts'
import { ValuesView } from '../evaluate/values-view.ts'

const tags = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  /** A 32-bit integer other than -0. */
  integer: 4,
  double: 5,
  bigint: 6,
  ascii: 7,
  text: 8,
  array: 9,
  plain: 10,
  /** A view of an object, by its OID or by its key. */
  object: 11,
  objectByKey: 12,
  newObject: 13,
  valuesView: 14,
  decimal: 15,
} as const

/** Up to this length a loop over the characters beats a call into the runtime. */
const shortCharacters = 24
/** Shared formats and shapes are written as numbers and stay in memory: there are few of them, however many values there are. */
export class ValueCodec {
  private readonly formats = new Interned<ClassFormat>()
  private readonly shapes = new Interned<readonly string[]>()
  private readonly newObjects = new Interned<Pick<NewObject, 'cls' | 'assignments'>>()

  write(value: unknown, to: ByteWriter): void {
    switch (typeof value) {
      case 'undefined':
        to.writeByte(tags.undefined)
        break
      case 'boolean':
        to.writeByte(value ? tags.true : tags.false)
        break
      case 'number':
        writeNumber(value, to)
        break
      case 'bigint':
        to.writeByte(tags.bigint)
        writeText(value.toString(), to)
        break
      case 'string':
        writeText(value, to)
        break
      case 'object':
        if (value === null) to.writeByte(tags.null)
        else this.writeObject(value, to)
        break
      default:
        unreachable(`a value is not a ${typeof value}`)
    }
  }

  /** Reads the value at `from.at`, and advances it. */
  read(from: Position): unknown {
    const { bytes } = from
    const tag = bytes[from.at++]
    switch (tag) {
      case tags.undefined:
        return undefined
      case tags.null:
        return null
      case tags.false:
        return false
      case tags.true:
        return true
      case tags.integer:
        from.at += 4
        return bytes.readInt32BE(from.at - 4)
      case tags.double:
        from.at += 8
        return bytes.readDoubleBE(from.at - 8)
      case tags.bigint:
        from.at++
        return BigInt(readText(from, 'latin1'))
      case tags.ascii:
        return readText(from, 'latin1')
      case tags.text:
        return readText(from, 'utf16le')
      case tags.array:
        return this.readArray(from)
      case tags.plain: {
        const names = this.shapes.at(readCount(from))
        return Object.fromEntries(names.map((name) => [name, this.read(from)]))
      }
      case tags.object:
      case tags.objectByKey:
        return this.readView(from, tag === tags.objectByKey)
      case tags.newObject: {
        const { cls, assignments } = this.newObjects.at(readCount(from))
        return new NewObject(cls, assignments, this.read(from) as readonly unknown[])
      }
      case tags.valuesView:
        return new ValuesView(this.read(from) as readonly unknown[])
      case tags.decimal:
        return new Decimal(this.read(from) as bigint, this.read(from) as number)
      default:
        return unreachable(`no value begins with ${tag}`)
    }
  }

  private writeObject(value: object, to: ByteWriter): void {
    if (Array.isArray(value)) {
      to.writeByte(tags.array)
      to.writeUint32(value.length)
      for (let i = 0; i < value.length; i++) this.write(value[i], to)
    } else if (value instanceof ValuesView) {
      to.writeByte(tags.valuesView)
      this.write(value.values, to)
    } else if (value instanceof Decimal) {
      to.writeByte(tags.decimal)
      this.write(value.units, to)
      writeNumber(value.scale, to)
    } else if (value instanceof ObjectView) this.writeView(value, to)
    else if (value instanceof NewObject) {
      to.writeByte(tags.newObject)
      to.writeUint32(this.newObjects.of({ cls: value.cls, assignments: value.assignments }, value.assignments))
      this.write(value.values, to)
    } else {
      // A map pair, an edge, or a moment with its offset.
      assert(
        Object.getPrototypeOf(value) === Object.prototype,
        'values of other classes are written in a way of their own',
      )
      const names = Object.keys(value)
      to.writeByte(tags.plain)
      to.writeUint32(this.shapes.of(names, JSON.stringify(names)))
      for (const element of Object.values(value)) this.write(element, to)
    }
  }

  private writeView(view: ObjectView, to: ByteWriter): void {
    const { key, format, record } = view
    to.writeByte(key === undefined ? tags.object : tags.objectByKey)
    to.writeUint32(format === undefined ? 0 : this.formats.of(format) + 1)
    if (key === undefined) writeText(view.oid, to)
    else writeBytes(key, to)
    writeBytes(record, to)
  }

  private readView(from: Position, isByKey: boolean): ObjectView {
    const number = readCount(from)
    const key = isByKey ? readBytes(from) : undefined
    const oid = isByKey ? undefined : (this.read(from) as Oid)
    return new ObjectView(oid, key, number === 0 ? undefined : this.formats.at(number - 1), readBytes(from))
  }

  private readArray(from: Position): unknown[] {
    const count = readCount(from)
    const values: unknown[] = []
    for (let i = 0; i < count; i++) values.push(this.read(from))
    return values
  }
}

export interface Position {
  readonly bytes: Buffer
  at: number
}

class Interned<T> {
  private readonly all: T[] = []
  private readonly numbers = new Map<unknown, number>()

  /** `key`: equal for equal values. */
  of(value: T, key: unknown = value): number {
    let number = this.numbers.get(key)
    if (number === undefined) {
      number = this.all.push(value) - 1
      this.numbers.set(key, number)
    }
    return number
  }

  at(number: number): T {
    return this.all[number] as T
  }
}

function writeNumber(value: number, to: ByteWriter): void {
  if ((value | 0) === value && !Object.is(value, -0)) {
    const at = to.reserve(5)
    to.bytes[at] = tags.integer
    to.bytes.writeInt32BE(value, at + 1)
  } else {
    to.writeByte(tags.double)
    to.writeDouble(value)
  }
}

/** Writes UTF-16 code units, since a string may contain lone surrogates. */
function writeText(value: string, to: ByteWriter): void {
  const { length } = value
  const isAscii = isAsciiText(value)
  to.writeByte(isAscii ? tags.ascii : tags.text)
  to.writeUint32(length)
  const at = to.reserve(isAscii ? length : 2 * length)
  if (!isAscii) to.bytes.write(value, at, 'utf16le')
  else if (length > shortCharacters) to.bytes.write(value, at, 'latin1')
  else for (let i = 0; i < length; i++) to.bytes[at + i] = value.charCodeAt(i)
}

function isAsciiText(value: string): boolean {
  if (value.length > shortCharacters) return Buffer.byteLength(value) === value.length
  for (let i = 0; i < value.length; i++) if (value.charCodeAt(i) > 0x7f) return false
  return true
}

function readText(from: Position, encoding: 'latin1' | 'utf16le'): string {
  const count = readCount(from)
  const start = from.at
  from.at += encoding === 'latin1' ? count : 2 * count
  return from.bytes.toString(encoding, start, from.at)
}

function writeBytes(bytes: Uint8Array, to: ByteWriter): void {
  to.writeUint32(bytes.length)
  to.writeBytes(bytes)
}

/** Copies, since the source buffer is reused. */
function readBytes(from: Position): Buffer {
  const count = readCount(from)
  from.at += count
  const copy = Buffer.allocUnsafe(count)
  from.bytes.copy(copy, 0, from.at - count, from.at)
  return copy
}

function readCount(from: Position): number {
  from.at += 4
  return from.bytes.readUInt32BE(from.at - 4)
}
