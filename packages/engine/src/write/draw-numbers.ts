/** Draws the numbers of sequences that defaults of new objects need (contract 10.6.18), one request per sequence for all objects. */
import { assert } from '../errors.ts'
import type { ClassFormat } from '../records/class-format.ts'
import { unevaluated } from '../records/creation-value.ts'
import { openTimeSlice, runYieldingIfLong } from '../store/time-slice.ts'
import type { StepwiseWork } from '../types/logical-type.ts'
import { objectsPerYield } from './evaluate-values.ts'
import type { NumbersOfSequences } from './object-expressions.ts'
import type { UnitOfWork } from './unit-of-work.ts'

/** Throws SequenceNotFound, SequenceExhausted, TransactionContention. */
export async function drawNumbers(unit: UnitOfWork): Promise<void> {
  const { objects, expressions } = unit
  const counts = new Map<string, number>()
  const slice = openTimeSlice()
  for (const { format, values, isDeleted } of objects.all()) {
    if (!format.drawsNumbers || isDeleted) continue
    await runYieldingIfLong(countDraws(unit, format, values, counts), slice)
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  if (counts.size === 0) return
  const drawn = new Drawn()
  for (const [sequence, count] of counts) drawn.stocks.set(sequence, (await expressions.draw(sequence, count)).values())
  unit.numbers = drawn
}

/** Adds the numbers that an object and those that it embeds need, by sequence. */
function* countDraws(
  unit: UnitOfWork,
  format: ClassFormat,
  values: readonly unknown[],
  counts: Map<string, number>,
): StepwiseWork<undefined> {
  const { objects, expressions } = unit
  for (const { index, draws } of expressions.all.defaultsOf(format, objects.formats)) {
    if (values[index] !== unevaluated) continue
    for (const sequence of draws) counts.set(sequence, (counts.get(sequence) ?? 0) + 1)
  }
  for (const attribute of format.evaluatedWithin) {
    const inner = format.embeddedIn(attribute)
    if (inner?.drawsNumbers !== true) continue
    const value = values[attribute.index] as readonly unknown[]
    const embedded = attribute.embedded === undefined ? (value as readonly (readonly unknown[])[]) : [value]
    for (const [i, object] of embedded.entries()) {
      if (i % objectsPerYield === objectsPerYield - 1) yield
      yield* countDraws(unit, inner, object, counts)
    }
  }
}

/** Numbers that are left, because a branch of an expression was not evaluated, are lost: sequences have gaps. */
class Drawn implements NumbersOfSequences {
  readonly stocks = new Map<string, Iterator<bigint>>()

  next(sequence: string): bigint {
    const number = this.stocks.get(sequence)?.next().value
    assert(typeof number === 'bigint', 'numbers are drawn for all defaults before these are evaluated')
    return number
  }
}
