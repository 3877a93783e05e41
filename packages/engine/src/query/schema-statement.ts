/** UPDATE SCHEMA, CREATE INDEX and DROP INDEX as part of a text's transaction. */
import { catalogVersionKey } from '../catalog/catalog-keys.ts'
import { changeCatalog } from '../catalog/change-catalog.ts'
import { AshlarError } from '../errors.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState } from '../schema/class-definition.ts'
import { readClassDescriptions } from '../schema/class-description.ts'
import { defineClasses } from '../schema/define-classes.ts'
import { withoutIndex } from '../schema/index-definition.ts'
import { shownText } from '../schema/request-body.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { SchemaStatement, Statement } from './ast.ts'
import { type AddingChange, classDescriptions } from './bind/class-descriptions.ts'
import type { Binding } from './bind/scope.ts'
import type { QueryResources } from './query-resources.ts'

export interface SchemaOutcome {
  /** As the statements after this one see it. */
  readonly catalog: Catalog
  readonly rows: readonly unknown[]
}

type Alteration = Extract<Statement, { kind: 'schema' | 'createIndex' | 'dropIndex' }>

/** Throws what PUT /v1/schema and DELETE /v1/index throw, and QueryError. */
export async function changeSchema(
  statement: Alteration,
  binding: Binding,
  changes: { readonly transaction: Transaction; readonly afterCommit: (() => void)[] },
  resources: QueryResources,
  catalog: Catalog,
): Promise<SchemaOutcome> {
  const { transaction } = changes
  switch (statement.kind) {
    case 'schema': {
      const { state, classNumbers } = defineAll(statement, binding, resources)
      const after = await putCatalog(transaction, catalog, state, resources)
      const rows = classNumbers.map((number) => {
        return { className: after.classByNumber(number)?.name, classNumber: String(number) }
      })
      return { catalog: after, rows }
    }
    case 'dropIndex': {
      const index = catalog.indexByName(statement.name)
      if (index === undefined)
        throw new AshlarError('IndexNotFound', `There is no index '${shownText(statement.name)}'.`)
      changes.afterCommit.push(() => resources.schema.clearInBackground())
      const after = await putCatalog(transaction, catalog, withoutIndex(catalog.state, index.number), resources)
      return { catalog: after, rows: [] }
    }
    case 'createIndex':
      throw binding.error(statement, 'CREATE INDEX stands in a text of its own: it is built while others go on writing')
  }
}

function defineAll(
  statement: SchemaStatement,
  binding: Binding,
  { limits }: QueryResources,
): ReturnType<typeof defineClasses> {
  const adding = statement.changes.map((change): AddingChange => {
    const isAdding =
      change.kind === 'createClass' ||
      (change.kind === 'alterClass' && change.alterations.every(({ kind }) => kind === 'add'))
    if (isAdding) return change as AddingChange
    throw binding.error(change, 'this version adds classes and attributes; it does not rename or drop them')
  })
  for (const change of adding) {
    if (change.kind !== 'createClass' || binding.catalog.classByName(change.className.text) === undefined) continue
    throw new AshlarError('ClassExists', `There is a class ${change.className.text} already.`)
  }
  const descriptions = readClassDescriptions(classDescriptions(adding, binding))
  return defineClasses(binding.catalog, descriptions, 'createOrExtend', limits.classAttributesMax)
}

async function putCatalog(
  transaction: Transaction,
  before: Catalog,
  state: CatalogState,
  { session }: QueryResources,
): Promise<Catalog> {
  if (state === before.state) return before
  transaction.expectRevision(catalogVersionKey, before.version)
  changeCatalog(transaction, before, state, session)
  const { values } = await transaction.read([catalogVersionKey])
  return buildCatalog(state, values[0] as Uint8Array)
}
