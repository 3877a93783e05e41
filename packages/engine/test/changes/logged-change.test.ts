/** A change as it is logged: written and read again, whatever its key, and what is there before and after. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ChangeReader, changeBytesMax, type LoggedChange, writeChange } from '../../src/change-log/logged-change.ts'
import { runs } from '../bytes/property-runs.ts'

type Bytes = Uint8Array | undefined

function written(changes: readonly LoggedChange[]): Buffer {
  const bytes = changes.reduce((sum, { key, before, after }) => sum + changeBytesMax(key, before, after), 0)
  const to = Buffer.alloc(bytes)
  const end = changes.reduce((at, { key, before, after }) => writeChange(to, at, key, before, after), 0)
  expect(end).toBeLessThanOrEqual(bytes)
  return to.subarray(0, end)
}

function readAgain(body: Buffer): LoggedChange[] {
  const reader = new ChangeReader(body)
  const changes: LoggedChange[] = []
  while (!reader.isAtEnd) changes.push(reader.next())
  return changes
}

const plain = ({ key, before, after }: LoggedChange) => [key, before, after].map((one) => one && [...one])

it('any changes, one after the other', () => {
  // Few different bytes, so that what is there before and after has much in common.
  const value = fc.option(fc.uint8Array({ max: 2, maxLength: 40 }), { nil: undefined })
  const change = fc.record({ key: fc.uint8Array({ minLength: 1, maxLength: 30 }), before: value, after: value })
  const property = fc.property(fc.array(change, { maxLength: 5 }), (changes) => {
    expect(readAgain(written(changes)).map(plain)).toEqual(changes.map(plain))
  })
  fc.assert(property, runs(500))
})

it.each([
  ['the longest short key', Buffer.alloc(255, 1), undefined, Buffer.of(1)],
  ['a long key', Buffer.alloc(256, 1), Buffer.of(1), Buffer.of(2)],
  ['the longest short values', Buffer.of(1), Buffer.alloc(65_535, 1), Buffer.alloc(65_535, 1)],
  ['a long value before', Buffer.of(1), Buffer.alloc(65_536, 1), Buffer.of(1)],
  ['a long value after', Buffer.of(1), Buffer.of(1), Buffer.alloc(200_000, 1)],
] as const)('%s', (_, key: Buffer, before: Bytes, after: Bytes) => {
  const change = { key, before, after }
  expect(readAgain(written([change, change])).map(plain)).toEqual([change, change].map(plain))
})

it('a record of which little is changed takes little more than what it held', () => {
  const before = Buffer.from('a record of fifty bytes, of which one is changed ..')
  const after = Buffer.from(before)
  after[20] = 0
  expect(written([{ key: Buffer.alloc(9), before, after }]).length).toBeLessThan(before.length + 25)
})

it('a change as formats before the fourth have it', () => {
  const body = Buffer.from('03000203aa00000002beef00000001ff', 'hex')
  expect(readAgain(body).map(plain)).toEqual([[[0x03, 0xaa], [0xbe, 0xef], [0xff]]])
})

it('what does not hold its changes whole is a fault', () => {
  const body = written([{ key: Buffer.of(1), before: Buffer.from('before'), after: Buffer.from('after') }])
  expect(() => readAgain(body.subarray(0, -1))).toThrow('holds its changes whole')
  const damaged = Buffer.from(body)
  damaged.writeUInt16BE(7, 11)
  expect(() => readAgain(damaged)).toThrow('is one from what is there before')
})
