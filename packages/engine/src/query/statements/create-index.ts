/** CREATE INDEX as part of the text's transaction; as the only statement of a text it is built online (`create-index-online.ts`). */
import { withSubclasses } from '../../schema/class-set.ts'
import { ExtentScan } from '../access/extent-scan.ts'
import { bindCreateIndex } from '../bind/bind-schema.ts'
import { resolveClass } from '../bind/class-names.ts'
import { placesOfIndex } from '../bind/schema-places.ts'
import { jsonRow } from '../execute/row-chunk.ts'
import { explainNode } from '../explain/explain-node.ts'
import type { CreateIndexStatement } from '../language/ast.ts'
import { atPlace } from '../language/query-error.ts'
import { createBinder } from '../plan-cache.ts'
import type { QueryRequest } from '../query-request.ts'
import { rowsAtHand } from './answer.ts'
import { noValue, type StatementKind } from './statement-kind.ts'

export const createIndexKind: StatementKind<CreateIndexStatement> = {
  effect: 'define',

  async run(statement, executor) {
    const command = bindCreateIndex(statement, createBinder(executor.planning()))
    const { script } = executor
    const { name } = await atPlace(script.text, placesOfIndex(statement), () =>
      executor.catalogTransaction.createIndex(command),
    )
    return rowsAtHand([jsonRow(indexRow(name, script))])
  },

  async explain(statement, explainer) {
    const binder = createBinder(explainer.planning())
    bindCreateIndex(statement, binder)
    const cls = resolveClass(binder, statement.className)
    const extent = new ExtentScan(withSubclasses(cls))
    const scan = extent.describe(cls.name)
    scan.estimated = await extent.estimate(explainer.context())
    explainer.probe.root = explainNode('createIndex', {}, [scan])
    return noValue
  },

  details({ name, isUnique, className, attributes }) {
    return { index: name.text, isUnique, class: className.text, attributes: attributes.map(({ text }) => text) }
  },
}

export function indexRow(
  name: string,
  { indexUri }: Pick<QueryRequest, 'indexUri'>,
): { readonly name: string; readonly uri?: string } {
  return indexUri === undefined ? { name } : { name, uri: indexUri(name) }
}
