/** A change that takes more than an entry of the log is continued in the next ones, each made in a piece of its own. */
import { expect, it } from 'vitest'
import { keySpace } from '../../src/bytes/key-space.ts'
import { type ChangeFrom, logValues, readLogHeader } from '../../src/change-log/log-entry.ts'

const mebibyte = 1_048_576
const headerBytes = 7
const key = Buffer.from([keySpace.object, 1, 2, 3])

/** Of one change, as it is laid out where there is room for it. */
function laidOut(before: Buffer | undefined, after: Buffer): Buffer {
  const lengthOf = (one: Buffer): Buffer =>
    Buffer.from([one.length >>> 24, one.length >>> 16, one.length >>> 8, one.length])
  const tags = Buffer.from([before === undefined ? 2 : 3, 0, key.length])
  return Buffer.concat([
    tags,
    key,
    ...[before, after].flatMap((one) => (one === undefined ? [] : [lengthOf(one), one])),
  ])
}

it.each([
  [undefined, 70_000],
  [undefined, mebibyte - headerBytes - 11],
  [undefined, mebibyte - headerBytes - 10],
  [undefined, 2 * mebibyte - headerBytes - 11],
  [3 * mebibyte + 5, 2 * mebibyte],
] as const)('before %s bytes, after %s', (beforeBytes, afterBytes) => {
  const before = beforeBytes === undefined ? undefined : Buffer.alloc(beforeBytes, 'before ')
  const after = Buffer.alloc(afterBytes, 'after ')
  const change: ChangeFrom = { kind: 'put', key, value: after, before }
  const made = logValues([change], 1_234)
  let pieces = 1
  let step = made.next()
  for (; step.done !== true; step = made.next()) pieces++
  const entries = step.value.map((value) => Buffer.from(value))
  const whole = laidOut(before, after)
  expect(Buffer.concat(entries.map((value) => value.subarray(headerBytes))).equals(whole)).toBe(true)
  // The first is as long with its header as the others are without theirs.
  const count = Math.ceil((headerBytes + whole.length) / mebibyte)
  expect([entries.length, pieces]).toEqual([count, count])
  expect(entries.slice(0, -1).map(({ length }) => length)).toEqual(
    Array.from({ length: count - 1 }, (_, i) => (i === 0 ? mebibyte : headerBytes + mebibyte)),
  )
  expect(entries.map((value) => readLogHeader(value))).toEqual(
    entries.map((_, i) => ({ isLast: i === count - 1, isContinued: i > 0, at: 1_234 })),
  )
})
