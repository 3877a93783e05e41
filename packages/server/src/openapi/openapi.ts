/** The OpenAPI 3.1 document, made from the table of operations and the schemas that validate. */
import type { Operation } from '../dispatch/operation.ts'
import { type ProblemType, problemEntry, problemTypes } from '../errors/server-errors.ts'
import { operations } from '../operations/table.ts'
import { version } from '../version.ts'
import * as changeSchemas from '../wire/change-schemas.ts'
import { originalOf, type Schema, Type } from '../wire/json-schema.ts'
import * as webhookSchemas from '../wire/webhook-schemas.ts'
import * as wireSchemas from '../wire/wire-schemas.ts'
import { operationExamples } from './operation-examples.ts'

/** Errors that any operation may answer with. */
const commonErrors: readonly ProblemType[] = [
  'Unauthenticated',
  'Forbidden',
  'UnknownParameter',
  'NotAcceptable',
  'ForbiddenOrigin',
  'UnknownHost',
  'TooManyRequests',
  'ServerBusy',
  'IssuerUnavailable',
  'AuditLogUnavailable',
  'ShuttingDown',
  'DataCorruption',
  'SystemError',
]
const fdErrors: readonly ProblemType[] = [
  'FederatedDatabaseRequired',
  'MalformedAlias',
  'FederatedDatabaseNotFound',
  'StoreUnavailable',
]
/** Errors that any operation on a federated database may answer with that is not a GET. */
const changeErrors: readonly ProblemType[] = [
  'OutcomeUnknown',
  'MalformedRequest',
  'RequestInProgress',
  'ReplyNotKept',
  'IdempotencyKeyReused',
]
/** Errors of queries, transactions and tools. */
const statementErrors: readonly ProblemType[] = ['TooManyStatements', 'StatementStopped']
const bodyErrors: readonly ProblemType[] = ['MalformedRequest', 'UnknownField', 'BodyTooLarge', 'UnsupportedMediaType']

const fdAlias = {
  name: 'fdAlias',
  in: 'query',
  required: false,
  description: 'Alias of the federated database; optional if there is a default one.',
  schema: { type: 'string' },
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Identifies the request: if it is sent again with the same key within 24 hours, it is not executed again, and gets the first reply.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
}

const statementHeaders = {
  'Statement-Id': {
    description: 'The id by which the statement is listed, and can be stopped, while it is running.',
    schema: { type: 'string' },
  },
}

const plainReply = (description: string): object => ({
  description,
  content: jsonOf({ type: 'object' }),
})

/** Paths that are not operations, for operators and tools. */
const monitoringPaths = {
  '/health/live': {
    get: {
      operationId: 'getLiveness',
      summary: 'Liveness check',
      tags: ['Service'],
      security: [],
      responses: { 200: plainReply('The process answers') },
    },
  },
  '/health/ready': {
    get: {
      operationId: 'getReadiness',
      summary: 'Readiness check: the server accepts requests, and each federated database can be read',
      tags: ['Service'],
      security: [],
      responses: { 200: plainReply('Ready'), ...errorResponses(['ShuttingDown', 'StoreUnavailable']) },
    },
  },
  '/openapi.json': {
    get: {
      operationId: 'getOpenApiDocument',
      summary: 'Read this document',
      tags: ['Service'],
      security: [],
      responses: { 200: plainReply('An OpenAPI document of version 3.1') },
    },
  },
}

/** Without authentication (`--auth`) none is asked for. */
const securitySchemes = {
  token: {
    type: 'http',
    scheme: 'bearer',
    description: 'A token of the server, `ash_<id>_<secret>`, or a JWT of the configured issuer.',
  },
  password: { type: 'http', scheme: 'basic', description: 'A user name and password.' },
  certificate: {
    type: 'mutualTLS',
    description:
      'The client certificate of the connection, if the server requests one, without an Authorization header.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'ashlar-session',
    description: 'The cookie of a browser session; over TLS its name begins with `__Host-`.',
  },
}
const security = [{}, ...Object.keys(securitySchemes).map((name) => ({ [name]: [] }))]

const introduction = `An object database behind plain REST: classes with inheritance, links with both ends, unique indexes, queries and transactions.

The examples below work in this order on an empty server: define classes (\`PUT /v1/schema\`), create objects (\`POST /v1/object\`), read them, create an index,
run a query. Queries are written in the language DO, for example \`FROM Fleet.Vehicle WHERE model.name = $name RETURN license\`.`

const tags: readonly { readonly name: Operation['tag']; readonly description: string }[] = [
  { name: 'Schema', description: 'Classes, their attributes and their links: define, read, change and delete them.' },
  { name: 'Objects', description: 'Create, read, update and delete objects, one by one or in bulk.' },
  { name: 'Indexes', description: 'Unique and plain indexes on one or several attributes.' },
  { name: 'Queries', description: 'Run statements of the query language DO, and export their rows.' },
  { name: 'Transactions', description: 'Several operations that are executed together or not at all.' },
  { name: 'Changes', description: 'Follow committed changes: the change feed, and webhooks that receive it.' },
  { name: 'Statements', description: 'List statements that are running, and stop them.' },
  { name: 'Tools', description: 'Administrative tools, such as Backup and Verify.' },
  { name: 'Security', description: 'Sign in; users, tokens and roles. For servers started with `--auth`.' },
  { name: 'Service', description: 'The server itself: health, metrics, the audit log and shutdown.' },
]

export function openApiDocument(): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    const uri = operation.path.replace(/:(\w+)/g, '{$1}')
    paths[uri] = { ...paths[uri], [operation.method.toLowerCase()]: describe(operation) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Ashlar',
      version,
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags,
    paths: { ...paths, ...monitoringPaths },
    components: { schemas: components(), securitySchemes },
    security,
  }
}

function exampleOf({ method, path }: Operation): (typeof operationExamples)[string] {
  const example = operationExamples[`${method} ${path}`]
  if (example === undefined) throw new Error(`${method} ${path} has no entry in operation-examples.ts`)
  return example
}

function describe(operation: Operation): object {
  const example = exampleOf(operation)
  const { summary, description, tag, params, queryParameters, status, reply, body, errors, scope, takesArray } =
    operation
  const isStatement = operation.statement !== undefined || takesArray === true
  const others = Object.entries(operation.otherReplies ?? {}).map(([code, other]) => {
    return [
      code,
      {
        description: other.description,
        ...(other.reply === undefined ? {} : { content: jsonOf(referring(other.reply)) }),
      },
    ]
  })
  const isChange = scope === 'fd' && operation.method !== 'GET'
  const possible = new Set([
    ...errors,
    ...commonErrors,
    ...(scope === 'fd' ? fdErrors : []),
    ...(isChange ? changeErrors : []),
    ...(isStatement ? statementErrors : []),
    ...(body === undefined ? [] : bodyErrors),
  ])
  const pathParameters = Object.entries(params ?? {}).map(([name, text]) => {
    const value = example.path?.[name]
    return { name, in: 'path', required: true, description: text, schema: { type: 'string' }, example: value }
  })
  const operationParameters = Object.entries(queryParameters ?? {}).map(([name, { description, schema }]) => {
    return { name, in: 'query', required: false, description, schema }
  })
  return {
    operationId: example.id,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    parameters: [...pathParameters, fdAlias, ...operationParameters, ...(isChange ? [idempotencyKey] : [])],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              ...jsonOf(oneOrMany(body, takesArray), example.body),
              ...textOf(operation, example.otherBodies),
              ...bodyLinesOf(operation, example.otherBodies),
            },
          },
        }),
    responses: {
      [status]: {
        description: summary,
        ...(isStatement ? { headers: statementHeaders } : {}),
        ...(operation.writes?.[0] === 'metrics' ? { content: metricsText } : {}),
        ...(reply === undefined
          ? {}
          : { content: { ...jsonOf(oneOrMany(reply, takesArray), example.reply), ...linesOf(operation) } }),
      },
      ...Object.fromEntries(others),
      ...errorResponses([...possible]),
    },
  }
}

function oneOrMany(schema: Schema, takesArray = false): object {
  return takesArray ? inlined(Type.Union([schema, Type.Array(schema)])) : referring(schema)
}

function errorResponses(types: readonly ProblemType[]): Record<string, object> {
  const byStatus = new Map<number, ProblemType[]>()
  for (const type of types) {
    const { status } = problemEntry(type)
    byStatus.set(status, [...(byStatus.get(status) ?? []), type])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, words]) => [
      status,
      { description: words.join(', '), content: jsonOf({ $ref: '#/components/schemas/Problem' }) },
    ]),
  )
}

function jsonOf(schema: object, example?: unknown): object {
  return { 'application/json': { schema, ...(example !== undefined && { example }) } }
}

const metricsText = {
  'text/plain': { schema: { type: 'string', description: 'The text format of Prometheus, version 0.0.4.' } },
}

type OtherBodies = Readonly<Record<string, string>> | undefined

function textOf({ acceptsPlainText }: Operation, examples: OtherBodies): object {
  if (acceptsPlainText !== true) return {}
  const schema = { type: 'string', description: 'The field `query` alone.' }
  return { 'text/plain': { schema, example: examples?.['text/plain'] } }
}

function bodyLinesOf({ takesLines }: Operation, examples: OtherBodies): object {
  if (takesLines !== true) return {}
  return {
    'application/x-ndjson': {
      schema: { type: 'string', description: 'One operation per line: BulkCreation or BulkOperation.' },
      example: examples?.['application/x-ndjson'],
    },
  }
}

const rowEvents =
  'begin (LiveBegin); row, enter, change, leave (LiveRow); position (LivePosition); error (Problem), the last one. After each position the rows are those of the query at that position.'

function linesOf({ streamsRows, returnsText, writes }: Operation): object {
  const hasEvents = writes?.includes('events') === true
  if (hasEvents && streamsRows !== true) {
    return {
      'application/x-ndjson': { schema: { type: 'string', description: 'One change per line, then the position.' } },
      'text/event-stream': { schema: { type: 'string', description: 'One change per event, in an endless stream.' } },
    }
  }
  if (streamsRows !== true) return {}
  const text = {
    'text/plain': { schema: { type: 'string', description: 'With `format=text`: the plans, for people.' } },
  }
  return {
    ...(returnsText === undefined ? {} : text),
    'application/x-ndjson': { schema: { type: 'string', description: 'One row per line, each a JSON text.' } },
    ...(hasEvents ? { 'text/event-stream': { schema: { type: 'string', description: rowEvents } } } : {}),
  }
}

const schemas: Readonly<Record<string, Schema>> = { ...wireSchemas, ...changeSchemas, ...webhookSchemas }
const nameOf = new Map(Object.entries(schemas).map(([name, schema]) => [schema, name]))

function components(): Record<string, object> {
  const written = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, inlined(schema)]))
  return { ...written, Problem: { ...written.Problem, description: catalogueText() } }
}

/** Refers to a schema by name, if it has one. */
function referring(schema: Schema): object {
  const original = originalOf(schema)
  const name = nameOf.get(original)
  if (name === undefined) return inlined(schema)
  const { description } = schema
  const isInherited = description === undefined || description === original.description
  return { $ref: `#/components/schemas/${name}`, ...(isInherited ? {} : { description }) }
}

function inlined(schema: Schema): object {
  return Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, inner(keyword, value)]))
}

function inner(keyword: string, value: unknown): unknown {
  if (keyword === 'items') return referring(value as Schema)
  if (keyword === 'anyOf') return (value as readonly Schema[]).map(referring)
  if (keyword !== 'properties' && keyword !== 'patternProperties') return value
  return Object.fromEntries(Object.entries(value as object).map(([name, one]) => [name, referring(one as Schema)]))
}

function catalogueText(): string {
  const lines = problemTypes.map((type) => {
    const { status, title, isRepeatable } = problemEntry(type)
    return `- \`${type}\` (${status}${isRepeatable ? ', with Retry-After' : ''}): ${title}`
  })
  const repetition =
    'A reply with `Retry-After` says that nothing was done, and that the same request may be sent again unchanged. A `StoreUnavailable` ' +
    'without it lasts until the operator has mended what the message tells.'
  return `Every error has this form. ${repetition} The types:\n${lines.join('\n')}`
}
