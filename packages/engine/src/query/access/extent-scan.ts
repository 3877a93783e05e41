/** Scans all objects of the classes container by container, or only counts them if that is sufficient. */
import { unreachable } from '../../errors.ts'
import { containerExtent } from '../../records/object-key.ts'
import type { ClassSet } from '../../schema/class-set.ts'
import { countRange } from '../../store/count-range.ts'
import type { Bytes, KeyRange } from '../../store/store.ts'
import { oidFromBytes } from '../../types/oid.ts'
import { evaluationApart } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { PushRows } from '../execute/pushed-rows.ts'
import type { OutputRow } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import { decideSync, filterObjects } from '../operators/filter.ts'
import type { Pipeline } from '../operators/row-operator.ts'
import type { ObjectAccess } from './access-path.ts'
import { filterRest, type ObjectScan } from './object-scan.ts'
import { pushObjects } from './push-objects.ts'

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

  /** Copies only objects that qualify by their record, which is evaluated in place. With a limit, yields the same first rows on every run. */
  async *objects(scan: ObjectScan, rowLimit: number | undefined): AsyncGenerator<ObjectView[]> {
    const { filter, evaluation, context, source } = scan
    const { recordPredicate, slot } = filter
    const scanEvaluation = evaluationApart(evaluation)
    let undecided = new Set<ObjectView>()
    const use = (key: Uint8Array, record: Uint8Array): ObjectView | undefined => {
      source.examined++
      const borrowed = context.reader.view(undefined, key, record)
      if (recordPredicate === undefined) return borrowed.copy()
      scanEvaluation.slots[slot] = borrowed
      const qualifies = decideSync(recordPredicate, scanEvaluation)
      evaluation.memory.endRow()
      if (qualifies === false) return undefined
      const view = borrowed.copy()
      if (qualifies === undefined) undecided.add(view)
      return view
    }
    for await (const batch of context.scanAll(await this.extents(context), use, {
      isOrdered: rowLimit !== undefined,
    })) {
      context.check()
      let views = batch.filter((view) => view !== undefined)
      if (recordPredicate !== undefined && undecided.size > 0) {
        const decided = new Set(await filterObjects([...undecided], recordPredicate, slot, evaluation, context))
        const all = undecided
        views = views.filter((view) => !all.has(view) || decided.has(view))
        undecided = new Set()
      }
      source.returned += batch.length
      context.touched(batch.length)
      const rows = await filterRest(scan, views, batch.length)
      if (rows.length > 0) yield rows
    }
  }

  push(scan: ObjectScan): PushRows<ObjectView> | undefined {
    const { context } = scan
    return pushObjects(
      scan,
      () => this.extents(context),
      true,
      () => {
        const read = (key: Bytes, record: Bytes): ObjectView => context.reader.view(undefined, key, record)
        return { read, readAsync: () => unreachable('an object is read at once') }
      },
    )
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
