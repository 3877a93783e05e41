/** Reads the first rows in index order if few entries are enough; otherwise falls back to another access path and sorts. */
import type { ObjectView } from '../evaluate/object-view.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { AccessPath, ObjectAccess } from './access-path.ts'
import { fetchObjects, type ObjectScan } from './object-scan.ts'
import type { OrderedIndexScan } from './ordered-index-scan.ts'
import { pushRows } from './push-objects.ts'
import { sortedObjects } from './sorted-objects.ts'

/** No count shows how the qualifying rows are distributed in the order, so it is tried. A failed trial costs a small part of the fallback. */
export class OrderedTrial implements ObjectAccess {
  private readonly ordered: OrderedIndexScan
  private readonly otherwise: AccessPath
  private readonly entriesMax: number

  constructor(ordered: OrderedIndexScan, otherwise: AccessPath, entriesMax: number) {
    this.ordered = ordered
    this.otherwise = otherwise
    this.entriesMax = entriesMax
  }

  describe(className: string): ExplainNode {
    const { operator, details } = this.ordered.describe(className)
    const inputs = [this.otherwise.describe(className)]
    return explainNode(operator, { ...details, entriesMax: this.entriesMax }, inputs)
  }

  async *objects(scan: ObjectScan, rowLimit: number | undefined): AsyncGenerator<ObjectView[]> {
    const { ordered, entriesMax } = this
    const { source, context } = scan
    const examinedMax = source.examined + entriesMax
    const found: ObjectView[] = []
    for await (const views of ordered.objects(scan, rowLimit, examinedMax)) {
      let bytes = 0
      for (const view of views) {
        found.push(view)
        bytes += 256 + view.record.length
      }
      context.hold(views.length, bytes)
      if (rowLimit !== undefined && found.length >= rowLimit) break
    }
    const isEnough = found.length >= (rowLimit ?? Number.POSITIVE_INFINITY) || source.examined < examinedMax
    if (isEnough) yield found
    else yield* this.sorted(scan, rowLimit)
  }

  private async *sorted(baseScan: ObjectScan, rowLimit: number | undefined): AsyncGenerator<ObjectView[]> {
    const { otherwise, ordered } = this
    const { evaluation, context } = baseScan
    const source = baseScan.source.inputs[0] as ExplainNode
    const scan = { ...baseScan, source, entries: 'oids' in otherwise ? otherwise.entries : undefined }
    const rows =
      'oids' in otherwise
        ? fetchObjects(scan, otherwise.oids(evaluation, context, source), otherwise.mayRepeat)
        : otherwise.objects(scan, undefined)
    const push = pushRows(otherwise, scan)
    yield* sortedObjects(scan, push ?? context.measured(rows, source), ordered.order, rowLimit)
  }
}
