/** Values on their way over disk are what they were, in pieces and at once. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../../src/bytes/byte-writer.ts'
import { NewObject } from '../../../src/query/evaluate/new-object.ts'
import { ObjectView } from '../../../src/query/evaluate/object-view.ts'
import { ValuesView } from '../../../src/query/evaluate/values-view.ts'
import { ValueCodec } from '../../../src/query/execute/value-codec.ts'
import type { ClassFormat } from '../../../src/records/class-format.ts'
import type { SchemaClass } from '../../../src/schema/catalog.ts'
import type { Oid } from '../../../src/types/oid.ts'
import { runs } from '../../bytes/property-runs.ts'

function written(value: unknown, codec: ValueCodec): Buffer {
  const to = new ByteWriter(16)
  codec.write(value, to)
  return to.copy()
}

const scalar = fc.oneof(
  fc.constantFrom(null, undefined, true, false, 0, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  fc.constantFrom(
    2 ** 31,
    -(2 ** 31),
    2 ** 31 - 1,
    Number.MAX_SAFE_INTEGER,
    Number.MIN_VALUE,
    2n ** 64n - 1n,
    -(2n ** 63n),
  ),
  fc.double(),
  fc.maxSafeInteger(),
  fc.string({ unit: 'binary' }),
  fc.string({ maxLength: 60 }),
  fc.constantFrom('\ud83d', '\udc00x', '\0', '\x7f', '\x80', 'é', 'x'.repeat(70_000), '😀'.repeat(40_000)),
)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie('value'), { maxLength: 6 }),
    fc.record({ key: scalar, value: tie('value') }, { noNullPrototype: true }),
    fc.record({ ticks: fc.maxSafeInteger(), offsetMinutes: fc.integer() }, { noNullPrototype: true }),
    fc.record(
      { from: fc.string(), to: fc.string(), edgeData: fc.string() },
      { requiredKeys: ['from', 'to'], noNullPrototype: true },
    ),
  ),
}))

describe('values on their way over disk', () => {
  it('are what they were', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 8 }), (values) => {
        const codec = new ValueCodec()
        const to = new ByteWriter(16)
        for (const one of values) codec.write(one, to)
        const from = { bytes: to.copy(), at: 0 }
        expect(values.map(() => codec.read(from))).toStrictEqual(values)
        expect(from.at).toBe(from.bytes.length)
      }),
      runs(300),
    )
  })

  it('are also objects, there or not, and such as are not made yet', () => {
    const codec = new ValueCodec()
    const format = { readValue: () => 7 } as unknown as ClassFormat
    const record = Buffer.from([0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    const oid = '3-3-1-1' as Oid
    for (const view of [
      new ObjectView(oid, undefined, format, record),
      new ObjectView(oid, undefined, undefined, Buffer.alloc(0)),
      new ObjectView(undefined, Buffer.from([1, 0, 3, 0, 3, 0, 0, 0, 1, 0, 1]), format, record),
    ]) {
      const read = codec.read({ bytes: written(view, codec), at: 0 }) as ObjectView
      expect(read).toBeInstanceOf(ObjectView)
      expect([read.oid, read.format, read.value(0), Buffer.from(read.record)]).toEqual([
        view.oid,
        view.format,
        view.value(0),
        Buffer.from(view.record),
      ])
    }
    const made = new NewObject({ name: 'T' } as SchemaClass, [], [1, 'a', [2]])
    expect(codec.read({ bytes: written(made, codec), at: 0 })).toStrictEqual(made)
    const known = codec.read({ bytes: written(new ValuesView([1, 'a', null]), codec), at: 0 }) as ObjectView
    expect([known.value(0), known.value(1), known.value(2), known.bytes > 0]).toEqual([1, 'a', null, true])
    expect(() => written(new Map(), codec)).toThrow('assertion failed')
  })
})
