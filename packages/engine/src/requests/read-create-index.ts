/** Reads the body of an index creation (contract 6.1) strictly: JSON types and fields only. */
import { isDeepStrictEqual } from 'node:util'
import { AshlarError, type CommandPlace } from '../errors.ts'
import { maxStoredStringLengthMax } from '../limits.ts'
import { commandError } from '../schema/command-error.ts'
import type { CreateIndex, KeyDescription } from '../schema/commands.ts'
import { formatForMessage } from '../types/logical-type.ts'
import { booleanIn, type JsonObject, refuseUnknownFields, requireJsonObject } from './json-fields.ts'

const requestFields = ['name', 'indexedClass', 'isUnique', 'keyAttributes', 'keyedAttributes']

/** Executes the command in the body. Errors refer to key attributes by the body's field name, which may be `keyedAttributes`. */
export async function asCreateIndex<T>(body: unknown, carryOut: (command: CreateIndex) => Promise<T>): Promise<T> {
  const command = readCreateIndex(body)
  try {
    return await carryOut(command)
  } catch (error) {
    throw keysField(body as JsonObject) === 'keyAttributes' ? error : withLegacyFieldName(error)
  }
}

function withLegacyFieldName(error: unknown): unknown {
  if (!(error instanceof AshlarError)) return error
  const { type, message, errors, extensions, isFatal } = error
  const renamed = errors.map((detail) => {
    const [field, ...steps] = detail.place
    return field === 'keyAttributes' ? { ...detail, place: ['keyedAttributes', ...steps] } : detail
  })
  return new AshlarError(type, message, renamed, extensions, isFatal)
}

function keysField({ keyAttributes }: JsonObject): 'keyAttributes' | 'keyedAttributes' {
  return keyAttributes === undefined ? 'keyedAttributes' : 'keyAttributes'
}

/** Throws MalformedRequest, MalformedValue, UnknownField, ValueNotAllowed. */
export function readCreateIndex(body: unknown): CreateIndex {
  const request = requireJsonObject(body, 'The body', [])
  refuseUnknownFields(request, requestFields, 'An index request', [])
  const { keyAttributes, keyedAttributes } = request
  if (
    keyAttributes !== undefined &&
    keyedAttributes !== undefined &&
    !isDeepStrictEqual(keyAttributes, keyedAttributes)
  ) {
    throw commandError('MalformedRequest', 'keyAttributes and keyedAttributes are the same field, but differ.', [
      'keyedAttributes',
    ])
  }
  const keys = keyAttributes ?? keyedAttributes
  if (!Array.isArray(keys) || keys.length === 0) {
    throw commandError('MalformedRequest', 'keyAttributes is needed: an array of at least one key attribute.', [
      'keyAttributes',
    ])
  }
  return {
    name: textOf(request, 'name'),
    indexedClass: textOf(request, 'indexedClass'),
    isUnique: isUniqueIn(request.isUnique),
    keyAttributes: keys.map((key: unknown, position) => readKey(key, [keysField(request), position])),
  }
}

function readKey(input: unknown, place: CommandPlace): KeyDescription {
  const key = requireJsonObject(input, 'A key attribute', place)
  refuseUnknownFields(key, ['attributeName', 'properties'], 'A key attribute', place)
  if (typeof key.attributeName !== 'string' || key.attributeName === '') {
    throw commandError('MalformedRequest', `attributeName is needed, a name${actualSuffix(key.attributeName)}.`, [
      ...place,
      'attributeName',
    ])
  }
  if (key.properties === undefined) return { attributeName: key.attributeName }
  const properties = requireJsonObject(key.properties, 'properties', [...place, 'properties'])
  refuseUnknownFields(properties, ['maxStoredStringLength'], 'properties', [...place, 'properties'])
  const at = [...place, 'properties', 'maxStoredStringLength']
  return {
    attributeName: key.attributeName,
    maxStoredStringLength: lengthOf(properties.maxStoredStringLength, at),
  }
}

function lengthOf(input: unknown, place: CommandPlace): number | undefined {
  if (input === undefined) return undefined
  const isDigits = typeof input === 'string' && /^-?\d+$/.test(input)
  if (typeof input !== 'number' && typeof input !== 'bigint' && !isDigits) {
    throw commandError('MalformedValue', `maxStoredStringLength is a number, not ${formatForMessage(input)}.`, place)
  }
  const length = Number(input)
  if (Number.isInteger(length) && length >= 1 && length <= maxStoredStringLengthMax) return length
  throw commandError(
    'ValueNotAllowed',
    `maxStoredStringLength must be an integer from 1 to ${maxStoredStringLengthMax}, not ${formatForMessage(input)}.`,
    place,
  )
}

function actualSuffix(input: unknown): string {
  return input === undefined ? '' : `; not ${formatForMessage(input)}`
}

function textOf(request: JsonObject, field: 'name' | 'indexedClass'): string {
  const value = request[field]
  if (typeof value === 'string' && value !== '') return value
  throw commandError('MalformedRequest', `${field} is needed, a name${actualSuffix(value)}.`, [field])
}

function isUniqueIn(input: unknown): boolean {
  const value = booleanIn(input)
  if (value !== undefined) return value
  throw commandError('MalformedRequest', `isUnique is needed, true or false${actualSuffix(input)}.`, ['isUnique'])
}
