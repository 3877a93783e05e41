/** The operations on indexes (contract 6). */

import type { IndexRecord as EngineIndexRecord } from '@ashlar/engine'
import { type FdOperation, type OperationReply, param, wantsAsync } from '../dispatch/operation.ts'
import { onceOf } from '../dispatch/stored-reply.ts'
import { type Static, Type } from '../wire/json-schema.ts'
import { IndexCreated, IndexRecord, IndexRequest } from '../wire/wire-schemas.ts'
import { indexUri } from './uris.ts'

const { keyAttributes, ...otherFields } = IndexRequest.properties
const otherSpelling = Type.Object(
  { ...otherFields, keyedAttributes: Type.Described(keyAttributes, 'Another spelling of keyAttributes.') },
  { deprecated: true },
)

const nameParam = { name: 'Name of the index.' }

function recordOf({ name, ...record }: EngineIndexRecord): Static<typeof IndexRecord> {
  return { name, uri: indexUri(name), ...record }
}

function created(name: string, isBackground: boolean): OperationReply {
  const uri = indexUri(name)
  const body: Static<typeof IndexCreated> = { name, uri }
  if (!isBackground) return { body, headers: { location: uri } }
  return { status: 202, body, headers: { location: uri, 'preference-applied': 'respond-async' } }
}

export const indexOperations: readonly FdOperation[] = [
  {
    scope: 'fd',
    method: 'POST',
    path: '/v1/index',
    needs: 'define',
    summary: 'Create an index',
    description:
      'Existing objects are indexed before the reply; if the client disconnects, no index is created. With `Prefer: respond-async` the build continues in the background, even after a restart; the index shows its progress, or why it failed.',
    tag: 'Indexes',
    status: 201,
    keepsReply: true,
    body: Type.Union([IndexRequest, otherSpelling]),
    isBodyCheckedByEngine: true,
    reply: IndexCreated,
    errors: [
      'MalformedRequest',
      'MalformedValue',
      'UnknownField',
      'InvalidName',
      'InvalidDefinition',
      'UnknownClass',
      'ClassIsInternal',
      'ClassNotReferenceable',
      'UnknownAttribute',
      'AmbiguousAttribute',
      'AttributeNotIndexable',
      'ValueNotAllowed',
      'LimitExceeded',
      'IndexExists',
      'UniqueViolation',
    ],
    otherReplies: { 202: { description: 'With Prefer: respond-async', reply: IndexCreated } },
    async run(database, request) {
      const isBackground = wantsAsync(request)
      const toReply = ({ name }: { readonly name: string }): OperationReply => created(name, isBackground)
      const { body, signal } = request
      const once = onceOf(request, 201, toReply)
      const options = { ...(isBackground ? { isBackground } : { signal }), ...(once === undefined ? {} : { once }) }
      return toReply(await database.createIndex(body, options))
    },
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/index',
    needs: 'read',
    summary: 'All indexes, by name',
    tag: 'Indexes',
    status: 200,
    reply: Type.Array(IndexRecord),
    errors: [],
    run: async (database) => ({ body: (await database.listIndexes()).map(recordOf) }),
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/index/:name',
    needs: 'read',
    summary: 'An index',
    tag: 'Indexes',
    params: nameParam,
    status: 200,
    reply: IndexRecord,
    errors: ['IndexNotFound'],
    run: async (database, request) => ({ body: recordOf(await database.readIndex(param(request, 'name'))) }),
  },
  {
    scope: 'fd',
    method: 'DELETE',
    path: '/v1/index/:name',
    needs: 'define',
    summary: 'Delete an index',
    tag: 'Indexes',
    params: nameParam,
    status: 204,
    errors: ['IndexNotFound', 'IndexInUse'],
    async run(database, request) {
      await database.deleteIndex(param(request, 'name'))
      return {}
    },
  },
]
