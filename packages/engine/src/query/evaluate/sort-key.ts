/** Sort keys: ORDER BY values encoded as bytes that compare like index keys. */

import type { ByteWriter } from '../../bytes/byte-writer.ts'

import type { BoundOrderItem } from '../bind/bound.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { valueBytes } from './value-bytes.ts'
import { beginKey, keyWriter, type WriteKey } from './value-key.ts'

/** Up to this length a loop over bytes is cheaper than a view of words. */
const byteLoopMax = 256
const wordBytes = 4
/** One work step (about 10 ns) encodes this many bytes, as a power of two. */
const bytesStepsShift = 4

export interface OrderPlan {
  readonly evaluate: Evaluate
  readonly write: WriteKey
  readonly isDescending: boolean
  /** An attribute has the same value however often it is read. */
  readonly isAttribute: boolean
}

export function planOrder(orderBy: readonly BoundOrderItem[], compiler: ExpressionCompiler): OrderPlan[] {
  return orderBy.map(({ expression, type, isDescending }) => {
    return {
      evaluate: compiler.compile(expression),
      write: keyWriter(type),
      isDescending,
      isAttribute: expression.kind === 'attribute',
    }
  })
}

/** Nulls sort last when ascending, first when descending: the bytes of a descending part are inverted. */
export function sortKey(orderBy: readonly OrderPlan[], evaluation: EvaluationContext): Buffer {
  return writeSortKey(orderBy, evaluation).takeBytes()
}

/** Undefined unless the key is less than `bound`. */
export function sortKeyBelow(
  orderBy: readonly OrderPlan[],
  evaluation: EvaluationContext,
  bound: Buffer | undefined,
  refused?: RefusedNumbers,
): Buffer | undefined {
  const first = refused !== undefined && orderBy[0]?.isAttribute === true ? orderBy[0].evaluate(evaluation) : undefined
  if (refused?.has(first) === true) return undefined
  const key = writeSortKey(orderBy, evaluation)
  if (bound === undefined || isBefore(key, bound)) return key.takeBytes()
  refused?.add(first)
  return undefined
}

/** The best number that was refused as the leading value of a row. Numbers that are not better are refused without encoding a key. */
export class RefusedNumbers {
  private readonly isOnly: boolean
  private readonly isDescending: boolean
  private best: number | undefined

  constructor(orderBy: readonly OrderPlan[]) {
    this.isOnly = orderBy.length === 1
    this.isDescending = orderBy[0]?.isDescending === true
  }

  /** Zero is excluded because of its two signs. */
  has(value: unknown): boolean {
    const { best } = this
    if (best === undefined || typeof value !== 'number' || value === 0) return false
    if (value === best) return this.isOnly
    return this.isDescending ? value < best : value > best
  }

  add(value: unknown): void {
    if (typeof value !== 'number' || value === 0 || Number.isNaN(value) || this.has(value)) return
    this.best = value
  }
}

/** Most keys differ within the first bytes, which a loop compares faster than a call into native code. */
const comparedBytesMax = 16

function isBefore({ bytes, length }: ByteWriter, bound: Buffer): boolean {
  const count = Math.min(length, bound.length, comparedBytesMax)
  for (let at = 0; at < count; at++) {
    const difference = (bytes[at] as number) - (bound[at] as number)
    if (difference !== 0) return difference < 0
  }
  return bytes.compare(bound, count, bound.length, count, length) < 0
}

/** Valid until the next key is written. */
function writeSortKey(orderBy: readonly OrderPlan[], evaluation: EvaluationContext): ByteWriter {
  const values: unknown[] = []
  // All are evaluated first: evaluation may write other keys, or throw `needsFetch`.
  for (let i = 0; i < orderBy.length; i++) values.push(orderBy[i]?.evaluate(evaluation))
  for (let i = 0; i < values.length; i++) {
    const bytes = valueBytes(values[i])
    evaluation.memory.chargeRow(bytes)
    evaluation.work.spend(bytes >> bytesStepsShift)
  }
  const writer = beginKey()
  for (let i = 0; i < values.length; i++) {
    const { write, isDescending } = orderBy[i] as OrderPlan
    const start = writer.to.length
    write(values[i], writer)
    if (isDescending) invertBytes(writer.to.bytes, start, writer.to.length)
  }
  return writer.to
}

/** Long ranges are inverted a word at a time. */
function invertBytes(bytes: Buffer, from: number, to: number): void {
  let at = from
  if (to - from > byteLoopMax) {
    const first = Math.ceil((bytes.byteOffset + from) / wordBytes)
    const words = new Int32Array(
      bytes.buffer,
      first * wordBytes,
      Math.floor((bytes.byteOffset + to) / wordBytes) - first,
    )
    const wordsFrom = first * wordBytes - bytes.byteOffset
    for (; at < wordsFrom; at++) bytes[at] = ~(bytes[at] as number) & 0xff
    for (let i = 0; i < words.length; i++) words[i] = ~(words[i] as number)
    at += words.byteLength
  }
  for (; at < to; at++) bytes[at] = ~(bytes[at] as number) & 0xff
}
