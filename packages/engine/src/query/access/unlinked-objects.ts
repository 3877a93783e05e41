/** Finds objects with a null reference by scanning their class, since they are in no inverse. */
import type { SchemaClass } from '../../schema/catalog.ts'
import { withSubclasses } from '../../schema/class-set.ts'
import type { Bytes } from '../../store/store.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { ExtentScan } from './extent-scan.ts'

const oidBytes = 64
const oidsPerBatch = 256

export class UnlinkedObjects {
  private readonly extent: ExtentScan
  /** The position of the reference in the class. */
  private readonly index: number
  /** By the values of a run: the class is scanned once even if the objects are needed for many rows. */
  private readonly found = new WeakMap<readonly unknown[], readonly Oid[]>()

  constructor(cls: SchemaClass, index: number) {
    this.extent = new ExtentScan(withSubclasses(cls))
    this.index = index
  }

  /** Yields batches. `plan`: counts the objects examined. */
  async *oids({ constants }: EvaluationContext, context: StatementContext, plan: ExplainNode): AsyncGenerator<Oid[]> {
    const cached = this.found.get(constants)
    if (cached !== undefined) {
      for (let at = 0; at < cached.length; at += oidsPerBatch) yield cached.slice(at, at + oidsPerBatch)
      return
    }
    const all: Oid[] = []
    const use = (key: Bytes, record: Bytes): Oid | undefined => {
      const view = context.reader.view(undefined, key, record)
      return view.value(this.index) === noOid ? view.oid : undefined
    }
    for await (const batch of context.scanAll(await this.extent.extents(context), use)) {
      context.check()
      context.touched(batch.length)
      plan.examined += batch.length
      const found = batch.filter((oid) => oid !== undefined)
      if (found.length === 0) continue
      context.hold(0, found.length * oidBytes)
      for (const oid of found) all.push(oid)
      yield found
    }
    this.found.set(constants, all)
  }
}
