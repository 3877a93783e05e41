/** Values in memory as bytes of temporary files, exactly: only the process that has written them reads them. */
import type { ByteWriter } from '../../bytes/byte-writer.ts'
import { assert, unreachable } from '../../errors.ts'
import type { ClassFormat } from '../../records/class-format.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import { Decimal } from '../../types/decimal-number.ts'
import type { Oid } from '../../types/oid.ts'
import type { BoundAssignment } from '../bind/bound.ts'
import { NewObject } from '../evaluate/new-object.ts'
import { ObjectView } from '../evaluate/object-view.ts'
import { ValuesView } from '../evaluate/values-view.ts'

const tags = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  /** Whole, of 32 bits, and not -0. */
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

/** Up to here a loop over the characters of a text beats a call into the runtime. */
const shortCharacters = 24
/** What values share is told by its number, and stays in memory: a few formats and shapes, whatever the number of values. */
export class ValueCodec {
  private readonly formats = new Numbered<ClassFormat>()
  private readonly shapes = new Numbered<readonly string[]>()
  private readonly shapeNumbers = new Map<string, number>()
  private readonly made = new Numbered<Made>()
  private readonly madeNumbers = new Map<readonly BoundAssignment[], number>()
  /** Since others had their turn. */

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

  /** `at`: where it begins; where it ends is left there. */
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
        const { cls, assignments } = this.made.at(readCount(from))
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
      to.writeUint32(this.numberOfMade(value))
      this.write(value.values, to)
    } else {
      // A pair of a map, an edge, a moment with its offset.
      assert(
        Object.getPrototypeOf(value) === Object.prototype,
        'values of other classes are written in a way of their own',
      )
      const names = Object.keys(value)
      to.writeByte(tags.plain)
      to.writeUint32(this.numberOfShape(names))
      for (const held of Object.values(value)) this.write(held, to)
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

  private numberOfShape(names: readonly string[]): number {
    const name = JSON.stringify(names)
    let number = this.shapeNumbers.get(name)
    if (number === undefined) {
      number = this.shapes.of(names)
      this.shapeNumbers.set(name, number)
    }
    return number
  }

  private numberOfMade({ cls, assignments }: NewObject): number {
    let number = this.madeNumbers.get(assignments)
    if (number === undefined) {
      number = this.made.of({ cls, assignments })
      this.madeNumbers.set(assignments, number)
    }
    return number
  }
}

interface Made {
  readonly cls: SchemaClass
  readonly assignments: readonly BoundAssignment[]
}

/** Where something is read. */
export interface Position {
  readonly bytes: Buffer
  at: number
}

class Numbered<T> {
  private readonly all: T[] = []
  private readonly numbers = new Map<T, number>()

  of(one: T): number {
    let number = this.numbers.get(one)
    if (number === undefined) {
      number = this.all.push(one) - 1
      this.numbers.set(one, number)
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

/** Code unit by code unit, since a text may hold halves of surrogate pairs. */
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

/** A copy: what they are read from is used again. */
function readBytes(from: Position): Buffer {
  const count = readCount(from)
  from.at += count
  const copied = Buffer.allocUnsafe(count)
  from.bytes.copy(copied, 0, from.at - count, from.at)
  return copied
}

function readCount(from: Position): number {
  from.at += 4
  return from.bytes.readUInt32BE(from.at - 4)
}
