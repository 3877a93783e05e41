/**
 * The bodies of requests and replies (contract, section 2). Validation, the OpenAPI document and the types of the client follow from these schemas;
 * each export is a type of the client with the same name.
 */
import { problemTypes } from '../errors/server-errors.ts'
import { type Schema, Type } from './json-schema.ts'
import {
  classPropertySchemas,
  isValidated,
  nullable,
  propertyFields,
  quotedBoolean,
  quotedInteger,
} from './property-schemas.ts'

const anyObject = Type.Record(Type.Unknown())
const nameOrNull = Type.Union([Type.String(), Type.Null()])

export const Oid = Type.String({
  description: '`<database>-<container>-<page>-<slot>`; `0-0-0-0` refers to nothing.',
})

export const Attributes = Type.Record(Type.Unknown(), { description: 'Values of attributes, by name.' })

export const CreateObjectBody = Type.Object(
  {
    class: Type.String({ minLength: 1, description: 'Full name or class number of a referenceable class.' }),
    attributes: Type.Optional(Attributes),
  },
  { additionalProperties: false },
)

export const UpdateObjectBody = Type.Object(
  {
    attributes: Attributes,
    class: Type.Optional(Type.String({ description: 'Optional: the class of the object, which cannot be changed.' })),
  },
  { additionalProperties: false },
)

export const ObjectCreated = Type.Object({
  __identifier__: Type.Described(Oid, 'OID of the new object.'),
  uri: Type.String(),
})

export const BulkCreation = Type.Object(
  {
    class: Type.String({ minLength: 1, description: 'Full name or class number of a referenceable class.' }),
    attributes: Type.Optional(Attributes),
    id: Type.Optional(
      Type.String({ description: 'A name by which other lines refer to the object: the name in braces after `$`.' }),
    ),
  },
  { additionalProperties: false, description: 'A line that creates an object.' },
)

export const BulkOperation = Type.Object(
  {
    method: Type.Union([Type.Literal('post'), Type.Literal('put'), Type.Literal('delete')]),
    uri: Type.Optional(Type.String({ description: '`/v1/object` to create, `/v1/object/{oid}` to change or delete.' })),
    index: Type.Optional(Type.String({ description: 'A unique index, instead of an OID.' })),
    key: Type.Optional(Type.Described(Attributes, 'The key of the object in the index.')),
    body: Type.Optional(Type.Record(Type.Unknown(), { description: 'The body of the single request.' })),
    id: Type.Optional(Type.String({ description: 'For creations.' })),
  },
  { additionalProperties: false, description: 'A line with one operation on an object.' },
)

export const BulkReply = Type.Object(
  {
    line: Type.Integer({ description: 'The number of the line, from 1.' }),
    __identifier__: Type.Optional(Oid),
    error: Type.Optional(
      Type.Deferred((): Schema<Record<string, unknown>> => Problem as Schema<Record<string, unknown>>),
    ),
  },
  { description: 'The reply to a line.' },
)

export const BulkSummary = Type.Object(
  {
    summary: Type.Object({
      created: Type.Integer(),
      updated: Type.Integer(),
      deleted: Type.Optional(Type.Integer({ description: 'Only if there are failures.' })),
      failed: Type.Integer(),
    }),
  },
  { description: 'The last line of the reply.' },
)

export const ObjectRepresentation = Type.Object(
  { __class__: Type.String(), __identifier__: Oid },
  { additionalProperties: true, description: 'The attributes follow, flat, in schema order.' },
)

const definitionFields = {
  logicalType: Type.String({
    description:
      'boolean, character, integer, real, decimal, string, guid, date, time, datetime, interval, bytes, json, reference, object, list, set or map, in any case. Also accepted: instant for a datetime with the storage datetimeoffset, and float for a real.',
  }),
  encoding: Type.Optional(Type.String()),
  storage: Type.Optional(Type.String()),
  fixedLength: Type.Optional(quotedInteger),
  precision: Type.Optional(quotedInteger),
  scale: Type.Optional(quotedInteger),
  referencedClass: Type.Optional(Type.String()),
  inverseAttribute: Type.Optional(Type.String()),
  edgeClass: Type.Optional(Type.String()),
  edgeAttribute: Type.Optional(Type.String()),
  class: Type.Optional(Type.String()),
  collectionTypeName: Type.Optional(Type.String()),
  elementSpecification: Type.Optional(Type.Deferred((): Schema => TypeDefinition)),
  keySpecification: Type.Optional(Type.Deferred((): Schema => TypeDefinition)),
  ...propertyFields,
}

export const TypeDefinition = Type.Object(definitionFields, {
  description: 'A type without an attribute name.',
})

export const AttributeDefinition = Type.Object({ attributeName: Type.String(), ...definitionFields, isValidated })

export const ClassDescription = Type.Object({
  className: Type.Optional(Type.String()),
  classNumber: Type.Optional(quotedInteger),
  isReferenceable: Type.Optional(quotedBoolean),
  superClass: Type.Optional(Type.Union([Type.String(), Type.Null(), Type.Object({ className: Type.String() })])),
  attributes: Type.Array(AttributeDefinition),
  ...classPropertySchemas,
})

export const ClassesDefined = Type.Object({
  classNumbers: Type.Array(Type.String()),
  uris: Type.Array(Type.String()),
})

export const ClassValidation = Type.Object(
  {
    state: Type.Union([Type.Literal('running'), Type.Literal('failed')]),
    progress: Type.Optional(Type.Object({ objectsDone: Type.Integer(), objectsTotal: Type.Integer() })),
    failure: Type.Optional(
      Type.Object(
        { type: Type.String(), message: Type.String() },
        { additionalProperties: true, description: 'The error that the change would have had.' },
      ),
    ),
  },
  {
    description:
      'A change in the background, shown by GET of one class until it is made, or the class is changed again.',
  },
)

export const ClassRepresentation = Type.Object({
  className: Type.String(),
  classNumber: Type.String(),
  shapeNumber: Type.String(),
  isReferenceable: Type.Boolean(),
  isInternal: Type.Boolean(),
  isDeleted: Type.Boolean(),
  superClass: nameOrNull,
  attributes: Type.Array(AttributeDefinition),
  ...classPropertySchemas,
  validation: Type.Optional(ClassValidation),
})

export const AttributeRename = Type.Object({ originalName: Type.String(), newName: Type.String() })

export const AttributeConstraints = Type.Object({
  attributeName: Type.String(),
  elementSpecification: Type.Optional(Type.Object(nullable(propertyFields))),
  ...nullable(propertyFields),
})

export const ClassAlteration = Type.Object(
  {
    classRename: Type.Optional(
      Type.String({
        description: 'A name without a dot stays in the namespace; a leading dot means the default namespace.',
      }),
    ),
    attributesToDelete: Type.Optional(Type.Array(Type.String())),
    attributesToRename: Type.Optional(Type.Array(AttributeRename)),
    attributesToChange: Type.Optional(Type.Array(AttributeDefinition)),
    attributesToAdd: Type.Optional(Type.Array(AttributeDefinition)),
    attributesToConstrain: Type.Optional(Type.Array(AttributeConstraints)),
    classFields: Type.Optional(Type.Object(nullable(classPropertySchemas))),
  },
  { description: 'Either `classRename`, or any of the others, which are applied in this order.' },
)

export const ValuesLost = Type.Object({
  className: Type.String(),
  attributeName: Type.String(),
  values: Type.Integer(),
})

const StoredViolations = Type.Object({
  className: Type.String(),
  attributeName: Type.Optional(Type.String()),
  checkName: Type.Optional(Type.String()),
  constraint: Type.String({ description: 'The field that states it, such as `minimum`; `checks` for a check.' }),
  objects: Type.Integer(),
  oids: Type.Array(Type.String(), { description: 'The first ten.' }),
})

const deletionCounts = Type.Array(
  Type.Object({
    className: Type.Union([Type.String(), Type.Null()]),
    attributeName: Type.Union([Type.String(), Type.Null()]),
    count: Type.Optional(Type.Integer()),
  }),
)

export const DeletionReport = Type.Object(
  {
    deleted: Type.Described(deletionCounts, 'Objects, by the attribute by which they follow; null: the object itself.'),
    cleared: Type.Described(deletionCounts, 'References of objects that remain.'),
  },
  { description: 'Class and attribute of what the caller does not see are null, and it is not counted.' },
)

export const SchemaReport = Type.Object(
  {
    classes: Type.Array(
      Type.Object({
        className: Type.String(),
        change: Type.Union([
          Type.Literal('add'),
          Type.Literal('change'),
          Type.Literal('rename'),
          Type.Literal('delete'),
        ]),
        newName: Type.Optional(Type.String()),
        attributesAdded: Type.Array(Type.String()),
        attributesDeleted: Type.Array(Type.String()),
        attributesRenamed: Type.Array(AttributeRename),
        attributesChanged: Type.Array(
          Type.Object({ attributeName: Type.String(), from: TypeDefinition, to: TypeDefinition }),
        ),
      }),
    ),
    indexesDropped: Type.Array(Type.String()),
    indexesRebuilt: Type.Array(Type.String()),
    objects: Type.Integer({ description: 'Objects whose stored form would change.' }),
    valuesLost: Type.Array(ValuesLost),
  },
  { description: 'The effects that a schema change would have.' },
)

export const NamespaceEntry = Type.Object({ name: Type.Described(nameOrNull, 'null: the default namespace.') })

export const NamespaceRepresentation = Type.Object({
  name: Type.Described(nameOrNull, 'null: the default namespace.'),
  classes: Type.Array(ClassRepresentation),
})

export const KeyAttribute = Type.Object({
  attributeName: Type.String(),
  properties: Type.Optional(Type.Object({ maxStoredStringLength: Type.Optional(quotedInteger) })),
})

export const IndexRequest = Type.Object({
  name: Type.String(),
  indexedClass: Type.String(),
  isUnique: quotedBoolean,
  keyAttributes: Type.Array(KeyAttribute),
})

export const IndexCreated = Type.Object({ name: Type.String(), uri: Type.String() })

export const IndexRecord = Type.Object({
  name: Type.String(),
  uri: Type.String(),
  indexedClass: Type.String(),
  isUnique: Type.Boolean(),
  keyAttributes: Type.Array(KeyAttribute),
  state: Type.Union([Type.Literal('building'), Type.Literal('ready'), Type.Literal('failed')]),
  entryCount: Type.Optional(
    Type.Integer({ description: 'Omitted for callers who do not see all objects of the class.' }),
  ),
  progress: Type.Optional(
    Type.Object(
      { objectsDone: Type.Integer(), objectsTotal: Type.Integer() },
      { description: 'Progress of a background build.' },
    ),
  ),
  failure: Type.Optional(
    Type.Object({ type: Type.String(), message: Type.String() }, { description: 'Why a background build failed.' }),
  ),
})

export const TransactionOperation = Type.Object(
  {
    method: Type.String({ description: 'In any case.' }),
    uri: Type.String({ description: 'Path and parameters; an id in braces after `$` stands for its OID.' }),
    body: Type.Optional(
      Type.Unknown({
        description:
          'The body of the single request. A string that is an id in braces after `$` stands for its OID; a second `$` before it makes it a plain string.',
      }),
    ),
    result: Type.Optional(
      Type.Union([Type.Literal('keep'), Type.Literal('dispose')], {
        description:
          'dispose: the operation is executed with the others and answered, but its changes are undone; the others are answered according to the final state.',
      }),
    ),
    id: Type.Optional(Type.String({ description: 'A name for the object that the operation creates.' })),
    ifMatch: Type.Optional(
      Type.String({
        description:
          'For operations on /v1/object/{oid}, like the header If-Match: the object has one of these ETags until the commit. Otherwise the transaction fails with PreconditionFailed.',
      }),
    ),
    ifNoneMatch: Type.Optional(
      Type.String({
        description:
          'Likewise, like the header If-None-Match: the object has none of these ETags. A read of an object that has one is answered by 304.',
      }),
    ),
  },
  { description: 'One operation of a transaction.' },
)

export const TransactionResult = Type.Object({
  responseCode: Type.String(),
  result: Type.Unknown({ description: 'The body of the reply to the single request; {} if there is none.' }),
})

export const ToolBody = Type.Object(
  {
    tool: Type.String({ minLength: 1, description: 'Name of the tool, in any case.' }),
    flags: Type.Optional(Type.Union([anyObject, Type.Null()], { description: 'Flags by name; see GET /v1/tool.' })),
  },
  { additionalProperties: false },
)

const toolReply = {
  returnCode: Type.Integer({ description: '0 if the run succeeded.' }),
  toolOutput: Type.String(),
  toolError: Type.String(),
}
export const ToolReply = Type.Object(toolReply)

export const ToolRun = Type.Object(
  {
    tool: Type.String(),
    fdAlias: Type.String(),
    startedAt: Type.String(),
    state: Type.Union([Type.Literal('running'), Type.Literal('ended')]),
    done: Type.Integer({ description: 'Objects or entries.' }),
    total: Type.Optional(Type.Integer()),
    returnCode: Type.Optional(toolReply.returnCode),
    toolOutput: Type.Optional(toolReply.toolOutput),
    toolError: Type.Optional(toolReply.toolError),
  },
  { description: 'A run of a tool. After its end, it includes the reply.' },
)

export const ToolRecord = Type.Object({
  name: Type.String(),
  description: Type.String(),
  flags: Type.Array(
    Type.Object({
      name: Type.String(),
      type: Type.Union([Type.Literal('text'), Type.Literal('boolean'), Type.Literal('number')]),
      description: Type.String(),
      isRequired: Type.Boolean(),
    }),
  ),
  runs: Type.Array(ToolRun, { description: 'Running tools, and the last runs that ended since the server started.' }),
})

export const Dialect = Type.Union([Type.Literal('ashlar'), Type.Literal('objectivity')], {
  description:
    'The dialect of queries. With `objectivity`, MATCH without a mode is WALK, and rows of projections begin with `"__class__": "_Projection"`.',
})

export const IsolationLevel = Type.Union([Type.Literal('serializable'), Type.Literal('snapshot')], {
  description:
    'serializable: data that the transaction has read must be unchanged when it commits; otherwise it is executed again. snapshot: this applies only to data that it changes.',
})

export const QueryParameters = Type.Record(Type.Unknown(), {
  description: 'Values of `$name` in the statements, by name.',
})

export const QueryBody = Type.Object(
  {
    query: Type.String({
      minLength: 1,
      description: 'One or more statements; the semicolon after the last is optional.',
    }),
    language: Type.Optional(Type.String({ description: 'do, in any case; the default.' })),
    dialect: Type.Optional(
      Type.String({
        description:
          'ashlar or objectivity, in any case; the default is that of the federated database. In the dialect objectivity, MATCH without a mode is WALK, and rows of projections begin with "__class__": "_Projection".',
      }),
    ),
    parameters: Type.Optional(QueryParameters),
    isolation: Type.Optional(
      Type.Described(
        IsolationLevel,
        'The isolation level of a query that changes data. Default: that of the federated database.',
      ),
    ),
  },
  { additionalProperties: false },
)

export const StatementRecord = Type.Object(
  {
    id: Type.String({ description: 'The id, as in the header Statement-Id of the reply.' }),
    kind: Type.Union([
      Type.Literal('query'),
      Type.Literal('transaction'),
      Type.Literal('tool'),
      Type.Literal('read', { description: '`read`: a long read of one object.' }),
    ]),
    text: Type.String({ description: 'The first 1,000 characters; for a transaction, the number of its operations.' }),
    fdAlias: Type.String(),
    clientAddress: Type.String(),
    startedAt: Type.String(),
    state: Type.Union([Type.Literal('queued'), Type.Literal('running'), Type.Literal('sending')], {
      description: 'queued: for a turn or a slot; running; or sending rows.',
    }),
    bytesSent: Type.Integer({ description: 'Bytes of rows, before compression.' }),
    rows: Type.Optional(Type.Integer({ description: 'For queries: rows of the reply so far.' })),
    bytesHeld: Type.Optional(Type.Integer({ description: 'For queries: memory currently accounted to the query.' })),
  },
  { description: 'A running statement.' },
)

const AuditEntry = Type.Object(
  {
    time: Type.String(),
    requestId: Type.Optional(
      Type.String({ description: 'X-Request-Id of the request and the reply, or the id of the trace.' }),
    ),
    caller: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    callerKind: Type.Optional(Type.String()),
    credential: Type.Optional(Type.String({ description: 'The kind and id of the credential; never a secret.' })),
    address: Type.Optional(Type.String()),
    operation: Type.Optional(
      Type.String({
        description: 'Method and path without values, or a command such as `ashlar user add`.',
      }),
    ),
    subject: Type.Optional(
      Type.String({
        description:
          'The changed user, token or role, such as `user:alice`; for sessions, the user; for rejected credentials, the token.',
      }),
    ),
    fd: Type.Optional(Type.String()),
    classes: Type.Optional(Type.Array(Type.String())),
    oids: Type.Optional(
      Type.Array(Type.String(), {
        description: 'The first 100 changed objects; without `objects`, the object in the path.',
      }),
    ),
    objects: Type.Optional(Type.Integer({ description: 'The number of created, changed and deleted objects.' })),
    schema: Type.Optional(Type.Boolean({ description: 'Classes or indexes were changed.' })),
    outcome: Type.Optional(
      Type.Union([Type.Literal('done'), Type.Literal('refused'), Type.Literal('failed'), Type.Literal('unknown')]),
    ),
    status: Type.Optional(Type.Integer()),
    type: Type.Optional(Type.String({ description: 'The type of the error.' })),
    unlisted: Type.Optional(
      Type.Integer({
        description:
          'The number of refused unauthenticated requests before this entry that have no entry of their own.',
      }),
    ),
    lost: Type.Optional(
      Type.Integer({ description: 'The number of entries that were lost because the file could not be written.' }),
    ),
  },
  { description: 'An entry of the audit log.' },
)

export const AuditPage = Type.Object({
  entries: Type.Array(AuditEntry),
  next: Type.Union([Type.String(), Type.Null()]),
})

export const ServiceRoot = Type.Object({
  uptime: Type.Integer({ description: 'Milliseconds since the server started.' }),
  versions: Type.Array(Type.String()),
})

export const ResourceList = Type.Object({
  version: Type.String(),
  resources: Type.Array(Type.Object({ uri: Type.String(), supportedMethods: Type.Array(Type.String()) })),
})

export const FederatedDatabaseRecord = Type.Object({
  bootfile: Type.String({ description: 'The location of the federated database.' }),
  alias: Type.String(),
  store: Type.Object({ kind: Type.String(), isDurable: Type.Boolean() }),
  dialect: Type.Described(Dialect, 'The default dialect of queries.'),
  isolation: Type.Described(IsolationLevel, 'The default isolation level of transactions and queries.'),
  limits: Type.Record(Type.Number()),
  counts: Type.Record(Type.Number()),
  readers: Type.Object({
    oldestSnapshotMs: Type.Integer({ description: 'Age of the oldest open snapshot; 0 without one.' }),
    repliesBrokenOff: Type.Integer({
      description:
        'Replies of all federated databases that were aborted since the start, because their readers stopped reading or their snapshots were too old.',
    }),
  }),
  unresolvedTransactions: Type.Optional(
    Type.Object(
      {
        count: Type.Integer(),
        oldestMs: Type.Integer({ description: 'Age of the oldest transaction, in milliseconds.' }),
      },
      {
        description: 'Only on PostgreSQL and Citus: prepared transactions that hold locks on the tables.',
      },
    ),
  ),
})

export const ErrorType = Type.Enum(problemTypes, {
  description: 'A stable error type, which determines status and title.',
})

export const Problem = Type.Object(
  {
    type: ErrorType,
    title: Type.String(),
    status: Type.Integer(),
    message: Type.String(),
    errors: Type.Optional(
      Type.Array(Type.Object({ pointer: Type.String(), message: Type.String() }, { additionalProperties: true }), {
        description: 'Places of the faults in the request body: JSON pointers (RFC 6901).',
      }),
    ),
    line: Type.Optional(Type.Integer({ description: 'For queries: the line of the fault, from 1.' })),
    column: Type.Optional(Type.Integer({ description: 'For queries: the column of the fault, from 1.' })),
    text: Type.Optional(Type.String({ description: 'For queries: the text at fault.' })),
    operation: Type.Optional(
      Type.Integer({ description: 'For transactions: the number of the failed operation, from 1.' }),
    ),
    valuesLost: Type.Optional(
      Type.Array(ValuesLost, { description: 'For changes of types: the values that would be lost.' }),
    ),
    violations: Type.Optional(
      Type.Array(StoredViolations, { description: 'For changes of constraints: the objects that violate them.' }),
    ),
    expected: Type.Optional(Type.Array(Type.String(), { description: 'For queries: what is expected instead.' })),
    commits: Type.Optional(
      Type.Integer({ description: 'For queries with COMMIT EVERY: the number of commits, which are not undone.' }),
    ),
    rowsCommitted: Type.Optional(
      Type.Integer({ description: 'For queries with COMMIT EVERY: the rows of the file in these commits.' }),
    ),
  },
  { description: 'The body of every error reply.' },
)

export * from './security-schemas.ts'
