/** UPDATE SCHEMA, CREATE INDEX and DROP INDEX as part of a text's transaction. */
import { AshlarError } from '../errors.ts'
import { strictly } from '../evolution/alterations.ts'
import type { ChangeScope } from '../evolution/change-scope.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { CreateIndexStatement, SchemaChange, SchemaStatement, Statement } from './ast.ts'
import { type AddingChange, attributeDescription, classDescriptions } from './bind/class-descriptions.ts'
import { resolveClass } from './bind/class-names.ts'
import type { Binding } from './bind/scope.ts'

type Alteration = Extract<Statement, { kind: 'schema' | 'createIndex' | 'dropIndex' }>

/** The rows of the reply. Throws what PUT /v1/schema, POST and DELETE /v1/index throw, and QueryError. */
export async function changeSchema(
  statement: Alteration,
  newBinding: () => Binding,
  scope: ChangeScope,
): Promise<readonly unknown[]> {
  switch (statement.kind) {
    case 'schema':
      return changeClasses(statement, newBinding, scope)
    case 'createIndex':
      return [indexRow(await scope.createIndex(indexBody(statement, newBinding())))]
    case 'dropIndex':
      await scope.deleteIndex(statement.name)
      return []
  }
}

/** What POST /v1/index would be sent. */
export function indexBody({ name, isUnique, className, attributes }: CreateIndexStatement, binding: Binding): object {
  const keyAttributes = attributes.map(({ text }) => ({ attributeName: text }))
  return { name, indexedClass: resolveClass(binding, className).name, isUnique, keyAttributes }
}

export function indexRow(name: string): { readonly name: string; readonly uri: string } {
  return { name, uri: `/v1/index/${name}` }
}

/** In the order in which they stand; classes and attributes that are added one after the other may refer to each other. */
async function changeClasses(
  { changes }: SchemaStatement,
  newBinding: () => Binding,
  scope: ChangeScope,
): Promise<readonly unknown[]> {
  const rows: unknown[] = []
  for (const part of inParts(changes)) {
    // What was changed before is seen: names are looked up as they are now.
    const current = newBinding()
    if (Array.isArray(part)) {
      const classNumbers = await scope.defineClasses(descriptionsOf(part, current), 'createOrExtend')
      rows.push(...classNumbers.map((number) => classRow(scope, number)))
    } else rows.push(await changeOne(part as OtherChange, current, scope))
  }
  return rows
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

/** What PUT and DELETE /v1/schema/{class} would be sent. A class that is dropped has no row but its number and name. */
async function changeOne(change: OtherChange, binding: Binding, scope: ChangeScope): Promise<unknown> {
  const { number, name } = resolveClass(binding, change.className)
  switch (change.kind) {
    case 'renameClass': {
      const newName = change.newName.text
      // A name without a namespace means the one of the class, as in PUT /v1/schema/{class}.
      await scope.alterClass(String(number), { classRename: newName }, strictly)
      return classRow(scope, number)
    }
    case 'alterClass':
      await scope.alterClass(String(number), alterBody(change, binding), strictly)
      return classRow(scope, number)
    case 'dropClass':
      await scope.deleteClass(String(number))
      return { className: name, classNumber: String(number) }
  }
}

function alterBody({ alterations }: Extract<SchemaChange, { kind: 'alterClass' }>, binding: Binding): object {
  return {
    attributesToDelete: alterations.flatMap((one) => (one.kind === 'drop' ? [one.name] : [])),
    attributesToRename: alterations.flatMap((one) => {
      return one.kind === 'rename' ? [{ originalName: one.name, newName: one.newName }] : []
    }),
    attributesToAdd: alterations.flatMap((one) =>
      one.kind === 'add' ? [attributeDescription(one.attribute, binding)] : [],
    ),
  }
}

function classRow(scope: ChangeScope, number: ClassNumber): object {
  return { className: scope.catalog.classByNumber(number)?.name, classNumber: String(number) }
}

function descriptionsOf(adding: readonly AddingChange[], binding: Binding): ReturnType<typeof classDescriptions> {
  for (const change of adding) {
    if (change.kind !== 'createClass' || binding.catalog.classByName(change.className.text) === undefined) continue
    throw new AshlarError('ClassExists', `There is a class ${change.className.text} already.`)
  }
  return classDescriptions(adding, binding)
}
