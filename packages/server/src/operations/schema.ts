/** The operations of the schema (interface, 4.2 to 4.4). */
import Type from 'typebox'
import { type FdOperation, type OperationReply, param } from './operation.ts'
import {
  ClassDescriptions,
  ClassesDefined,
  ClassRepresentation,
  NamespaceEntry,
  NamespaceRepresentation,
} from './wire-schemas.ts'

const definitionErrors = [
  'MalformedRequest',
  'MalformedValue',
  'UnknownField',
  'InvalidName',
  'InvalidDefinition',
  'UnknownClass',
  'UnknownAttribute',
  'AttributeExists',
  'SuperClassMismatch',
  'ClassIsEmbedded',
  'ClassIsReferenceable',
  'LimitExceeded',
] as const

function defined(classNumbers: readonly string[]): OperationReply {
  return { body: { classNumbers, uris: classNumbers.map((number) => `/v1/schema/${number}`) } }
}

export const schemaOperations: readonly FdOperation[] = [
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/schema',
    summary: 'All classes, by class number',
    tag: 'Schema',
    status: 200,
    reply: Type.Array(ClassRepresentation),
    errors: [],
    run: async (fd) => ({ body: await fd.listClasses() }),
  },
  {
    scope: 'fd',
    method: 'POST',
    path: '/v1/schema',
    summary: 'Create classes',
    description: 'Every class must be new. All are created, or none.',
    tag: 'Schema',
    status: 201,
    body: ClassDescriptions,
    isBodyCheckedByEngine: true,
    reply: ClassesDefined,
    errors: [...definitionErrors, 'ClassExists'],
    run: async (fd, { body }) => defined(await fd.defineClasses(body, 'create')),
  },
  {
    scope: 'fd',
    method: 'PUT',
    path: '/v1/schema',
    summary: 'Create classes, or add attributes to them',
    description: 'Classes that do not exist are created; those that do get the listed attributes. All, or none.',
    tag: 'Schema',
    status: 201,
    body: ClassDescriptions,
    isBodyCheckedByEngine: true,
    reply: ClassesDefined,
    errors: definitionErrors,
    run: async (fd, { body }) => defined(await fd.defineClasses(body, 'createOrExtend')),
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/schema/namespace',
    summary: 'All namespaces',
    description: 'null stands for the default namespace.',
    tag: 'Schema',
    status: 200,
    reply: Type.Array(NamespaceEntry),
    errors: [],
    run: async (fd) => ({ body: (await fd.listNamespaces()).map((name) => ({ name })) }),
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/schema/namespace/:name',
    summary: 'The classes of a namespace',
    tag: 'Schema',
    params: { name: 'Namespace; the default one is addressed as null or Default.' },
    status: 200,
    reply: NamespaceRepresentation,
    errors: ['NamespaceNotFound'],
    run: async (fd, request) => ({ body: await fd.readNamespace(param(request, 'name')) }),
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/schema/:class',
    summary: 'A class',
    tag: 'Schema',
    params: { class: 'Full name or class number.' },
    status: 200,
    reply: ClassRepresentation,
    errors: ['ClassNotFound'],
    run: async (fd, request) => ({ body: await fd.readClass(param(request, 'class')) }),
  },
]
