/** Reads the body of a class alteration (contract 5.3.4 to 5.3.6, 10.5) strictly: JSON types and fields only. */
import type { CommandPlace } from '../errors.ts'
import { commandError } from '../schema/command-error.ts'
import type { AlterClass, AlterSettings, AttributeDescription, AttributeRename } from '../schema/commands.ts'
import { formatForMessage } from '../types/logical-type.ts'
import { refuseUnknownFields, requireJsonObject } from './json-fields.ts'
import { readAttribute, readClassFields, readConstraints } from './read-class-descriptions.ts'

const listFields = [
  'attributesToDelete',
  'attributesToRename',
  'attributesToChange',
  'attributesToAdd',
  'attributesToConstrain',
] as const
const changeFields = [...listFields, 'classFields'] as const

/** Throws MalformedRequest, MalformedValue, UnknownField. */
export function readAlterClass(
  className: string,
  body: unknown,
  { isCascading = false, isLossAllowed = false, isValidating = true }: Partial<AlterSettings> = {},
): AlterClass {
  const request = requireJsonObject(body, 'The body', [])
  refuseUnknownFields(request, ['classRename', ...changeFields], 'A change of a class', [])
  const presentFields = changeFields.filter((field) => request[field] !== undefined)
  if (request.classRename !== undefined) {
    if (presentFields.length > 0) {
      throw commandError('MalformedRequest', `classRename stands alone, not together with ${presentFields[0]}.`, [
        'classRename',
      ])
    }
    const classRename = textOf(request.classRename, 'classRename', ['classRename'])
    return { kind: 'renameClass', className, classRename }
  }
  if (presentFields.length === 0) {
    const allowed = ['classRename', ...changeFields].join(', ')
    throw commandError('MalformedRequest', `A change of a class has at least one of ${allowed}.`, [])
  }
  const listOf = <T>(
    field: (typeof listFields)[number],
    read: (item: unknown, place: CommandPlace) => T,
  ): readonly T[] => {
    const items = request[field]
    if (items === undefined) return []
    if (!Array.isArray(items))
      throw commandError('MalformedRequest', `${field} must be an array, not ${formatForMessage(items)}.`, [field])
    return items.map((item: unknown, position) => read(item, [field, position]))
  }
  const readDefinition = (item: unknown, place: CommandPlace): AttributeDescription => {
    return readAttribute(item, place, className)
  }
  return {
    kind: 'alterAttributes',
    className,
    attributesToDelete: listOf('attributesToDelete', (name, place) => textOf(name, 'The name of an attribute', place)),
    attributesToRename: listOf('attributesToRename', readRename),
    attributesToChange: listOf('attributesToChange', readDefinition),
    attributesToAdd: listOf('attributesToAdd', readDefinition),
    attributesToConstrain: listOf('attributesToConstrain', (item, place) => readConstraints(item, place, className)),
    classFields:
      request.classFields === undefined ? undefined : readClassFields(request.classFields, ['classFields'], className),
    isCascading,
    isLossAllowed,
    isValidating,
  }
}

function readRename(input: unknown, place: CommandPlace): AttributeRename {
  const rename = requireJsonObject(input, 'A rename', place)
  refuseUnknownFields(rename, ['originalName', 'newName'], 'A rename', place)
  return {
    originalName: textOf(rename.originalName, 'originalName', [...place, 'originalName']),
    newName: textOf(rename.newName, 'newName', [...place, 'newName']),
  }
}

function textOf(input: unknown, what: string, place: CommandPlace): string {
  if (typeof input === 'string' && input !== '') return input
  throw commandError('MalformedValue', `${what} is a name, not ${formatForMessage(input)}.`, place)
}
