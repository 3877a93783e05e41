/** Measures the time and reads of an operator, batch by batch. */
import { type ExplainNode, newMeasures } from './explain-node.ts'
import type { ReadCounts } from './statement-probe.ts'

/** `nowMs`: see `StatementProbe`. Batches are pulled one at a time, so that the measurements include the operator's inputs. */
export async function* measuredRows<T>(
  batches: AsyncIterable<T>,
  operator: ExplainNode,
  reader: ReadCounts['reader'],
  nowMs: () => number,
): AsyncGenerator<T> {
  operator.measured ??= newMeasures()
  const { measured } = operator
  const iterator = batches[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { objectsRead, linksRead } = reader
      const started = nowMs()
      const batch = await iterator.next()
      measured.ms += nowMs() - started
      measured.objectsRead += reader.objectsRead - objectsRead
      measured.linksRead += reader.linksRead - linksRead
      if (batch.done === true) return
      yield batch.value
    }
  } finally {
    await iterator.return?.()
  }
}
