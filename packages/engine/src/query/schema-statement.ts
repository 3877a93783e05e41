/** UPDATE SCHEMA, CREATE INDEX and DROP INDEX as part of a text's transaction. */

import type { WriteSession } from '../ddl/write-session.ts'
import { AshlarError } from '../errors.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import {
  type AddingChange,
  bindAlterClass,
  bindCreateIndex,
  bindDefineClasses,
  inWordsOfDo,
} from './bind/bind-schema.ts'
import { refuseRoot, resolveClass } from './bind/class-names.ts'
import { placesOfAdding, placesOfChange, placesOfIndex } from './bind/schema-places.ts'
import type { Binder } from './bind/scope.ts'
import type { SchemaChange, SchemaStatement, Statement } from './language/ast.ts'
import { atPlace, placed } from './language/query-error.ts'
import type { QueryRequest } from './query-request.ts'

type AskedText = Pick<QueryRequest, 'text' | 'indexUri'>

type Alteration = Extract<Statement, { kind: 'schema' | 'createIndex' | 'dropIndex' }>

/** The rows of the reply. Throws what the commands throw, and QueryError. */
export async function changeSchema(
  statement: Alteration,
  createBinder: () => Binder,
  scope: WriteSession,
  texts: AskedText,
): Promise<readonly unknown[]> {
  const { text } = texts
  switch (statement.kind) {
    case 'schema':
      return changeClasses(statement, createBinder, scope, text)
    case 'createIndex': {
      const command = bindCreateIndex(statement, createBinder())
      return [indexRow(await atPlace(text, placesOfIndex(statement), () => scope.createIndex(command)), texts)]
    }
    case 'dropIndex':
      await scope.deleteIndex({ name: statement.name })
      return []
  }
}

export function indexRow(name: string, { indexUri }: AskedText): { readonly name: string; readonly uri?: string } {
  return indexUri === undefined ? { name } : { name, uri: indexUri(name) }
}

/** In the order in which they stand; classes and attributes that are added one after the other may refer to each other. */
async function changeClasses(
  { changes }: SchemaStatement,
  createBinder: () => Binder,
  scope: WriteSession,
  text: string,
): Promise<readonly unknown[]> {
  const rows: unknown[] = []
  for (const part of inParts(changes)) {
    // What was changed before is seen: names are looked up as they are now.
    const current = createBinder()
    if (Array.isArray(part)) {
      refuseExisting(part, current)
      const command = bindDefineClasses(part, current)
      const classNumbers = await atPlace(text, placesOfAdding(part), () => inWords(() => scope.defineClasses(command)))
      rows.push(...classNumbers.map((number) => classRow(scope, number)))
    } else {
      const change = part as OtherChange
      rows.push(await atPlace(text, placesOfChange(change), () => inWords(() => changeOne(change, current, scope))))
    }
  }
  return rows
}

async function inWords<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    throw inWordsOfDo(error)
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

/** A class that is dropped has no row but its number and name. */
async function changeOne(change: OtherChange, binder: Binder, scope: WriteSession): Promise<unknown> {
  const cls = refuseRoot(binder, change.className, resolveClass(binder, change.className))
  const { number, name } = cls
  const className = String(number)
  switch (change.kind) {
    case 'renameClass':
      await scope.alterClass({ kind: 'renameClass', className, classRename: change.newName.text })
      return classRow(scope, number)
    case 'alterClass':
      await scope.alterClass(bindAlterClass(change, cls, binder))
      return classRow(scope, number)
    case 'dropClass':
      await scope.deleteClass({ className })
      return { className: name, classNumber: className }
  }
}

function classRow(scope: WriteSession, number: ClassNumber): object {
  return { className: scope.catalog.classByNumber(number)?.name, classNumber: String(number) }
}

/** Throws ClassExists for a class that CREATE CLASS would find there already. */
function refuseExisting(adding: readonly AddingChange[], { catalog, text }: Binder): void {
  for (const change of adding) {
    if (change.kind !== 'createClass' || catalog.classByName(change.className.text) === undefined) continue
    const error = new AshlarError('ClassExists', `There is a class ${change.className.text} already.`)
    throw placed(text, change.className, error)
  }
}
