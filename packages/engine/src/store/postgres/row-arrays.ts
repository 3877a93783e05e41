/**
 * Rows in the form that PostgreSQL accepts: one array per column, filled together, so that each row is visited twice
 * instead of once per step and column.
 */
import type { Bytes } from '../store.ts'
import { begunArray, setBytes, setInt32 } from './binary-array.ts'

/** Of one placement. */
export interface RowsToWrite {
  readonly placement: number
  readonly puts: readonly { readonly key: Bytes; readonly value: Bytes }[]
}

/** What is looked at or copied in one piece: about a millisecond of work. */
const pieceRows = 1_024
const pieceBytes = 1_048_576

/** Placements, keys and values. In pieces, between which others may have their turn; of few and short rows there is one piece alone. */
export function* rowArrays(all: readonly RowsToWrite[]): Generator<undefined, [Buffer, Buffer, Buffer], undefined> {
  let [rows, keyBytes, valueBytes] = [0, 0, 0]
  for (const { puts } of all) {
    for (let i = 0; i < puts.length; i++) {
      const { key, value } = puts[i] as RowsToWrite['puts'][number]
      keyBytes += 4 + key.length
      valueBytes += 4 + value.length
      if (++rows % pieceRows === 0) yield
    }
  }
  const arrays = new RowArrays(rows, keyBytes, valueBytes)
  for (const { placement, puts } of all) {
    for (let i = 0; i < puts.length; i++) {
      const { key, value } = puts[i] as RowsToWrite['puts'][number]
      if (arrays.isPieceFull()) yield
      arrays.add(placement, key, value)
    }
  }
  return [arrays.placements, arrays.keys, arrays.values]
}

class RowArrays {
  readonly placements: Buffer
  readonly keys: Buffer
  readonly values: Buffer
  private row = 0
  private placementAt: number
  private keyAt: number
  private valueAt: number
  private pieceRow = 0
  private pieceAt: number

  constructor(rows: number, keyBytes: number, valueBytes: number) {
    this.placements = begunArray(rows, 'int4', rows * 8)
    this.keys = begunArray(rows, 'bytea', keyBytes)
    this.values = begunArray(rows, 'bytea', valueBytes)
    this.placementAt = this.placements.length - rows * 8
    this.keyAt = this.keys.length - keyBytes
    this.valueAt = this.values.length - valueBytes
    this.pieceAt = this.keyAt + this.valueAt
  }

  /** What is added then is of the next one. */
  isPieceFull(): boolean {
    const isFull = this.row - this.pieceRow >= pieceRows || this.keyAt + this.valueAt - this.pieceAt >= pieceBytes
    if (isFull) {
      this.pieceRow = this.row
      this.pieceAt = this.keyAt + this.valueAt
    }
    return isFull
  }

  add(placement: number, key: Bytes, value: Bytes): void {
    const { placements } = this
    this.placementAt = setInt32(placements, placement, setInt32(placements, 4, this.placementAt))
    this.row++
    this.keyAt = setBytes(this.keys, this.keyAt, key)
    this.valueAt = setBytes(this.values, this.valueAt, value)
  }
}
