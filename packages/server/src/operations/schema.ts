/** The operations of the schema (contract 5). */
import type { Database } from '@ashlar/engine'
import {
  booleanParam,
  type FdOperation,
  type OperationReply,
  type OperationRequest,
  param,
  wantsAsync,
} from '../dispatch/operation.ts'
import { onceOf } from '../dispatch/stored-reply.ts'
import { type Static, Type } from '../wire/json-schema.ts'
import {
  ClassAlteration,
  ClassDescription,
  ClassesDefined,
  ClassRepresentation,
  NamespaceEntry,
  NamespaceRepresentation,
  SchemaReport,
} from '../wire/wire-schemas.ts'

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
  'ClassIsAbstract',
  'IndexExists',
  'UniqueViolation',
  'LimitExceeded',
] as const

const dryRun = {
  dryRun: {
    description:
      'true: nothing changes; 200 with what would change and how much it touches and loses, or the error that the change would have.',
    schema: Type.Boolean({ default: false }),
  },
}
const reported = { 200: { description: 'With dryRun=true', reply: SchemaReport } }

function defined(classNumbers: readonly string[]): OperationReply {
  const body: Static<typeof ClassesDefined> = {
    classNumbers,
    uris: classNumbers.map((number) => `/v1/schema/${number}`),
  }
  return { body }
}

function started({ classNumber, isRunning }: Awaited<ReturnType<Database['startAlteration']>>): OperationReply {
  const reply = defined([classNumber])
  if (!isRunning) return reply
  const headers = { location: `/v1/schema/${classNumber}`, 'preference-applied': 'respond-async' }
  return { ...reply, status: 202, headers }
}

async function define(
  database: Database,
  request: OperationRequest,
  mode: Parameters<Database['defineClasses']>[1],
): Promise<OperationReply> {
  const { body } = request
  const settings = { isLossAllowed: booleanParam(request, 'allowLoss') }
  if (booleanParam(request, 'dryRun')) {
    return { status: 200, body: await database.previewClasses(body, mode, settings) }
  }
  return defined(await database.defineClasses(body, mode, settings))
}

export const schemaOperations: readonly FdOperation[] = [
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/schema',
    needs: 'read',
    summary: 'All classes, by class number',
    tag: 'Schema',
    status: 200,
    reply: Type.Array(ClassRepresentation),
    errors: [],
    run: async (database) => ({ body: await database.listClassesJson() }),
  },
  {
    scope: 'fd',
    method: 'POST',
    path: '/v1/schema',
    needs: 'define',
    summary: 'Create classes',
    description: 'Every class must be new. They are created atomically.',
    tag: 'Schema',
    status: 201,
    body: Type.Array(ClassDescription),
    isBodyCheckedByEngine: true,
    reply: ClassesDefined,
    queryParameters: dryRun,
    otherReplies: reported,
    errors: [...definitionErrors, 'ClassExists'],
    run: (database, request) => define(database, request, 'create'),
  },
  {
    scope: 'fd',
    method: 'PUT',
    path: '/v1/schema',
    needs: 'define',
    summary: 'Create classes, or add attributes to them',
    description:
      'Classes that do not exist are created; existing classes get the listed attributes. A reference that is listed again with an inverse that the same body adds is given that inverse. The change is atomic.',
    tag: 'Schema',
    status: 201,
    body: Type.Array(ClassDescription),
    isBodyCheckedByEngine: true,
    reply: ClassesDefined,
    queryParameters: {
      ...dryRun,
      allowLoss: {
        description: 'true: references that do not fit an added inverse are cleared.',
        schema: Type.Boolean({ default: false }),
      },
    },
    otherReplies: reported,
    errors: [
      ...definitionErrors,
      'AttributeInUse',
      'ValuesWouldBeLost',
      'ObjectsViolateConstraint',
      'TransactionContention',
    ],
    run: (database, request) => define(database, request, 'createOrExtend'),
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/schema/namespace',
    needs: 'read',
    summary: 'All namespaces',
    description: 'null stands for the default namespace.',
    tag: 'Schema',
    status: 200,
    reply: Type.Array(NamespaceEntry),
    errors: [],
    async run(database) {
      const names = await database.listNamespaces()
      return { body: names.map((name) => ({ name })) satisfies Static<typeof NamespaceEntry>[] }
    },
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/schema/namespace/:name',
    needs: 'read',
    summary: 'The classes of a namespace',
    tag: 'Schema',
    params: { name: 'Namespace; the default one is addressed as null or Default.' },
    status: 200,
    reply: NamespaceRepresentation,
    errors: ['NamespaceNotFound'],
    run: async (database, request) => ({ body: await database.readNamespace(param(request, 'name')) }),
  },
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/schema/:class',
    needs: 'read',
    summary: 'A class',
    tag: 'Schema',
    params: { class: 'Full name or class number.' },
    status: 200,
    reply: ClassRepresentation,
    errors: ['ClassNotFound'],
    run: async (database, request) => ({ body: await database.readClass(param(request, 'class')) }),
  },
  {
    scope: 'fd',
    method: 'PUT',
    path: '/v1/schema/:class',
    needs: 'define',
    summary: 'Change a class',
    description:
      'Either `classRename`, or any of the others, in the order attributesToDelete, attributesToRename, attributesToChange, attributesToAdd, attributesToConstrain, classFields. Stored objects are converted when they are read, so the cost of a change does not depend on their number, unless values must be checked or indexes rebuilt. Objects are held against new constraints and checks while other requests go on. With `Prefer: respond-async` the reply does not wait for that: the class shows `validation` until the change is made, or why it failed.',
    tag: 'Schema',
    params: { class: 'Full name or class number.' },
    queryParameters: {
      ...dryRun,
      cascade: {
        description: 'true: also deletes indexes on a deleted attribute, and the other side of its links.',
        schema: Type.Boolean({ default: false }),
      },
      allowLoss: {
        description:
          'true: stored values that do not fit a changed type are replaced by the default, or by approximate values.',
        schema: Type.Boolean({ default: false }),
      },
      validate: {
        description:
          'false: existing objects may violate constraints and checks that are new, until the tool ValidateConstraints has found none that does; the attribute or check shows isValidated false.',
        schema: Type.Boolean({ default: true }),
      },
    },
    status: 201,
    keepsReply: true,
    body: ClassAlteration,
    isBodyCheckedByEngine: true,
    reply: ClassesDefined,
    otherReplies: { ...reported, 202: { description: 'With Prefer: respond-async', reply: ClassesDefined } },
    errors: [
      ...definitionErrors,
      'ClassNotFound',
      'ClassIsInternal',
      'ClassExists',
      'ServerBusy',
      'AttributeInUse',
      'ValuesWouldBeLost',
      'ObjectsViolateConstraint',
      'TransactionContention',
    ],
    async run(database, request) {
      const name = param(request, 'class')
      const settings = {
        isCascading: booleanParam(request, 'cascade'),
        isLossAllowed: booleanParam(request, 'allowLoss'),
        isValidating: booleanParam(request, 'validate', true),
      }
      const { body } = request
      if (booleanParam(request, 'dryRun')) {
        return { status: 200, body: await database.previewAlteration(name, body, settings) }
      }
      if (wantsAsync(request)) {
        const once = onceOf(request, 201, started)
        return started(await database.startAlteration(name, body, settings, once))
      }
      const toReply = (classNumber: string): OperationReply => defined([classNumber])
      return toReply(await database.alterClass(name, body, settings, onceOf(request, 201, toReply)))
    },
  },
  {
    scope: 'fd',
    method: 'DELETE',
    path: '/v1/schema/:class',
    needs: 'define',
    summary: 'Delete a class',
    description:
      'Its indexes, and attributes of other classes that reference it, are deleted too. It can still be read by its number, with isDeleted true; its name can be reused.',
    tag: 'Schema',
    params: { class: 'Full name or class number.' },
    queryParameters: dryRun,
    status: 204,
    otherReplies: reported,
    errors: ['ClassNotFound', 'ClassIsInternal', 'ClassInUse', 'TransactionContention'],
    async run(database, request) {
      const name = param(request, 'class')
      if (booleanParam(request, 'dryRun')) return { status: 200, body: await database.previewDeletion(name) }
      await database.deleteClass(name)
      return {}
    },
  },
]
