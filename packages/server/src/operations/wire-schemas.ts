/** The bodies of requests and replies, as schemas (interface, section 2). */
import Type from 'typebox'

const quotedBoolean = Type.Union([Type.Boolean(), Type.Literal('true'), Type.Literal('false')])
const quotedInteger = Type.Union([Type.Integer(), Type.String({ pattern: '^\\d+$' })])
const anyObject = Type.Record(Type.String(), Type.Unknown())

export const CreateObject = Type.Object(
  {
    class: Type.String({ minLength: 1, description: 'Full name or class number of a referenceable class.' }),
    attributes: Type.Optional(anyObject),
  },
  { additionalProperties: false },
)

export const UpdateObject = Type.Object(
  {
    attributes: anyObject,
    class: Type.Optional(Type.String({ description: 'Redundant: must be the class of the object.' })),
  },
  { additionalProperties: false },
)

export const ObjectCreated = Type.Object({
  __identifier__: Type.String({ description: 'OID of the new object.' }),
  uri: Type.String(),
})

export const ObjectRepresentation = Type.Object(
  { __class__: Type.String(), __identifier__: Type.String() },
  { additionalProperties: true, description: 'The attributes follow, flat, in schema order.' },
)

const AttributeDefinition = Type.Object({
  attributeName: Type.String(),
  logicalType: Type.String(),
  encoding: Type.Optional(Type.String()),
  storage: Type.Optional(Type.String()),
  fixedLength: Type.Optional(quotedInteger),
  referencedClass: Type.Optional(Type.String()),
  inverseAttribute: Type.Optional(Type.String()),
  class: Type.Optional(Type.String()),
  collectionTypeName: Type.Optional(Type.String()),
  elementSpecification: Type.Optional(anyObject),
  keySpecification: Type.Optional(anyObject),
})

export const ClassDescriptions = Type.Array(
  Type.Object({
    className: Type.Optional(Type.String()),
    classNumber: Type.Optional(quotedInteger),
    isReferenceable: Type.Optional(quotedBoolean),
    superClass: Type.Optional(Type.Union([Type.String(), Type.Null(), Type.Object({ className: Type.String() })])),
    attributes: Type.Array(AttributeDefinition),
  }),
)

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
  superClass: Type.Union([Type.String(), Type.Null()]),
  attributes: Type.Array(AttributeDefinition),
})

export const NamespaceEntry = Type.Object({ name: Type.Union([Type.String(), Type.Null()]) })

export const NamespaceRepresentation = Type.Object({
  name: Type.Union([Type.String(), Type.Null()]),
  classes: Type.Array(ClassRepresentation),
})

const KeyAttribute = Type.Object({
  attributeName: Type.String(),
  properties: Type.Optional(Type.Object({ maxStoredStringLength: Type.Optional(quotedInteger) })),
})

export const CreateIndex = Type.Object({
  name: Type.String(),
  indexedClass: Type.String(),
  isUnique: quotedBoolean,
  keyAttributes: Type.Optional(Type.Array(KeyAttribute)),
  keyedAttributes: Type.Optional(
    Type.Array(KeyAttribute, { description: 'Another spelling of keyAttributes, which clients send.' }),
  ),
})

export const IndexCreated = Type.Object({ name: Type.String(), uri: Type.String() })

export const IndexRecord = Type.Object({
  name: Type.String(),
  uri: Type.String(),
  indexedClass: Type.String(),
  isUnique: Type.Boolean(),
  keyAttributes: Type.Array(KeyAttribute),
  state: Type.Union([Type.Literal('building'), Type.Literal('ready')]),
  entryCount: Type.Integer(),
})

export const QueryBody = Type.Object(
  {
    query: Type.String({
      minLength: 1,
      description: 'One or more statements; the semicolon after the last is optional.',
    }),
    language: Type.Optional(Type.String({ description: 'do, in any case, which is also meant without it.' })),
    parameters: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'Values of $name in the statements, by name.' }),
    ),
  },
  { additionalProperties: false },
)

export const Row = Type.Unknown({
  description: 'An object representation, an object with a field a projection, or the value of SHOW.',
})

export const ServiceRoot = Type.Object({
  uptime: Type.Integer({ description: 'Milliseconds since the server started.' }),
  versions: Type.Array(Type.String()),
})

export const Resources = Type.Object({
  version: Type.String(),
  resources: Type.Array(Type.Object({ uri: Type.String(), supportedMethods: Type.Array(Type.String()) })),
})

export const FederatedDatabaseRecord = Type.Object({
  bootfile: Type.String({ description: 'Where the federated database is kept.' }),
  alias: Type.String(),
  store: Type.Object({ kind: Type.String(), isDurable: Type.Boolean() }),
  limits: Type.Record(Type.String(), Type.Number()),
  counts: Type.Record(Type.String(), Type.Number()),
})

export const ProblemBody = Type.Object({
  type: Type.String({ description: 'A stable word from the catalogue of error types.' }),
  title: Type.String(),
  status: Type.Integer(),
  message: Type.String(),
  errors: Type.Optional(Type.Array(Type.Object({ pointer: Type.String(), message: Type.String() }))),
  line: Type.Optional(Type.Integer({ description: 'Of a query: where the fault is, from 1.' })),
  column: Type.Optional(Type.Integer({ description: 'Of a query: where in the line, from 1.' })),
  text: Type.Optional(Type.String({ description: 'Of a query: the piece of text at fault.' })),
  expected: Type.Optional(Type.Array(Type.String(), { description: 'Of a query: what could have stood there.' })),
})
