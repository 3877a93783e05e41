/** The operations on objects (contract 4). */
import { AshlarError, entityTagOf, type Oid } from '@ashlar/engine'
import { conditionOf, isMatch, matchOf, tagNotModified } from '../dispatch/entity-tags.ts'
import { booleanParam, type FdOperation, type FdRequest, type OperationReply, param } from '../dispatch/operation.ts'
import { BodyLines } from '../json/body-lines.ts'
import { type Static, Type } from '../wire/json-schema.ts'
import {
  CreateObjectBody,
  DeletionReport,
  ObjectCreated,
  ObjectRepresentation,
  UpdateObjectBody,
} from '../wire/wire-schemas.ts'
import { bulkParametersOf, bulkQueryParameters, refuseBulkParameters } from './bulk/bulk-parameters.ts'
import { runBulk } from './bulk/run-bulk.ts'
import { objectUri } from './uris.ts'

const attributeErrors = [
  'MalformedRequest',
  'MalformedValue',
  'UnknownField',
  'UnknownAttribute',
  'ValueNotAllowed',
  'ConstraintViolation',
  'ClassIsAbstract',
  'InvalidReference',
  'UniqueViolation',
  'LimitExceeded',
  'TransactionContention',
] as const

const oidParam = { oid: 'OID, such as 3-3-1-40.' }

/** Throws PreconditionFailed. */
function replyTo(request: FdRequest, body: Buffer): OperationReply | Promise<OperationReply> {
  const etag = entityTagOf(body)
  return typeof etag === 'string'
    ? taggedReply(request, body, etag)
    : etag.then((one) => taggedReply(request, body, one))
}

function taggedReply(request: FdRequest, body: Buffer, etag: string): OperationReply {
  const { headers } = request
  if (headers['if-match'] !== undefined && !isMatch(headers, etag)) {
    const message = `Object ${param(request, 'oid')} does not meet the condition: its ETag is ${etag}. Read it again, then repeat the request.`
    throw new AshlarError('PreconditionFailed', message)
  }
  const clientTag = headers['if-none-match'] === undefined ? undefined : tagNotModified(headers, etag)
  if (clientTag !== undefined) return { status: 304, headers: { etag: clientTag } }
  return { body, headers: { etag } }
}

const empty: OperationReply = {}

function emptyReply(): OperationReply {
  return empty
}

/** Narrows the type, which `Array.isArray` does not do for readonly arrays. */
function isArray<T extends object>(body: T | readonly T[]): body is readonly T[] {
  return Array.isArray(body)
}

function createdJson(oids: readonly Oid[]): Buffer {
  const created = oids.map((oid) => `{"__identifier__":"${oid}","uri":"${objectUri(oid)}"}`)
  return Buffer.from(`[${created.join(',')}]`, 'latin1')
}

export const objectOperations: readonly FdOperation[] = [
  {
    scope: 'fd',
    method: 'POST',
    path: '/v1/object',
    needs: 'write',
    summary: 'Create an object, an array of objects, or load many',
    description:
      'An array creates all of its objects, or none: places of errors begin with the position in it. Its reply is an array in the same order, without Location. ' +
      'As application/x-ndjson each line creates, changes or deletes an object; lines are committed in batches, and the reply (200) has a line for each as soon as it is.',
    tag: 'Objects',
    status: 201,
    body: CreateObjectBody,
    bodyIsObject: true,
    takesArray: true,
    reply: ObjectCreated,
    errors: [
      ...attributeErrors,
      'UnknownClass',
      'ClassIsInternal',
      'ClassNotReferenceable',
      'MalformedOid',
      'ObjectNotFound',
      'IndexNotFound',
    ],
    queryParameters: bulkQueryParameters,
    takesLines: true,
    otherReplies: {
      200: { description: 'For NDJSON: one BulkReply per line, then a BulkSummary, as application/x-ndjson' },
    },
    async run(database, request) {
      if (request.body instanceof BodyLines) {
        const parameters = bulkParametersOf(request)
        // Check this before the body is read.
        if (parameters.upsertOn !== undefined) await database.checkUpsertIndex(parameters.upsertOn)
        return { lines: runBulk(request.body, database, request, parameters) }
      }
      refuseBulkParameters(request)
      const body = request.body as Static<typeof CreateObjectBody> | readonly Static<typeof CreateObjectBody>[]
      if (isArray(body)) return { body: createdJson(await database.createObjects(body, request)) }
      const oid = await database.createObject(body.class, body.attributes ?? {}, request)
      const uri = objectUri(oid)
      return { body: { __identifier__: oid, uri } satisfies Static<typeof ObjectCreated>, headers: { location: uri } }
    },
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/object/:oid',
    needs: 'read',
    summary: 'Read an object',
    tag: 'Objects',
    params: oidParam,
    status: 200,
    reply: ObjectRepresentation,
    description: 'Returns an ETag. With If-None-Match: 304 if the object is unchanged.',
    otherReplies: { 304: { description: 'The object is unchanged' } },
    errors: [
      'MalformedRequest',
      'MalformedOid',
      'ObjectNotFound',
      'PreconditionFailed',
      'TooManyStatements',
      'StatementStopped',
      'LimitExceeded',
    ],
    run(database, request) {
      const found = database.readObject(param(request, 'oid'), matchOf(request.headers), request.longRead)
      return found instanceof Promise ? found.then((body) => replyTo(request, body)) : replyTo(request, found)
    },
  },
  {
    scope: 'fd',
    method: 'PUT',
    path: '/v1/object/:oid',
    needs: 'write',
    summary: 'Update an object',
    description: 'Omitted attributes stay unchanged. With If-Match: 412 if the object has changed.',
    tag: 'Objects',
    params: oidParam,
    status: 204,
    body: UpdateObjectBody,
    bodyIsObject: true,
    errors: [...attributeErrors, 'MalformedOid', 'ObjectNotFound', 'PreconditionFailed'],
    run(database, request) {
      const { class: className, attributes } = request.body as Static<typeof UpdateObjectBody>
      const condition = conditionOf(request.headers)
      return database.updateObject(param(request, 'oid'), attributes, className, condition, request).then(emptyReply)
    },
  },
  {
    scope: 'fd',
    method: 'DELETE',
    path: '/v1/object/:oid',
    needs: 'write',
    summary: 'Delete an object',
    tag: 'Objects',
    params: oidParam,
    status: 204,
    description:
      'Others may follow by `onTargetDelete` and `onSourceDelete` of attributes. With If-Match: 412 if the object has changed.',
    queryParameters: {
      dryRun: {
        description:
          'true: nothing changes; 200 with what would be deleted and cleared, or the error that the deletion would have.',
        schema: Type.Boolean({ default: false }),
      },
    },
    otherReplies: { 200: { description: 'With dryRun=true', reply: DeletionReport } },
    errors: [
      'MalformedOid',
      'ObjectNotFound',
      'PreconditionFailed',
      'DeleteRestricted',
      'ConstraintViolation',
      'LimitExceeded',
      'TransactionContention',
    ],
    run(database, request) {
      if (booleanParam(request, 'dryRun')) {
        const oid = param(request, 'oid')
        const previewed = database.previewObjectDeletion(oid, conditionOf(request.headers), request)
        return previewed.then((body) => ({ status: 200, body }))
      }
      return database.deleteObject(param(request, 'oid'), conditionOf(request.headers), request).then(emptyReply)
    },
  },
]
