/** The order of rows as bytes: those of ORDER BY are compared as index keys are. */

import type { ByteWriter } from '../../bytes/byte-writer.ts'

import type { BoundOrderItem } from '../bind/bound.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { valueBytes } from './value-bytes.ts'
import { beginKey, keyWriter, type WriteKey } from './value-key.ts'

/** For fewer, a view of words costs more than it spares. */
const turnedOneByOneMax = 256
const wordBytes = 4
/** A step of about 10 ns writes so many bytes of a key, as a power of two. */
const bytesStepsShift = 4

export interface OrderPlan {
  readonly evaluate: Evaluate
  readonly write: WriteKey
  readonly isDescending: boolean
  /** Whether it is an attribute, which has the same value however often it is read. */
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

/** Nulls last where it ascends, first where it descends: a descending part has all its bytes turned. */
export function sortKey(orderBy: readonly OrderPlan[], evaluation: EvaluationContext): Buffer {
  return writeSortKey(orderBy, evaluation).taken()
}

/** Undefined unless it is less than `bound`. */
export function sortKeyBelow(
  orderBy: readonly OrderPlan[],
  evaluation: EvaluationContext,
  bound: Buffer | undefined,
  refused?: RefusedNumbers,
): Buffer | undefined {
  const first = refused !== undefined && orderBy[0]?.isAttribute === true ? orderBy[0].evaluate(evaluation) : undefined
  if (refused?.has(first) === true) return undefined
  const key = writeSortKey(orderBy, evaluation)
  if (bound === undefined || isBefore(key, bound)) return key.taken()
  refused?.add(first)
  return undefined
}

/**
 * The best number that was refused as the first value of a row: one that is not better is refused without a key, since those before which so many others come
 * stay behind them.
 */
export class RefusedNumbers {
  private readonly isOnly: boolean
  private readonly isDescending: boolean
  private best: number | undefined

  constructor(orderBy: readonly OrderPlan[]) {
    this.isOnly = orderBy.length === 1
    this.isDescending = orderBy[0]?.isDescending === true
  }

  /** Zero is not: it has two signs. */
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

/** Most keys differ in a byte that is found sooner than a call into native code is made. */
const comparedHereMax = 16

function isBefore({ bytes, length }: ByteWriter, bound: Buffer): boolean {
  const count = Math.min(length, bound.length, comparedHereMax)
  for (let at = 0; at < count; at++) {
    const difference = (bytes[at] as number) - (bound[at] as number)
    if (difference !== 0) return difference < 0
  }
  return bytes.compare(bound, count, bound.length, count, length) < 0
}

/** In a writer until the next key is begun. */
function writeSortKey(orderBy: readonly OrderPlan[], evaluation: EvaluationContext): ByteWriter {
  const values: unknown[] = []
  // All of them first: what an expression evaluates may write keys too, or may have to wait.
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
    if (isDescending) turnBytes(writer.to.bytes, start, writer.to.length)
  }
  return writer.to
}

/** Where there are many, four at a time. */
function turnBytes(bytes: Buffer, from: number, to: number): void {
  let at = from
  if (to - from > turnedOneByOneMax) {
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
