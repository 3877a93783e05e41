/** The operation of the query language (contract 2.2). */

import {
  AshlarError,
  type Database,
  type Dialect,
  type ExplainRequest,
  type Isolation,
  mapAwaitable,
  type QueryRequest,
} from '@ashlar/engine'
import { dialectNamed, dialectWords } from '../config/read-value.ts'
import { type FdOperation, isolationParam, type OperationRequest } from '../dispatch/operation.ts'
import { onceOfQuery } from '../dispatch/query-reply.ts'
import { quoteForMessage } from '../errors/problem.ts'
import { slowQueryPlansMax } from '../limits.ts'
import { type Static, Type } from '../wire/json-schema.ts'
import { IsolationLevel, QueryBody } from '../wire/wire-schemas.ts'
import { followQuery } from './live-query.ts'
import { indexUri } from './uris.ts'

type QueryFields = Static<typeof QueryBody>

const Row = Type.Unknown({
  description: 'An object, an object with one field per column, or the value of SHOW.',
})

const byRank = ['define', 'write', 'read'] as const

export const queryOperations: readonly FdOperation[] = [
  {
    scope: 'fd',
    method: 'POST',
    path: '/v1/query',
    needs: async (request, fd) => {
      const queryRequest: QueryRequest = {
        text: textOf(request),
        explain: explainOf(request),
        // Computed on demand, since the text is long.
        get signal() {
          return request.signal
        },
      }
      // The first refusal is reported, so the highest permission is checked first.
      const effects = await fd.effects(queryRequest)
      return byRank.filter((effect) => effects.has(effect))
    },
    summary: 'Run statements of the query language',
    description:
      'All statements run in one transaction; the reply has the rows of the last one. Rows are sent as they are found: if the query fails later, the connection is aborted, or the last line is `{"error": …}` (NDJSON). With `Accept: text/event-stream`, the rows of one FROM statement are sent as events, followed by the changes of the result, in an endless stream; this requires the change log.',
    tag: 'Queries',
    queryParameters: {
      explain: {
        description:
          'Returns the plan of each statement instead of rows. true: the plan, without running anything. analyze: runs the statements, discards their rows, rolls back their changes, and returns the plans with measurements by operator.',
        schema: Type.Union([Type.Boolean(), Type.Literal('analyze')], { default: false }),
      },
      format: {
        description: 'With explain: json, or text for an indented tree (text/plain).',
        schema: Type.Union([Type.Literal('json'), Type.Literal('text')], { default: 'json' }),
      },
      dialect: {
        description: 'For a plain text body: ashlar or objectivity, like the field dialect of a JSON body.',
        schema: Type.String(),
      },
      isolation: {
        description: 'The isolation level for a text body, like the field isolation of a JSON body.',
        schema: IsolationLevel,
      },
    },
    status: 200,
    body: QueryBody,
    acceptsPlainText: true,
    keepsReply: true,
    reply: Type.Array(Row),
    streamsRows: true,
    writes: ['json', 'ndjson', 'events'],
    returnsText: ({ explain, format }) => format === 'text' && isExplained(explain),
    statement: { kind: 'query', text: (body) => (body as QueryFields).query },
    errors: [
      'QuerySyntaxError',
      'MalformedValue',
      'QueryError',
      'LimitExceeded',
      'UnknownClass',
      'UnknownAttribute',
      'AmbiguousAttribute',
      'ClassNotReferenceable',
      'InvalidName',
      'InvalidDefinition',
      'AttributeNotIndexable',
      'ValueNotAllowed',
      'ConstraintViolation',
      'DeleteRestricted',
      'ClassIsAbstract',
      'InvalidReference',
      'UniqueViolation',
      'ClassExists',
      'AttributeExists',
      'SuperClassMismatch',
      'ClassIsEmbedded',
      'ClassIsReferenceable',
      'IndexExists',
      'IndexNotFound',
      'IndexInUse',
      'ObjectNotFound',
      'AttributeInUse',
      'ClassInUse',
      'ValuesWouldBeLost',
      'ObjectsViolateConstraint',
      'TransactionContention',
      'PartlyCommitted',
      'ChangeLogOff',
      'TooManyFollowers',
    ],
    run(database, request) {
      const { body, caller, fd, signal, watch, memoryHolder, slice } = request
      const { query: text, language, parameters } = body as QueryFields
      checkLanguage(language)
      const dialect = dialectOf(request)
      const isolation = isolationOf(request)
      const explain = explainOf(request)
      if (request.replyType === 'events') {
        if (explain !== undefined) {
          throw new AshlarError('MalformedRequest', 'A query is followed or explained: explain has no events.')
        }
        return followQuery({ text, parameters, dialect, user: caller.userOn(fd.alias) }, request)
      }
      const once = onceOfQuery(request)
      const queryRequest: QueryRequest = {
        text,
        parameters,
        dialect,
        isolation,
        user: caller.userOn(fd.alias),
        explain,
        indexUri,
        once,
        signal,
        watch,
        memoryHolder,
        slice,
      }
      if (explain === undefined) watch?.explainedBy?.(() => plansOf(database, queryRequest))
      return mapAwaitable(database.query(queryRequest), ({ chunks }) => ({ rows: chunks }))
    },
  },
]

/** Returns plans of the first statements, as visible to the caller. */
async function plansOf(database: Database, queryRequest: QueryRequest): Promise<string[]> {
  const { text, parameters, dialect, user } = queryRequest
  const explain = { isAnalyzed: false, format: 'json', statementsMax: slowQueryPlansMax } as const
  const { chunks } = await database.query({ text, parameters, dialect, user, explain })
  const plans: string[] = []
  for await (const { bytes, starts } of chunks) {
    for (const [i, start] of starts.entries()) {
      plans.push(bytes.toString('utf8', start, i + 1 < starts.length ? (starts[i + 1] as number) - 1 : bytes.length))
    }
  }
  return plans
}

const explainWords: Readonly<Record<string, ExplainRequest['isAnalyzed'] | undefined>> = {
  true: false,
  '"true"': false,
  analyze: true,
  '"analyze"': true,
  false: undefined,
  '"false"': undefined,
}

function isExplained(explain: unknown): boolean {
  return typeof explain === 'string' && Object.hasOwn(explainWords, explain) && explainWords[explain] !== undefined
}

function explainOf({ query: { explain, format }, replyType }: OperationRequest): ExplainRequest | undefined {
  if (explain !== undefined && !(typeof explain === 'string' && Object.hasOwn(explainWords, explain))) {
    throw new AshlarError('MalformedValue', 'The parameter explain must be specified once, as true, false or analyze.')
  }
  if (format !== undefined && format !== 'json' && format !== 'text') {
    throw new AshlarError('MalformedValue', 'The parameter format must be specified once, as json or text.')
  }
  const isAnalyzed = explain === undefined ? undefined : explainWords[explain]
  if (isAnalyzed === undefined) {
    if (format === undefined) return undefined
    throw new AshlarError(
      'MalformedRequest',
      'The parameter format is that of plans: it needs explain=true or explain=analyze.',
    )
  }
  if (format === 'text' && replyType !== 'text') {
    throw new AshlarError(
      'MalformedRequest',
      'Replies of a transaction are JSON: the parameter format cannot be text in it.',
    )
  }
  return { isAnalyzed, format: format ?? 'json' }
}

function textOf({ body }: OperationRequest): string {
  return (body as QueryFields).query
}

function checkLanguage(language = 'do'): void {
  if (language.toLowerCase() === 'do') return
  const message = `There is no query language ${quoteForMessage(language)}: it is do.`
  throw new AshlarError('MalformedRequest', message, [{ place: ['language'], message }])
}

/** Reads the dialect from the body or, for a plain text body, from the URL. Throws MalformedRequest, MalformedValue. */
function dialectOf({ body, query }: OperationRequest): Dialect | undefined {
  const inBody = (body as QueryFields).dialect
  const inUrl = query.dialect
  const name = inBody ?? inUrl
  if (name === undefined) return undefined
  const dialect = dialectNamed(name)
  const isOne = inBody === undefined || inUrl === undefined || dialectNamed(inUrl) === dialect
  if (dialect !== undefined && isOne) return dialect
  const message = isOne
    ? `There is no dialect ${quoteForMessage(String(name))}: it is ${dialectWords}.`
    : 'The dialect in the URL differs from that in the body.'
  throw new AshlarError('MalformedRequest', message, inBody === undefined ? [] : [{ place: ['dialect'], message }])
}

/** Throws MalformedRequest if URL and body differ. */
function isolationOf(request: OperationRequest): Isolation | undefined {
  const inBody = (request.body as QueryFields).isolation
  const inUrl = isolationParam(request)
  if (inBody === undefined || inUrl === undefined || inBody === inUrl) return inBody ?? inUrl
  throw new AshlarError('MalformedRequest', 'The isolation level in the URL differs from that in the body.')
}
