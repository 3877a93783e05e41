/**
 * What goes over the wire: the bodies of requests and replies (contract, section 2). Validation, the OpenAPI document and the types of
 * the client follow from these schemas; each export is a type of the client by the same name.
 */
import { problemTypes } from '../errors/server-errors.ts'
import { type Schema, Type } from './json-schema.ts'

// What only clients of the original send is `deprecated`: the types of the client leave it out.
const quotedBoolean = Type.Union([
  Type.Boolean(),
  Type.Literal('true', { deprecated: true }),
  Type.Literal('false', { deprecated: true }),
])
const quotedInteger = Type.Union([Type.Integer(), Type.String({ pattern: '^\\d+$' })])
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
    class: Type.Optional(Type.String({ description: 'Redundant: must be the class of the object.' })),
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
    id: Type.Optional(Type.String({ description: 'Its name in other lines, in `$` and braces.' })),
  },
  { additionalProperties: false, description: 'A line that creates an object.' },
)

export const BulkOperation = Type.Object(
  {
    method: Type.Union([Type.Literal('post'), Type.Literal('put'), Type.Literal('delete')]),
    uri: Type.Optional(Type.String({ description: '`/v1/object` to create, `/v1/object/{oid}` to change or delete.' })),
    index: Type.Optional(Type.String({ description: 'Instead of an OID: a unique index.' })),
    key: Type.Optional(Type.Described(Attributes, 'The values that the index has of the object.')),
    body: Type.Optional(Type.Record(Type.Unknown(), { description: 'As the single request has it.' })),
    id: Type.Optional(Type.String({ description: 'Of a creation.' })),
  },
  { additionalProperties: false, description: 'A line that does one operation on an object.' },
)

export const BulkReply = Type.Object(
  {
    line: Type.Integer({ description: 'From 1.' }),
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
      deleted: Type.Optional(Type.Integer({ description: 'Where there are any.' })),
      failed: Type.Integer(),
    }),
  },
  { description: 'The last line of the reply to lines.' },
)

export const ObjectRepresentation = Type.Object(
  { __class__: Type.String(), __identifier__: Oid },
  { additionalProperties: true, description: 'The attributes follow, flat, in schema order.' },
)

const definitionFields = {
  logicalType: Type.String({
    description:
      'boolean, character, integer, real, string, guid, date, time, datetime, interval, reference, object, list, set or map, in any case. Also accepted: instant for a datetime with the storage datetimeoffset, and float for a real.',
  }),
  encoding: Type.Optional(Type.String()),
  storage: Type.Optional(Type.String()),
  fixedLength: Type.Optional(quotedInteger),
  referencedClass: Type.Optional(Type.String()),
  inverseAttribute: Type.Optional(Type.String()),
  edgeClass: Type.Optional(Type.String()),
  edgeAttribute: Type.Optional(Type.String()),
  class: Type.Optional(Type.String()),
  collectionTypeName: Type.Optional(Type.String()),
  elementSpecification: Type.Optional(Type.Deferred((): Schema => TypeDefinition)),
  keySpecification: Type.Optional(Type.Deferred((): Schema => TypeDefinition)),
}

export const TypeDefinition = Type.Object(definitionFields, {
  description: 'A type, without the name of an attribute that has it.',
})

export const AttributeDefinition = Type.Object({ attributeName: Type.String(), ...definitionFields })

export const ClassDescription = Type.Object({
  className: Type.Optional(Type.String()),
  classNumber: Type.Optional(quotedInteger),
  isReferenceable: Type.Optional(quotedBoolean),
  superClass: Type.Optional(Type.Union([Type.String(), Type.Null(), Type.Object({ className: Type.String() })])),
  attributes: Type.Array(AttributeDefinition),
})

export const ClassesDefined = Type.Object({
  classNumbers: Type.Array(Type.String()),
  uris: Type.Array(Type.String()),
})

export const ClassRepresentation = Type.Object({
  className: Type.String(),
  classNumber: Type.String(),
  shapeNumber: Type.String(),
  isReferenceable: Type.Boolean(),
  isInternal: Type.Boolean(),
  isDeleted: Type.Boolean(),
  superClass: nameOrNull,
  attributes: Type.Array(AttributeDefinition),
})

export const AttributeRename = Type.Object({ originalName: Type.String(), newName: Type.String() })

export const ClassAlteration = Type.Object(
  {
    classRename: Type.Optional(
      Type.String({ description: 'Without a dot in the same namespace, with a leading one in the default namespace.' }),
    ),
    attributesToDelete: Type.Optional(Type.Array(Type.String())),
    attributesToRename: Type.Optional(Type.Array(AttributeRename)),
    attributesToChange: Type.Optional(Type.Array(AttributeDefinition)),
    attributesToAdd: Type.Optional(Type.Array(AttributeDefinition)),
  },
  { description: 'Either `classRename`, or any of the others, which are applied in this order.' },
)

export const ValuesLost = Type.Object({
  className: Type.String(),
  attributeName: Type.String(),
  values: Type.Integer(),
})

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
    objects: Type.Integer({ description: 'Objects whose shape would change.' }),
    valuesLost: Type.Array(ValuesLost),
  },
  { description: 'What a change of the schema would do.' },
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
    Type.Integer({ description: 'Left out for callers who do not see all objects of the class.' }),
  ),
  progress: Type.Optional(
    Type.Object(
      { objectsDone: Type.Integer(), objectsTotal: Type.Integer() },
      { description: 'Of a background build.' },
    ),
  ),
  failure: Type.Optional(
    Type.Object({ type: Type.String(), message: Type.String() }, { description: 'Of a background build that failed.' }),
  ),
})

export const TransactionOperation = Type.Object(
  {
    method: Type.String({ description: 'In any case.' }),
    uri: Type.String({ description: 'Path and parameters; an id in braces after a $ stands for its OID.' }),
    body: Type.Optional(
      Type.Unknown({
        description:
          'A text that is an id in braces after a $ stands for its OID; a second $ before it makes it a text.',
      }),
    ),
    result: Type.Optional(
      Type.Union([Type.Literal('keep'), Type.Literal('dispose')], {
        description:
          'dispose: carried out with the others and answered, but not kept; the others are answered by what is committed.',
      }),
    ),
    id: Type.Optional(Type.String({ description: 'A name for the object that the operation creates.' })),
    ifMatch: Type.Optional(
      Type.String({
        description:
          'Of an operation on /v1/object/{oid}, as the header If-Match: what is seen there has such an ETag, and keeps it until the commit. Else the transaction fails: PreconditionFailed.',
      }),
    ),
    ifNoneMatch: Type.Optional(
      Type.String({
        description:
          'The same, as the header If-None-Match: ETags that it must not have; a read of what has one is answered by 304.',
      }),
    ),
  },
  { description: 'One operation of a transaction.' },
)

export const TransactionResult = Type.Object({
  responseCode: Type.String(),
  result: Type.Unknown({ description: 'The body that the single request would have had; {} for none.' }),
})

export const ToolBody = Type.Object(
  {
    tool: Type.String({ minLength: 1, description: 'Name of the tool, in any case.' }),
    flags: Type.Optional(Type.Union([anyObject, Type.Null()], { description: 'By name; see GET /v1/tool.' })),
  },
  { additionalProperties: false },
)

const toolReply = {
  returnCode: Type.Integer({ description: '0 where all is well.' }),
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
  { description: 'A run of a tool; with its reply once it has ended.' },
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
  runs: Type.Array(ToolRun, { description: 'Those under way, and the last that ended since the server started.' }),
})

export const Dialect = Type.Union([Type.Literal('ashlar'), Type.Literal('objectivity')], {
  description:
    'How queries are understood and answered. `objectivity`, as by the original: MATCH without a mode is WALK, and rows of projections begin with `"__class__": "_Projection"`.',
})

export const IsolationLevel = Type.Union([Type.Literal('serializable'), Type.Literal('snapshot')], {
  description:
    'serializable: what the transaction has read is unchanged when it commits, or it is executed again. snapshot: only what it changes is.',
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
    language: Type.Optional(Type.String({ description: 'do, in any case, which is also meant without it.' })),
    dialect: Type.Optional(
      Type.String({
        description:
          'ashlar or objectivity, in any case; that of the federated database where it is left out. In the dialect objectivity MATCH without a mode is WALK, and rows of projections begin with "__class__": "_Projection".',
      }),
    ),
    parameters: Type.Optional(QueryParameters),
    isolation: Type.Optional(
      Type.Described(
        IsolationLevel,
        'Of a query that changes something; that of the federated database if it is left out.',
      ),
    ),
  },
  { additionalProperties: false },
)

export const StatementRecord = Type.Object(
  {
    id: Type.String({ description: 'What the header Statement-Id of its reply has.' }),
    kind: Type.Union([
      Type.Literal('query'),
      Type.Literal('transaction'),
      Type.Literal('tool'),
      Type.Literal('read', { description: 'Of an object that takes long.' }),
    ]),
    text: Type.String({ description: 'The first 1,000 characters; of a transaction how many operations it has.' }),
    fdAlias: Type.String(),
    clientAddress: Type.String(),
    startedAt: Type.String(),
    state: Type.Union([Type.Literal('queued'), Type.Literal('running'), Type.Literal('sending')], {
      description: 'It waits for a turn or a place, works, or sends its rows.',
    }),
    bytesSent: Type.Integer({ description: 'Of rows, before compression.' }),
    rows: Type.Optional(Type.Integer({ description: 'Of a query: rows of its reply that were made so far.' })),
    bytesHeld: Type.Optional(
      Type.Integer({ description: 'Of a query: what it is charged with in memory at the moment.' }),
    ),
  },
  { description: 'A statement under way.' },
)

const AuditEntry = Type.Object(
  {
    time: Type.String(),
    requestId: Type.Optional(
      Type.String({ description: 'X-Request-Id of request and reply, or the id of its trace.' }),
    ),
    caller: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    callerKind: Type.Optional(Type.String()),
    credential: Type.Optional(Type.String({ description: 'Its kind and id; never a secret.' })),
    address: Type.Optional(Type.String()),
    operation: Type.Optional(
      Type.String({
        description: 'Method and path of the interface, without values; or a command, as `ashlar user add`.',
      }),
    ),
    subject: Type.Optional(
      Type.String({
        description:
          'The user, token or role that is changed, as `user:alice`; of a session, its user; of a caller who was not let in, the token that was shown.',
      }),
    ),
    fd: Type.Optional(Type.String()),
    classes: Type.Optional(Type.Array(Type.String())),
    oids: Type.Optional(
      Type.Array(Type.String(), {
        description: 'The first 100 that were changed; without `objects`, what the path names.',
      }),
    ),
    objects: Type.Optional(Type.Integer({ description: 'How many were created, changed or deleted.' })),
    schema: Type.Optional(Type.Boolean({ description: 'Classes or indexes were changed.' })),
    outcome: Type.Optional(
      Type.Union([Type.Literal('done'), Type.Literal('refused'), Type.Literal('failed'), Type.Literal('unknown')]),
    ),
    status: Type.Optional(Type.Integer()),
    type: Type.Optional(Type.String({ description: 'Of the error.' })),
    unlisted: Type.Optional(
      Type.Integer({
        description: 'So many refusals of callers who were not known had no line of their own before it.',
      }),
    ),
    lost: Type.Optional(
      Type.Integer({ description: 'So many entries found no room while the file could not be written.' }),
    ),
  },
  { description: 'A line of the audit log.' },
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
  bootfile: Type.String({ description: 'Where the federated database is kept.' }),
  alias: Type.String(),
  store: Type.Object({ kind: Type.String(), isDurable: Type.Boolean() }),
  dialect: Type.Described(Dialect, 'Of queries that ask for none.'),
  isolation: Type.Described(IsolationLevel, 'Of transactions and queries that ask for none.'),
  limits: Type.Record(Type.Number()),
  counts: Type.Record(Type.Number()),
  readers: Type.Object({
    oldestSnapshotMs: Type.Integer({ description: 'Age of the oldest snapshot that is held; 0 with none.' }),
    repliesBrokenOff: Type.Integer({
      description:
        'Since the start, of all federated databases: because their readers took nothing, or their snapshots were too old.',
    }),
  }),
  unresolvedTransactions: Type.Optional(
    Type.Object(
      { count: Type.Integer(), oldestMs: Type.Integer({ description: 'Age of the oldest, in milliseconds.' }) },
      {
        description:
          'On PostgreSQL and Citus, where there are any: prepared transactions that hold locks on the tables.',
      },
    ),
  ),
})

export const ErrorType = Type.Enum(problemTypes, {
  description: 'A stable word from the catalogue of error types; status and title follow from it.',
})

export const Problem = Type.Object(
  {
    type: ErrorType,
    title: Type.String(),
    status: Type.Integer(),
    message: Type.String(),
    errors: Type.Optional(
      Type.Array(Type.Object({ pointer: Type.String(), message: Type.String() }), {
        description: 'Where in the request body the faults are: JSON pointers (RFC 6901).',
      }),
    ),
    line: Type.Optional(Type.Integer({ description: 'Of a query: where in its text the fault is, from 1.' })),
    column: Type.Optional(Type.Integer({ description: 'Of a query: where in the line, from 1.' })),
    text: Type.Optional(Type.String({ description: 'Of a query: the piece of text at fault.' })),
    operation: Type.Optional(Type.Integer({ description: 'Of a transaction: which operation failed, from 1.' })),
    valuesLost: Type.Optional(Type.Array(ValuesLost, { description: 'Of a change of types: what would be lost.' })),
    expected: Type.Optional(Type.Array(Type.String(), { description: 'Of a query: what could have stood there.' })),
    commits: Type.Optional(
      Type.Integer({ description: 'Of a query with COMMIT EVERY: commits that were made, and stay.' }),
    ),
    rowsCommitted: Type.Optional(
      Type.Integer({ description: 'Of a query with COMMIT EVERY: rows of the file that these commits took.' }),
    ),
  },
  { description: 'The body of every error.' },
)

export * from './security-schemas.ts'
