/** Reads the body of PUT /v1/schema/{class} (contract 5.3.4 to 5.3.6) strictly: JSON types and fields only. */
import { shownValue } from '../types/logical-type.ts'
import { type AttributeDescription, readAttribute } from './class-description.ts'
import { fault, objectOf, refuseUnknownFields } from './request-body.ts'

export interface AttributeRename {
  readonly originalName: string
  readonly newName: string
  readonly pointer: string
}

export interface AttributeDeletion {
  readonly name: string
  readonly pointer: string
}

export type AlterRequest =
  | { readonly kind: 'rename'; readonly newName: string }
  | {
      readonly kind: 'attributes'
      /** Applied in this order. */
      readonly toDelete: readonly AttributeDeletion[]
      readonly toRename: readonly AttributeRename[]
      readonly toChange: readonly AttributeDescription[]
      readonly toAdd: readonly AttributeDescription[]
    }

const attributeFields = ['attributesToDelete', 'attributesToRename', 'attributesToChange', 'attributesToAdd']

/** Throws MalformedRequest, MalformedValue, UnknownField. */
export function readAlterRequest(body: unknown): AlterRequest {
  const request = objectOf(body, 'The body', '')
  refuseUnknownFields(request, ['classRename', ...attributeFields], 'A change of a class', '')
  const given = attributeFields.filter((field) => request[field] !== undefined)
  if (request.classRename !== undefined) {
    if (given.length > 0) {
      throw fault('MalformedRequest', `classRename stands alone, not together with ${given[0]}.`, '/classRename')
    }
    return { kind: 'rename', newName: textOf(request.classRename, 'classRename', '/classRename') }
  }
  if (given.length === 0) {
    const known = ['classRename', ...attributeFields].join(', ')
    throw fault('MalformedRequest', `A change of a class has at least one of ${known}.`, '')
  }
  return {
    kind: 'attributes',
    toDelete: listOf(request.attributesToDelete, '/attributesToDelete', (name, pointer) => {
      return { name: textOf(name, 'The name of an attribute', pointer), pointer }
    }),
    toRename: listOf(request.attributesToRename, '/attributesToRename', readRename),
    toChange: listOf(request.attributesToChange, '/attributesToChange', readAttribute),
    toAdd: listOf(request.attributesToAdd, '/attributesToAdd', readAttribute),
  }
}

function readRename(given: unknown, pointer: string): AttributeRename {
  const rename = objectOf(given, 'A rename', pointer)
  refuseUnknownFields(rename, ['originalName', 'newName'], 'A rename', pointer)
  return {
    originalName: textOf(rename.originalName, 'originalName', `${pointer}/originalName`),
    newName: textOf(rename.newName, 'newName', `${pointer}/newName`),
    pointer,
  }
}

function listOf<T>(given: unknown, pointer: string, read: (item: unknown, pointer: string) => T): T[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) throw fault('MalformedRequest', `${pointer.slice(1)} is an array.`, pointer)
  return given.map((item: unknown, position) => read(item, `${pointer}/${position}`))
}

function textOf(given: unknown, what: string, pointer: string): string {
  if (typeof given === 'string' && given !== '') return given
  throw fault('MalformedValue', `${what} is a name, not ${shownValue(given)}.`, pointer)
}
