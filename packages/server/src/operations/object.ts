/** The operations on objects (interface, 4.5; REST interface, section 4). */
import type { Attributes } from '@ashlar/engine'
import { type FdOperation, param } from './operation.ts'
import { CreateObject, ObjectCreated, ObjectRepresentation, UpdateObject } from './wire-schemas.ts'

interface ObjectBody {
  readonly class: string
  readonly attributes?: Attributes
}

const attributeErrors = [
  'MalformedRequest',
  'MalformedValue',
  'UnknownField',
  'UnknownAttribute',
  'ValueNotAllowed',
  'InvalidReference',
  'UniqueViolation',
  'TransactionContention',
] as const

const oidParam = { oid: 'OID, such as 3-3-1-40.' }

export const objectOperations: readonly FdOperation[] = [
  {
    scope: 'fd',
    method: 'POST',
    path: '/v1/object',
    summary: 'Create an object',
    tag: 'Objects',
    status: 201,
    body: CreateObject,
    reply: ObjectCreated,
    errors: [...attributeErrors, 'UnknownClass', 'ClassNotReferenceable'],
    async run(fd, { body }) {
      const { class: className, attributes } = body as ObjectBody
      const oid = await fd.createObject(className, attributes ?? {})
      const uri = `/v1/object/${oid}`
      return { body: { __identifier__: oid, uri }, headers: { location: uri } }
    },
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/object/:oid',
    summary: 'Read an object',
    tag: 'Objects',
    params: oidParam,
    status: 200,
    reply: ObjectRepresentation,
    errors: ['MalformedOid', 'ObjectNotFound'],
    run(fd, request) {
      const found = fd.readObject(param(request, 'oid'))
      return found instanceof Promise ? found.then((body) => ({ body })) : { body: found }
    },
  },
  {
    scope: 'fd',
    method: 'PUT',
    path: '/v1/object/:oid',
    summary: 'Update an object',
    description: 'Attributes left out stay as they are.',
    tag: 'Objects',
    params: oidParam,
    status: 204,
    body: UpdateObject,
    errors: [...attributeErrors, 'MalformedOid', 'ObjectNotFound'],
    async run(fd, request) {
      const { class: className, attributes } = request.body as Partial<ObjectBody>
      await fd.updateObject(param(request, 'oid'), attributes ?? {}, className)
      return {}
    },
  },
  {
    scope: 'fd',
    method: 'DELETE',
    path: '/v1/object/:oid',
    summary: 'Delete an object for good',
    tag: 'Objects',
    params: oidParam,
    status: 204,
    errors: ['MalformedOid', 'ObjectNotFound', 'TransactionContention'],
    async run(fd, request) {
      await fd.deleteObject(param(request, 'oid'))
      return {}
    },
  },
]
