/** Rows of PostgreSQL keep every byte, however what is received is cut. */
import { EventEmitter } from 'node:events'
import fc from 'fast-check'
import type { ClientBase } from 'pg'
import { expect, it } from 'vitest'
import { RowsInBytes, receiveRowsInBytes } from '../../src/store/postgres/binary-rows.ts'

type Values = (Uint8Array | null)[]
type Message =
  | { readonly kind: 'row'; readonly values: Values }
  | { readonly kind: 'other'; readonly bytes: Uint8Array }

/** Parts what is received as a client of pg does, in pieces of these lengths, the last one again and again. */
function received(bytes: Buffer, lengths: readonly number[]): (Values | Buffer)[] {
  const got: (Values | Buffer)[] = []
  const connection = Object.assign(new EventEmitter(), {
    attachListeners(stream: EventEmitter) {
      stream.on('data', (other: Buffer) => got.push(Buffer.from(other)))
    },
  })
  receiveRowsInBytes({ connection } as unknown as ClientBase)
  connection.on('dataRow', ({ bytes, start }: { bytes: Buffer; start: number }) => {
    const rows = new RowsInBytes()
    rows.add(bytes, start)
    const count = bytes.readUInt16BE(start - 2)
    got.push(Array.from({ length: count }, (_, column) => rows.bytes(0, column) ?? null))
  })
  const stream = new EventEmitter()
  connection.attachListeners(stream)
  let at = 0
  for (let piece = 0; at < bytes.length; piece++) {
    const length = lengths[Math.min(piece, lengths.length - 1)] as number
    stream.emit('data', Buffer.from(bytes.subarray(at, at + length)))
    at += length
  }
  return got
}

function encoded(message: Message): Buffer {
  const body = message.kind === 'row' ? encodedRow(message.values) : Buffer.from(message.bytes)
  const head = Buffer.alloc(5)
  head.write(message.kind === 'row' ? 'D' : 'C')
  head.writeUInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}

function encodedRow(values: Values): Buffer {
  const count = Buffer.alloc(2)
  count.writeUInt16BE(values.length)
  const parts = values.flatMap((value) => {
    const length = Buffer.alloc(4)
    length.writeInt32BE(value?.length ?? -1)
    return value === null ? [length] : [length, Buffer.from(value)]
  })
  return Buffer.concat([count, ...parts])
}

it('rows and what comes between them arrive whole and in order', () => {
  const value = fc.option(fc.uint8Array({ maxLength: 40 }), { nil: null })
  const message = fc.oneof(
    fc.record({ kind: fc.constant('row' as const), values: fc.array(value, { maxLength: 4 }) }),
    fc.record({ kind: fc.constant('other' as const), bytes: fc.uint8Array({ maxLength: 20 }) }),
  )
  const lengths = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), lengths, (messages, lengths) => {
      const got = received(Buffer.concat(messages.map(encoded)), lengths)
      const rows = got.filter((one): one is Values => Array.isArray(one))
      const others = Buffer.concat(got.filter((one): one is Buffer => Buffer.isBuffer(one)))
      expect(rows).toEqual(
        messages.flatMap((one) => (one.kind === 'row' ? [one.values.map((value) => value && Buffer.from(value))] : [])),
      )
      expect(others).toEqual(Buffer.concat(messages.filter(({ kind }) => kind === 'other').map(encoded)))
    }),
  )
})

it('values are read, compared and sorted where they lie', () => {
  const value = fc.uint8Array({ maxLength: 6, max: 3 })
  fc.assert(
    fc.property(fc.array(fc.tuple(value, fc.option(value, { nil: null })), { maxLength: 12 }), (values) => {
      const rows = new RowsInBytes()
      // Behind something else, as rows are.
      for (const one of values)
        rows.add(Buffer.concat([Buffer.alloc(3), encodedRow([...one, Buffer.of(0, 0, 1, 2)])]), 5)
      const shown = (some: RowsInBytes) => {
        return Array.from({ length: some.count }, (_, row) => [
          some.bytes(row, 0),
          some.bytes(row, 1),
          some.int4(row, 2),
        ])
      }
      const expected = values.map(([one, other]) => [
        Buffer.from(one),
        other === null ? undefined : Buffer.from(other),
        258,
      ])
      expect(shown(rows)).toEqual(expected)
      expect(values.map((_, row) => rows.lengthOf(row, 1))).toEqual(values.map(([, other]) => other?.length ?? 0))
      expect(shown(rows.sorted((one, other) => rows.compare(one, other, 0)))).toEqual(
        expected.toSorted(([one], [other]) => Buffer.compare(one as Buffer, other as Buffer)),
      )
    }),
  )
})
