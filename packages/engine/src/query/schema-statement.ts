/** UPDATE SCHEMA, CREATE INDEX and DROP INDEX as part of a text's transaction. */

import type { WriteSession } from '../ddl/write-session.ts'
import { AshlarError } from '../errors.ts'
import { defaultAlterSettings } from '../schema/alter-plan.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { type AddingChange, attributeDescription, classDescriptions, inWordsOfDo } from './bind/class-descriptions.ts'
import { refuseRoot, resolveClass } from './bind/class-names.ts'
import type { Binding } from './bind/scope.ts'
import type { CreateIndexStatement, SchemaChange, SchemaStatement, Span, Statement } from './language/ast.ts'
import { atPlace, type ErrorPlace, placed } from './language/query-error.ts'

type Alteration = Extract<Statement, { kind: 'schema' | 'createIndex' | 'dropIndex' }>

/** The rows of the reply. Throws what PUT /v1/schema, POST and DELETE /v1/index throw, and QueryError. */
export async function changeSchema(
  statement: Alteration,
  newBinding: () => Binding,
  scope: WriteSession,
  text: string,
): Promise<readonly unknown[]> {
  switch (statement.kind) {
    case 'schema':
      return changeClasses(statement, newBinding, scope, text)
    case 'createIndex': {
      const body = indexBody(statement, newBinding())
      return [indexRow(await atPlace(text, indexPlace(statement), () => scope.createIndex(body)))]
    }
    case 'dropIndex':
      await scope.deleteIndex(statement.name)
      return []
  }
}

/** What POST /v1/index would be sent. */
export function indexBody({ name, isUnique, className, attributes }: CreateIndexStatement, binding: Binding): object {
  const keyAttributes = attributes.map(({ text }) => ({ attributeName: text }))
  const cls = refuseRoot(binding, className, resolveClass(binding, className))
  return { name, indexedClass: cls.name, isUnique, keyAttributes }
}

/** The part of the statement that a place in its body stands for. */
export function indexPlace(statement: CreateIndexStatement): (place: ErrorPlace) => Span | undefined {
  return ([field, position]) => {
    if (field === 'indexedClass') return statement.className
    return field === 'keyAttributes' ? statement.attributes[Number(position)] : undefined
  }
}

export function indexRow(name: string): { readonly name: string; readonly uri: string } {
  return { name, uri: `/v1/index/${name}` }
}

/** In the order in which they stand; classes and attributes that are added one after the other may refer to each other. */
async function changeClasses(
  { changes }: SchemaStatement,
  newBinding: () => Binding,
  scope: WriteSession,
  text: string,
): Promise<readonly unknown[]> {
  const rows: unknown[] = []
  for (const part of inParts(changes)) {
    // What was changed before is seen: names are looked up as they are now.
    const current = newBinding()
    if (Array.isArray(part)) {
      const descriptions = descriptionsOf(part, current)
      const classNumbers = await atPlace(text, addingPlace(part), () =>
        inWords(() => scope.defineClasses(descriptions, 'createOrExtend')),
      )
      rows.push(...classNumbers.map((number) => classRow(scope, number)))
    } else {
      const change = part as OtherChange
      rows.push(await atPlace(text, alterationPlace(change), () => inWords(() => changeOne(change, current, scope))))
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

/** What PUT and DELETE /v1/schema/{class} would be sent. A class that is dropped has no row but its number and name. */
async function changeOne(change: OtherChange, binding: Binding, scope: WriteSession): Promise<unknown> {
  const { number, name } = refuseRoot(binding, change.className, resolveClass(binding, change.className))
  switch (change.kind) {
    case 'renameClass': {
      const newName = change.newName.text
      // A name without a namespace means the one of the class, as in PUT /v1/schema/{class}.
      await scope.alterClass(String(number), { classRename: newName }, defaultAlterSettings)
      return classRow(scope, number)
    }
    case 'alterClass':
      await scope.alterClass(String(number), alterBody(change, binding), defaultAlterSettings)
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

/** The class or attribute that a place in the descriptions stands for. */
function addingPlace(adding: readonly AddingChange[]): (place: ErrorPlace) => Span | undefined {
  return ([position = 0, field, attribute]) => {
    const change = adding[Number(position)]
    if (change === undefined || field !== 'attributes' || attribute === undefined) {
      return field === 'superClass' && change?.kind === 'createClass' ? change.superClass : (change ?? adding[0])
    }
    if (change.kind === 'createClass') return change.attributes[Number(attribute)]
    return change.alterations[Number(attribute)]
  }
}

const kindsOfLists: Readonly<Record<string, 'drop' | 'rename' | 'add'>> = {
  attributesToDelete: 'drop',
  attributesToRename: 'rename',
  attributesToAdd: 'add',
}

/** The same for the change of a class. */
function alterationPlace(change: OtherChange): (place: ErrorPlace) => Span | undefined {
  return ([list, position]) => {
    const kind = kindsOfLists[String(list)]
    if (change.kind !== 'alterClass' || kind === undefined || position === undefined) return change
    return change.alterations.filter((one) => one.kind === kind)[Number(position)]
  }
}

function classRow(scope: WriteSession, number: ClassNumber): object {
  return { className: scope.catalog.classByNumber(number)?.name, classNumber: String(number) }
}

function descriptionsOf(adding: readonly AddingChange[], binding: Binding): ReturnType<typeof classDescriptions> {
  for (const change of adding) {
    if (change.kind !== 'createClass' || binding.catalog.classByName(change.className.text) === undefined) continue
    const error = new AshlarError('ClassExists', `There is a class ${change.className.text} already.`)
    throw placed(binding.text, change.className, error)
  }
  return classDescriptions(adding, binding)
}
