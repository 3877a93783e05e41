/** The operations on indexes (interface, 4.1; REST interface, section 6). */
import Type from 'typebox'
import { type FdOperation, param } from './operation.ts'
import { CreateIndex, IndexCreated, IndexRecord } from './wire-schemas.ts'

const nameParam = { name: 'Name of the index.' }

export const indexOperations: readonly FdOperation[] = [
  {
    scope: 'fd',
    method: 'POST',
    path: '/v1/index',
    summary: 'Create an index',
    description: 'Objects that exist are indexed before the reply. A client that goes away leaves no index.',
    tag: 'Indexes',
    status: 201,
    body: CreateIndex,
    isBodyCheckedByEngine: true,
    reply: IndexCreated,
    errors: [
      'MalformedRequest',
      'MalformedValue',
      'UnknownField',
      'InvalidName',
      'InvalidDefinition',
      'UnknownClass',
      'ClassNotReferenceable',
      'UnknownAttribute',
      'AmbiguousAttribute',
      'AttributeNotIndexable',
      'ValueNotAllowed',
      'LimitExceeded',
      'IndexExists',
      'UniqueViolation',
    ],
    async run(fd, { body, signal }) {
      const { name } = await fd.createIndex(body, { signal })
      const uri = `/v1/index/${name}`
      return { body: { name, uri }, headers: { location: uri } }
    },
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/index',
    summary: 'All indexes, by name',
    tag: 'Indexes',
    status: 200,
    reply: Type.Array(IndexRecord),
    errors: [],
    run: async (fd) => ({ body: await fd.listIndexes() }),
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/index/:name',
    summary: 'An index',
    tag: 'Indexes',
    params: nameParam,
    status: 200,
    reply: IndexRecord,
    errors: ['IndexNotFound'],
    run: async (fd, request) => ({ body: await fd.readIndex(param(request, 'name')) }),
  },
  {
    scope: 'fd',
    method: 'DELETE',
    path: '/v1/index/:name',
    summary: 'Delete an index',
    tag: 'Indexes',
    params: nameParam,
    status: 204,
    errors: ['IndexNotFound'],
    async run(fd, request) {
      await fd.deleteIndex(param(request, 'name'))
      return {}
    },
  },
]
