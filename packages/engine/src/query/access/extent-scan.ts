/** Scans all objects of the classes container by container, or only counts them if that is sufficient. */
import { containerExtent } from '../../records/object-key.ts'
import type { ClassSet } from '../../schema/class-set.ts'
import { countRange } from '../../store/count-range.ts'
import type { Bytes, KeyRange } from '../../store/store.ts'
import { oidFromBytes } from '../../types/oid.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { OutputRow } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { Pipeline } from '../operators/row-operator.ts'
import type { ObjectAccess } from './access-path.ts'
import { type NewLoop, type ObjectScan, RangeLoop, ViewsLoop } from './object-loop.ts'

const objectsPerBatch = 4_096
/** Large enough to make an index worthwhile; constant for all classes, so that it reveals nothing. */
const objectsOfPartialExtent = 1_000_000

export class ExtentScan implements ObjectAccess {
  private readonly classes: ClassSet

  constructor(classes: ClassSet) {
    this.classes = classes
  }

  describe(className: string): ExplainNode {
    return explainNode('extentScan', { class: className, classes: this.classes.classes.map(({ name }) => name) })
  }

  /** Estimates from the position of the last object in each container, without reading objects; includes deleted ones. */
  async estimate(context: StatementContext): Promise<number> {
    // Finding the last visible object would require checking all hidden ones after it.
    if (context.script.capabilities.isPartial === true) return objectsOfPartialExtent
    const extents = await this.extents(context)
    const { ranges } = await context.snapshot.read(
      [],
      extents.map((extent) => ({ ...extent, reverse: true, limit: 1 })),
    )
    let count = 0
    for (const entries of ranges) {
      const last = entries[0]
      if (last === undefined) continue
      const [, , page, slot] = oidFromBytes(last.key, 1).split('-').map(Number) as [number, number, number, number]
      count += (page - 1) * 65_535 + slot
    }
    return count
  }

  /** With a limit, the same objects are the first ones on every run. */
  loop(scan: ObjectScan, rowLimit: number | undefined): NewLoop {
    const { context, source } = scan
    const { snapshot } = context
    return async (consumer) => {
      const extents = await this.extents(context)
      if (snapshot.visit !== undefined) return new RangeLoop(scan, consumer, extents)
      const isOwned = snapshot.readNaming !== undefined
      const use = (key: Bytes, record: Bytes): ObjectView => {
        source.examined++
        const view = context.reader.view(undefined, key, record)
        // A store with `readNaming` returns bytes that are never overwritten.
        return isOwned ? view : view.copy()
      }
      return new ViewsLoop(scan, consumer, context.scanAll(extents, use, { isOrdered: rowLimit !== undefined }))
    }
  }

  /** One row, repeated `times`; only the keys of objects are counted. */
  count(className: string, times: number, context: StatementContext): Pipeline<never> {
    const operator = explainNode('extentCount', { class: className })
    const rows = context.measured(this.counted(operator, times, context), operator)
    return { rows, operator, source: none(), isOrdered: false }
  }

  private async *counted(
    operator: ExplainNode,
    times: number,
    context: StatementContext,
  ): AsyncGenerator<OutputRow<never>[]> {
    const { snapshot, script } = context
    const extents = await this.extents(context)
    let count = 0
    const passed = (more: number): void => {
      context.check()
      context.touched(more)
      count += more
    }
    if (snapshot.count !== undefined) {
      for (const extent of extents) await countRange(snapshot, extent, { passed, slice: script.slice })
    } else {
      const options = { keysOnly: true, batch: objectsPerBatch }
      for await (const batch of context.scanAll(extents, () => undefined, options)) passed(batch.length)
    }
    operator.examined = count
    operator.returned = 1
    yield [{ row: undefined, aggregates: new Array<number>(times).fill(count) }]
  }

  /** The key ranges of the objects, container by container. */
  async extents(context: StatementContext): Promise<KeyRange[]> {
    const containers = await context.containersOf(this.classes.numbers)
    return containers.map(({ database, container }) => containerExtent(database, container))
  }
}

async function* none(): AsyncGenerator<never> {}
