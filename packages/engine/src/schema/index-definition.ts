/** Index definitions: the request's reading, its rules, and what replies show (contract 6.1). */
import { isDeepStrictEqual } from 'node:util'
import { maxStoredStringLengthDefault, maxStoredStringLengthMax } from '../limits.ts'
import { shownValue } from '../types/logical-type.ts'
import type { LogicalTypeName } from '../types/type-spec.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import type { CatalogState, IndexDefinition, IndexNumber, KeyAttribute } from './class-definition.ts'
import { keyPathName, resolveKeyPath } from './key-path.ts'
import { checkIndexName, hintFor } from './names.ts'
import { booleanIn, fault, type JsonObject, objectOf, refuseUnknownFields, shownText } from './request-body.ts'
import { rootClassName, rootClassRefusal } from './root-class.ts'

export interface KeyRequest {
  readonly attributeName: string
  readonly maxStoredStringLength: number | undefined
  readonly pointer: string
}

export interface IndexRequest {
  readonly name: string
  readonly indexedClass: string
  readonly isUnique: boolean
  readonly keys: readonly KeyRequest[]
  /** Of the key attributes, under the name that the request gave them. */
  readonly keysPointer: string
}

export interface IndexRepresentation {
  readonly name: string
  readonly uri: string
  readonly indexedClass: string
  readonly isUnique: boolean
  readonly keyAttributes: readonly {
    readonly attributeName: string
    readonly properties?: { readonly maxStoredStringLength: number }
  }[]
  readonly state: IndexDefinition['state']
  /** Why a background build has failed. */
  readonly failure?: { readonly type: string; readonly message: string }
}

const requestFields = ['name', 'indexedClass', 'isUnique', 'keyAttributes', 'keyedAttributes']
const notIndexable: readonly LogicalTypeName[] = ['list', 'set', 'map', 'object']

/** Throws MalformedRequest, MalformedValue, UnknownField, ValueNotAllowed. */
export function readIndexRequest(body: unknown): IndexRequest {
  const request = objectOf(body, 'The body', '')
  refuseUnknownFields(request, requestFields, 'An index request', '')
  const { keyAttributes, keyedAttributes } = request
  if (
    keyAttributes !== undefined &&
    keyedAttributes !== undefined &&
    !isDeepStrictEqual(keyAttributes, keyedAttributes)
  ) {
    throw fault(
      'MalformedRequest',
      'keyAttributes and keyedAttributes are the same field, but differ.',
      '/keyedAttributes',
    )
  }
  const keysPointer = keyAttributes === undefined ? '/keyedAttributes' : '/keyAttributes'
  const keys = keyAttributes ?? keyedAttributes
  if (!Array.isArray(keys) || keys.length === 0) {
    throw fault(
      'MalformedRequest',
      'keyAttributes is needed: an array of at least one key attribute.',
      '/keyAttributes',
    )
  }
  return {
    name: textOf(request, 'name'),
    indexedClass: textOf(request, 'indexedClass'),
    isUnique: isUniqueIn(request.isUnique),
    keys: keys.map((key: unknown, position) => readKey(key, `${keysPointer}/${position}`)),
    keysPointer,
  }
}

function readKey(given: unknown, pointer: string): KeyRequest {
  const key = objectOf(given, 'A key attribute', pointer)
  refuseUnknownFields(key, ['attributeName', 'properties'], 'A key attribute', pointer)
  if (typeof key.attributeName !== 'string' || key.attributeName === '') {
    throw fault(
      'MalformedRequest',
      `attributeName is needed, a name${butNot(key.attributeName)}.`,
      `${pointer}/attributeName`,
    )
  }
  if (key.properties === undefined || key.properties === null) {
    return { attributeName: key.attributeName, maxStoredStringLength: undefined, pointer }
  }
  const properties = objectOf(key.properties, 'properties', `${pointer}/properties`)
  refuseUnknownFields(properties, ['maxStoredStringLength'], 'properties', `${pointer}/properties`)
  const at = `${pointer}/properties/maxStoredStringLength`
  return {
    attributeName: key.attributeName,
    maxStoredStringLength: lengthOf(properties.maxStoredStringLength, at),
    pointer,
  }
}

function lengthOf(given: unknown, pointer: string): number | undefined {
  if (given === undefined || given === null) return undefined
  const isDigits = typeof given === 'string' && /^-?\d+$/.test(given)
  if (typeof given !== 'number' && typeof given !== 'bigint' && !isDigits) {
    throw fault('MalformedValue', `maxStoredStringLength is a number, not ${shownValue(given)}.`, pointer)
  }
  const length = Number(given)
  if (Number.isInteger(length) && length >= 1 && length <= maxStoredStringLengthMax) return length
  throw fault(
    'ValueNotAllowed',
    `maxStoredStringLength is a whole number from 1 to ${maxStoredStringLengthMax}, not ${shownValue(given)}.`,
    pointer,
  )
}

/**
 * The definition, in state `building`, and the catalog state that has it. Throws InvalidName, IndexExists,
 * UnknownClass, ClassIsInternal, ClassNotReferenceable, UnknownAttribute, AttributeNotIndexable, InvalidDefinition, LimitExceeded.
 */
export function defineIndex(
  catalog: Catalog,
  request: IndexRequest,
  keyAttributesMax: number,
  builder: { readonly session: number; readonly isBackground: boolean },
): { definition: IndexDefinition; state: CatalogState } {
  checkIndexName(request.name)
  const cls = indexedClassOf(catalog, request.indexedClass)
  if (request.keys.length > keyAttributesMax) {
    throw fault(
      'LimitExceeded',
      `An index has at most ${keyAttributesMax} key attributes, not ${request.keys.length} (indexKeyAttributesMax).`,
      request.keysPointer,
    )
  }
  const keyAttributes = request.keys.map((key) => resolveKey(catalog, cls, key))
  const seen = new Set<string>()
  for (const [position, { path }] of keyAttributes.entries()) {
    const { attributeName, pointer } = request.keys[position] as KeyRequest
    if (seen.has(path.join())) {
      throw fault('InvalidDefinition', `Attribute ${attributeName} is a key attribute of the index twice.`, pointer)
    }
    seen.add(path.join())
  }
  if (catalog.indexByName(request.name) !== undefined) {
    throw fault('IndexExists', `There is an index '${request.name}' already.`, '/name')
  }
  const { state } = catalog
  const definition: IndexDefinition = {
    number: state.counters.index as IndexNumber,
    name: request.name,
    indexedClass: cls.number,
    isUnique: request.isUnique,
    keyAttributes,
    state: 'building',
    session: builder.session,
    ...(builder.isBackground ? { isBackground: true } : {}),
  }
  const counters = { ...state.counters, index: state.counters.index + 1 }
  return { definition, state: { ...state, counters, indexes: [...state.indexes, definition] } }
}

export function withReadyIndex(state: CatalogState, number: IndexNumber): CatalogState {
  return withIndexAs(state, number, ({ session: _, ...index }) => ({ ...index, state: 'ready' }))
}

/** Built by the process of another session from now on. */
export function reassignBuild(state: CatalogState, number: IndexNumber, session: number): CatalogState {
  return withIndexAs(state, number, (index) => ({ ...index, session }))
}

function withIndexAs(
  state: CatalogState,
  number: IndexNumber,
  changed: (index: IndexDefinition) => IndexDefinition,
): CatalogState {
  return { ...state, indexes: state.indexes.map((index) => (index.number === number ? changed(index) : index)) }
}

/** Under a number of its own: the entries that there are belong to the old one, and are cleared. */
export function withFailedIndex(
  state: CatalogState,
  number: IndexNumber,
  failure: NonNullable<IndexDefinition['failure']>,
): CatalogState {
  const { counters } = state
  const failed = counters.index as IndexNumber
  return {
    ...state,
    counters: { ...counters, index: counters.index + 1 },
    indexes: state.indexes.map((index): IndexDefinition => {
      if (index.number !== number) return index
      const { session: _, ...rest } = index
      return { ...rest, number: failed, state: 'failed', failure }
    }),
  }
}

export function withoutIndex(state: CatalogState, number: IndexNumber): CatalogState {
  return { ...state, indexes: state.indexes.filter((index) => index.number !== number) }
}

export function representIndex(definition: IndexDefinition, catalog: Catalog): IndexRepresentation {
  const cls = catalog.classByNumber(definition.indexedClass)
  return {
    name: definition.name,
    uri: `/v1/index/${definition.name}`,
    indexedClass: cls?.name ?? String(definition.indexedClass),
    isUnique: definition.isUnique,
    keyAttributes: definition.keyAttributes.map(({ path, maxStoredStringLength }) => ({
      attributeName: keyPathName(path, cls, catalog),
      ...(maxStoredStringLength === undefined ? {} : { properties: { maxStoredStringLength } }),
    })),
    state: definition.state,
    ...(definition.failure === undefined ? {} : { failure: definition.failure }),
  }
}

function indexedClassOf(catalog: Catalog, name: string): SchemaClass {
  const cls = catalog.findClass(name)
  if (cls === undefined && name === rootClassName)
    throw rootClassRefusal('/indexedClass', 'it has no attributes to index')
  if (cls === undefined) {
    const hint = hintFor(
      name,
      catalog.classes.map((known) => known.name),
    )
    throw fault('UnknownClass', `There is no class '${shownText(name)}'.${hint}`, '/indexedClass')
  }
  if (!cls.isReferenceable) {
    throw fault(
      'ClassNotReferenceable',
      `Class ${cls.name} is embeddable; only referenceable classes are indexed.`,
      '/indexedClass',
    )
  }
  return cls
}

function resolveKey(catalog: Catalog, cls: SchemaClass, key: KeyRequest): KeyAttribute {
  const { path, last } = resolveKeyPath(catalog, cls, key.attributeName, `${key.pointer}/attributeName`)
  if (notIndexable.includes(last.spec.logicalType)) {
    throw fault(
      'AttributeNotIndexable',
      `Class ${cls.name}: attribute ${key.attributeName} is of type ${last.spec.logicalType}, which cannot be a key.`,
      `${key.pointer}/attributeName`,
    )
  }
  if (last.becoming !== undefined) {
    const message = `Class ${cls.name}: the type of attribute ${key.attributeName} is being changed by another request.`
    throw fault('AttributeInUse', message, `${key.pointer}/attributeName`)
  }
  if (last.spec.logicalType !== 'string') return { path }
  return { path, maxStoredStringLength: key.maxStoredStringLength ?? maxStoredStringLengthDefault }
}

function butNot(given: unknown): string {
  return given === undefined ? '' : `; not ${shownValue(given)}`
}

function textOf(request: JsonObject, field: 'name' | 'indexedClass'): string {
  const value = request[field]
  if (typeof value === 'string' && value !== '') return value
  throw fault('MalformedRequest', `${field} is needed, a name${butNot(value)}.`, `/${field}`)
}

function isUniqueIn(given: unknown): boolean {
  const value = booleanIn(given)
  if (value !== undefined) return value
  throw fault('MalformedRequest', `isUnique is needed, true or false${butNot(given)}.`, '/isUnique')
}
