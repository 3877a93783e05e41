/** UPDATE SCHEMA: creates, alters, renames and drops classes, as part of the text's transaction. */
import type { CatalogTransaction } from '../../ddl/catalog-transaction.ts'
import { AshlarError } from '../../errors.ts'
import type { ClassNumber } from '../../types/type-spec.ts'
import { type AddingChange, bindAlterClass, bindDefineClasses, withStatementWords } from '../bind/bind-schema.ts'
import { refuseRoot, resolveClass } from '../bind/class-names.ts'
import { placesOfAdding, placesOfChange } from '../bind/schema-places.ts'
import type { Binder } from '../bind/scope.ts'
import { jsonRow } from '../execute/row-chunk.ts'
import type { SchemaChange, SchemaStatement } from '../language/ast.ts'
import { atPlace, placed } from '../language/query-error.ts'
import { createBinder } from '../plan-cache.ts'
import { rowsAtHand } from './answer.ts'
import { noValue, type StatementExecutor, type StatementKind } from './statement-kind.ts'

export const updateSchema: StatementKind<SchemaStatement> = {
  effect: 'define',
  run: async (statement, executor) => rowsAtHand((await changeClasses(statement, executor)).map(jsonRow)),
  explain: async () => noValue,
  details: ({ changes }) => ({ changes: changes.map(changeText) }),
}

function changeText(change: SchemaChange): string {
  switch (change.kind) {
    case 'createClass':
      return `CREATE CLASS ${change.className.text}`
    case 'alterClass':
      return `ALTER CLASS ${change.className.text}`
    case 'renameClass':
      return `RENAME CLASS ${change.className.text} TO ${change.newName.text}`
    case 'dropClass':
      return `DROP CLASS ${change.className.text}`
  }
}

/** In the order of the statement; classes and attributes added consecutively may refer to each other. */
async function changeClasses({ changes }: SchemaStatement, executor: StatementExecutor): Promise<readonly unknown[]> {
  const { catalogTransaction, text } = executor
  const rows: unknown[] = []
  for (const part of inParts(changes)) {
    // Names are resolved in the catalog as changed so far.
    const current = createBinder(executor.planning())
    if (Array.isArray(part)) {
      refuseExisting(part, current)
      const command = bindDefineClasses(part, current)
      const classNumbers = await atPlace(text, placesOfAdding(part), () =>
        inWords(() => catalogTransaction.defineClasses(command)),
      )
      rows.push(...classNumbers.map((number) => classRow(catalogTransaction, number)))
    } else {
      const change = part as OtherChange
      rows.push(
        await atPlace(text, placesOfChange(change), () =>
          inWords(() => changeOne(change, current, catalogTransaction)),
        ),
      )
    }
  }
  return rows
}

async function inWords<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    throw withStatementWords(error)
  }
}

type OtherChange = Exclude<SchemaChange, { kind: 'createClass' }>

function inParts(changes: readonly SchemaChange[]): (AddingChange[] | OtherChange)[] {
  const parts: (AddingChange[] | OtherChange)[] = []
  for (const change of changes) {
    const last = parts.at(-1)
    if (!isAdding(change)) parts.push(change as OtherChange)
    else if (Array.isArray(last)) last.push(change)
    else parts.push([change])
  }
  return parts
}

function isAdding(change: SchemaChange): change is AddingChange {
  if (change.kind === 'createClass') return true
  return change.kind === 'alterClass' && change.alterations.every(({ kind }) => kind === 'add')
}

/** The row of a dropped class has only its number and name. */
async function changeOne(
  change: OtherChange,
  binder: Binder,
  catalogTransaction: CatalogTransaction,
): Promise<unknown> {
  const cls = refuseRoot(binder, change.className, resolveClass(binder, change.className))
  const { number, name } = cls
  const className = String(number)
  switch (change.kind) {
    case 'renameClass':
      await catalogTransaction.alterClass({ kind: 'renameClass', className, classRename: change.newName.text })
      return classRow(catalogTransaction, number)
    case 'alterClass':
      await catalogTransaction.alterClass(bindAlterClass(change, cls, binder))
      return classRow(catalogTransaction, number)
    case 'dropClass':
      await catalogTransaction.deleteClass({ className })
      return { className: name, classNumber: className }
  }
}

function classRow(catalogTransaction: CatalogTransaction, number: ClassNumber): object {
  return { className: catalogTransaction.catalog.classByNumber(number)?.name, classNumber: String(number) }
}

/** Throws ClassExists if a class of CREATE CLASS exists already. */
function refuseExisting(adding: readonly AddingChange[], { catalog, text }: Binder): void {
  for (const change of adding) {
    if (change.kind !== 'createClass' || catalog.classByName(change.className.text) === undefined) continue
    const error = new AshlarError('ClassExists', `There is a class ${change.className.text} already.`)
    throw placed(text, change.className, error)
  }
}
