/** The arrays of a bulk commit's rows, which are filled together: the bytes are those of arrays that are made one by one. */
import { expect, it } from 'vitest'
import { byteaArray, int4Array } from '../../src/store/postgres/binary-array.ts'
import { type RowsToWrite, rowArrays } from '../../src/store/postgres/row-arrays.ts'

function inPieces(all: readonly RowsToWrite[]): { readonly arrays: readonly Buffer[]; readonly pieces: number } {
  const making = rowArrays(all)
  for (let pieces = 1; ; pieces++) {
    const { done, value } = making.next()
    if (done === true) return { arrays: value, pieces }
  }
}

function rowsOf(placement: number, count: number, valueBytes: number): RowsToWrite {
  const puts = Array.from({ length: count }, (_, i) => ({
    key: Buffer.from(`key ${i}`),
    value: Buffer.alloc(valueBytes, i % 251),
  }))
  return { placement, puts }
}

it.each([
  ['no rows', [], 1],
  [
    'placements of which some have none',
    [rowsOf(0, 0, 0), rowsOf(7, 3, 5), rowsOf(0x4000_0001, 2, 33), rowsOf(8, 0, 0)],
    1,
  ],
  ['keys and values that are empty', [{ placement: 1, puts: [{ key: Buffer.alloc(0), value: Buffer.alloc(0) }] }], 1],
  ['many rows, in pieces', [rowsOf(1, 3_000, 8), rowsOf(2, 3_000, 40)], 11],
  ['large values, in pieces', [rowsOf(1, 3, 1_500_000)], 3],
])('%s', (_, all: RowsToWrite[], pieces: number) => {
  const rows = all.flatMap(({ placement, puts }) => puts.map((put) => ({ placement, ...put })))
  const found = inPieces(all)
  expect(found.arrays[0]).toEqual(int4Array(rows.map(({ placement }) => placement)))
  expect(found.arrays[1]).toEqual(byteaArray(rows.map(({ key }) => key)))
  expect(found.arrays[2]?.equals(byteaArray(rows.map(({ value }) => value)))).toBe(true)
  expect(found.pieces).toBe(pieces)
})
