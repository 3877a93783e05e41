/** UPDATE SCHEMA, CREATE INDEX and DROP INDEX as part of a text's transaction. */
import { AshlarError } from '../errors.ts'
import type { ChangeScope } from '../evolution/change-scope.ts'
import type { CreateIndexStatement, SchemaStatement, Statement } from './ast.ts'
import { type AddingChange, classDescriptions } from './bind/class-descriptions.ts'
import { resolveClass } from './bind/class-names.ts'
import type { Binding } from './bind/scope.ts'

type Alteration = Extract<Statement, { kind: 'schema' | 'createIndex' | 'dropIndex' }>

/** The rows of the reply. Throws what PUT /v1/schema, POST and DELETE /v1/index throw, and QueryError. */
export async function changeSchema(
  statement: Alteration,
  binding: Binding,
  scope: ChangeScope,
): Promise<readonly unknown[]> {
  switch (statement.kind) {
    case 'schema': {
      const classNumbers = await scope.defineClasses(descriptionsOf(statement, binding), 'createOrExtend')
      return classNumbers.map((number) => {
        return { className: scope.catalog.classByNumber(number)?.name, classNumber: String(number) }
      })
    }
    case 'createIndex':
      return [indexRow(await scope.createIndex(indexBody(statement, binding)))]
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

function descriptionsOf(statement: SchemaStatement, binding: Binding): ReturnType<typeof classDescriptions> {
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
  return classDescriptions(adding, binding)
}
