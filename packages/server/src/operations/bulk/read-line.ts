/** A line of a bulk load: a body of POST /v1/object, or an operation on one object as in POST /v1/transaction (contract 2.2.9). */
import {
  AshlarError,
  type BulkCommand,
  type BulkTarget,
  type ErrorDetail,
  lineIdCharactersMax,
  referredIn,
} from '@ashlar/engine'
import { quoteNames } from '../../errors/problem.ts'

type Fields = Readonly<Record<string, unknown>>

const idPattern = new RegExp(`^[A-Za-z_][A-Za-z0-9_-]{0,${lineIdCharactersMax - 1}}$`)
const objectUri = /^\/v1\/object(?:\/([^/?#]+))?\/?$/

const creationFields = new Set(['class', 'attributes', 'id'])
const operationFields = new Set(['method', 'uri', 'index', 'key', 'body', 'id'])
const noPlace: ErrorDetail['place'] = []
const bodyFields = new Set(['class', 'attributes'])

/** `hasNames`: whether the line may refer to objects of other lines. Throws MalformedRequest, UnknownField, MalformedOid, InvalidReference. */
export function readLine(json: unknown, line: number, hasNames: boolean): BulkCommand {
  const fields = fieldsOf(json, noPlace)
  if ('method' in fields) return readOperation(fields, line, hasNames)
  refuseOthers(fields, creationFields, noPlace)
  return creation(fields, fields.id, line, hasNames, noPlace)
}

function creation(
  { class: className, attributes }: Fields,
  id: unknown,
  line: number,
  hasNames: boolean,
  at: ErrorDetail['place'],
): BulkCommand {
  if (typeof className !== 'string' || className === '')
    throw malformed("needs 'class', a full name or a class number", [...at, 'class'])
  const checkedAttributes = attributes === undefined ? {} : fieldsOf(attributes, at, 'attributes')
  if (id !== undefined && (typeof id !== 'string' || !idPattern.test(id))) {
    throw malformed(`has an 'id' that is not a name of at most ${lineIdCharactersMax} letters, digits, _ and -`, ['id'])
  }
  const refersTo = hasNames ? referredIn(checkedAttributes) : undefined
  return { kind: 'create', line, at, class: className, attributes: checkedAttributes, id, refersTo }
}

function readOperation(fields: Fields, line: number, hasNames: boolean): BulkCommand {
  refuseOthers(fields, operationFields, [])
  const { method, uri, body, id } = fields
  const action = typeof method === 'string' ? method.toLowerCase() : ''
  if (action === 'post') {
    if (typeof uri !== 'string' || objectUri.exec(uri)?.[1] !== undefined || !objectUri.test(uri)) throw wrongUri()
    const created = fieldsOf(body, noPlace, 'body')
    refuseOthers(created, bodyFields, ['body'])
    return creation(created, id, line, hasNames, ['body'])
  }
  if (id !== undefined) throw malformed("has an 'id', which only creations can have", ['id'])
  const target = targetOf(fields)
  if (action === 'delete') {
    if (body !== undefined) throw malformed('has a body, which deletions do not have', ['body'])
    return { kind: 'delete', line, at: [], target, refersTo: hasNames ? referredIn(target) : undefined }
  }
  if (action !== 'put') throw malformed("needs 'method': post, put or delete", ['method'])
  const changed = fieldsOf(body, noPlace, 'body')
  refuseOthers(changed, bodyFields, ['body'])
  const { class: className } = changed
  if (className !== undefined && typeof className !== 'string')
    throw malformed("has a 'class' that is not a string", ['body', 'class'])
  const attributes = fieldsOf(changed.attributes, ['body'], 'attributes')
  const refersTo = hasNames ? referredIn([target, attributes]) : undefined
  return { kind: 'update', line, at: ['body'], target, class: className, attributes, refersTo }
}

/** Reads the target of a line: an OID in the path, or a key of a unique index. */
function targetOf({ uri, index, key }: Fields): BulkTarget {
  if (index === undefined && key === undefined) {
    const named = typeof uri === 'string' ? objectUri.exec(uri)?.[1] : undefined
    if (named === undefined) throw wrongUri()
    return { oid: named }
  }
  if (uri !== undefined && uri !== '/v1/object')
    throw malformed("names its object twice, by 'uri' and by 'key'", ['uri'])
  if (typeof index !== 'string') throw malformed("needs 'index', the name of a unique index, beside 'key'", ['index'])
  return { key: { index, values: fieldsOf(key, noPlace, 'key') } }
}

function wrongUri(): AshlarError {
  return malformed("needs 'uri': /v1/object to create, /v1/object/<OID> or an index with a key to change and delete", [
    'uri',
  ])
}

/** `name`: the field of `at` that holds the value; undefined for the line itself. */
function fieldsOf(json: unknown, at: ErrorDetail['place'], name?: string): Fields {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Fields
  throw name === undefined ? malformed('is no object', at) : malformed(`needs '${name}', an object`, [...at, name])
}

function refuseOthers(fields: Fields, allowed: ReadonlySet<string>, place: ErrorDetail['place']): void {
  for (const name in fields) {
    if (allowed.has(name)) continue
    const unknown = Object.keys(fields).filter((one) => !allowed.has(one))
    const message = `The line has no field ${quoteNames(unknown)}.`
    throw new AshlarError('UnknownField', message, [{ place, message }])
  }
}

function malformed(what: string, place: ErrorDetail['place']): AshlarError {
  const message = `The line ${what}.`
  return new AshlarError('MalformedRequest', message, [{ place, message }])
}
