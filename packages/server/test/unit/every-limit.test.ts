/** Each limit that GET /v1/fd shows is provoked, alone and within a transaction: the error names the limit and its value. */
import { expect } from 'vitest'
import type { Limits } from '../../src/limits.ts'
import { rule } from '../contract/rule.ts'
import { openServer } from './open-server.ts'

interface Ask {
  readonly method: 'POST' | 'PUT'
  readonly url: string
  readonly body: unknown
}

interface Provoked {
  readonly value: number
  readonly status: number
  readonly type: string
  readonly ask: Ask
  /** As the message has it, where it is in another unit. */
  readonly shown?: string
  readonly isNotInTransaction?: true
}

const roads = { logicalType: 'list', elementSpecification: { logicalType: 'reference', referencedClass: 'T' } }
const attributes = [
  { attributeName: 'n', logicalType: 'integer' },
  { attributeName: 's', logicalType: 'string' },
  { attributeName: 'r', ...roads },
]
const classOf = (count: number) => {
  const all = Array.from({ length: count }, (_, i) => ({ attributeName: `a${i}`, logicalType: 'integer' }))
  return [{ className: 'C', isReferenceable: true, attributes: all }]
}
const query = (text: string, parameters: object = {}): Ask => {
  return { method: 'POST', url: '/v1/query', body: { query: text, parameters } }
}
const batch = (...operations: readonly object[]): Ask => ({ method: 'POST', url: '/v1/transaction', body: operations })
const index = (...names: readonly string[]) => {
  return {
    name: 'i',
    indexedClass: 'T',
    isUnique: false,
    keyAttributes: names.map((attributeName) => ({ attributeName })),
  }
}
const create = { method: 'POST', uri: '/v1/object', body: { class: 'T', attributes: { n: 9 } } }
const unprocessable = { status: 422, type: 'LimitExceeded' }
const tooLarge = { status: 413, type: 'BodyTooLarge' }
const doubled = (times: number): string => `LET x = 'abcdefgh'; ${'LET x = $x + $x; '.repeat(times)}SHOW 1`

const provoked: { readonly [Name in keyof Limits]?: Provoked } = {
  classAttributesMax: { value: 3, ...unprocessable, ask: { method: 'PUT', url: '/v1/schema', body: classOf(4) } },
  indexKeyAttributesMax: {
    value: 1,
    ...unprocessable,
    ask: { method: 'POST', url: '/v1/index', body: index('n', 's') },
  },
  queryCharactersMax: { value: 200, ...unprocessable, ask: query(`SHOW ${'1 + '.repeat(100)}1`) },
  statementTokensMax: { value: 100, ...unprocessable, ask: query(`SHOW ${'1 + '.repeat(100)}1`) },
  sortedRowsMax: { value: 1, ...unprocessable, ask: query('LET x = (FROM T RETURN n); SHOW COUNT($x)') },
  statementBytesMax: { value: 2_000, ...unprocessable, ask: query('SHOW UPPER($x)', { x: 'x'.repeat(5_000) }) },
  transactionBytesMax: { value: 3_000, ...unprocessable, ask: query('UPDATE T SET s TO $x', { x: 'x'.repeat(5_000) }) },
  statementsBytesMax: { value: 1_000_000, status: 503, type: 'ServerBusy', ask: query(doubled(18)) },
  textCharactersMax: { value: 100, ...unprocessable, ask: query(doubled(5)) },
  changeReplyBytesMax: {
    value: 100,
    ...unprocessable,
    ask: query(`UPDATE T SET n TO n RETURN '${'x'.repeat(200)}' AS a`),
  },
  changedObjectsMax: { value: 1, ...unprocessable, ask: query('UPDATE T SET n TO n + 1') },
  deletedObjectsMax: {
    value: 1,
    ...unprocessable,
    ask: query(`UPDATE SCHEMA { CREATE CLASS D {o: Reference{Referenced: D, OnTargetDelete: delete}} };
      CREATE D {}; LET first = (LOOKUP D WHERE TRUE); CREATE D {o: $first}; CREATE D {o: $first}; DELETE D WHERE $$ID = $first`),
  },
  commitEntriesMax: { value: 6, ...unprocessable, ask: batch(...Array(8).fill(create)), isNotInTransaction: true },
  commitBytesMax: { value: 2_000, ...unprocessable, ask: query('UPDATE T SET s TO $x', { x: 'x'.repeat(5_000) }) },
  pathExpansionsMax: { value: 1, ...unprocessable, ask: query('MATCH (a:T)-[:r*1..3]->(b) RETURN b.n') },
  walkEdgesMax: { value: 2, ...unprocessable, type: 'QueryError', ask: query('MATCH (a:T)-[:r*1..3]->(b) RETURN b.n') },
  transactionOperationsMax: {
    value: 2,
    ...unprocessable,
    ask: batch(create, create, create),
    isNotInTransaction: true,
  },
  transactionIndexObjectsMax: {
    value: 1,
    ...unprocessable,
    ask: batch({ method: 'POST', uri: '/v1/index', body: index('n') }),
    isNotInTransaction: true,
  },
  bodyBytesMax: { value: 2_000, ...tooLarge, ask: query(`SHOW ${' '.repeat(3_000)}1`), isNotInTransaction: true },
  jsonDepthMax: { value: 9, status: 400, type: 'MalformedRequest', ask: query('SHOW 1', { x: [[[[[[[[[1]]]]]]]]] }) },
  bodyValuesMax: { value: 100, ...tooLarge, ask: query('SHOW 1', { x: Array(200).fill(1) }), isNotInTransaction: true },
  objectValuesMax: {
    value: 100,
    ...tooLarge,
    ask: { method: 'POST', url: '/v1/object', body: { class: 'T', attributes: { r: Array(200).fill(1) } } },
  },
  requestHeaderBytesMax: {
    value: 2_000,
    status: 431,
    type: 'HeadersTooLarge',
    ask: batch({ method: 'GET', uri: `/v1/schema/${'x'.repeat(3_000)}` }),
    isNotInTransaction: true,
  },
}

/** Bounds of time, of connections and of what many requests do together, each shown by tests of its own; and those that refuse nothing. */
const elsewhere: readonly (keyof Limits)[] = [
  // Of the audit log, which refuses nothing for them.
  'auditFileBytesMax',
  'auditFilesMax',
  ...([
    'transactionAttemptsMax',
    'indexBuildBatchObjects',
    'heartbeatIntervalMs',
    'backgroundBuildsMax',
    'backgroundRunsMax',
    'snapshotMsMax',
    'longSnapshotMsMax',
  ] as const),
  ...(['statementMsMax', 'transactionMsMax', 'receiptMs', 'receiptReplyBytesMax', 'receiptRepliesBytesMax'] as const),
  ...([
    'receiptRemovalMs',
    'bodiesBytesMax',
    'bodiesValuesMax',
    'bodyWaitMsMax',
    'headersMsMax',
    'requestMsMax',
  ] as const),
  ...([
    'connectionsMax',
    'connectionsPerAddressMax',
    'replyStallMsMax',
    'replyStallBytesMax',
    'statementsMax',
    'statementSliceMs',
    'statementThreadsMax',
  ] as const),
  ...(['statementsPerCallerMax', 'queuedStatementsMax', 'queuedStatementsPerCallerMax'] as const),
  // Of bodies of lines.
  ...(['lineBytesMax', 'bulkNamesMax'] as const),
  ...(['atomicLoadObjectsMax', 'atomicLoadEntriesMax', 'atomicLoadBytesMax'] as const),
  // Of the change feed.
  ...(['changeFollowersMax', 'changeFollowersPerCallerMax', 'changeHeartbeatMs', 'changePollMs'] as const),
  // Of temporary files, which only statements use that exceed another limit.
  ...(['statementDiskBytesMax', 'statementsDiskBytesMax'] as const),
  // Of webhooks: contract 2.5.
  ...(['webhookTimeoutMs', 'webhookRetryMsMin', 'webhookRetryMsMax'] as const),
  ...(['changeLogMs', 'changeLogBytesMax', 'changeLogRemovalMs', 'liveRowsMax'] as const),
  // Of several requests: memory-shares.test.ts.
  ...(['memoryPercentPerCallerMax', 'memoryPercentPerConnectionMax'] as const),
  // Of users: 9.1-shares.test.ts.
  'passwordChangesPerHourMax',
  // Off, unless it is configured.
  'callerRequestsPerSecondMax',
  // Told by the log.
  'slowQueryMs',
  ...(['statementQueueMsMax', 'stopMsMax', 'stopBodyMsMax', 'workerCrashesMax', 'workerCrashWindowMs'] as const),
]

rule(['1.5.2', '1.4.2', '1.5.14'], 'each limit is told with its name and value, by every way in', async () => {
  const first = await openServer()
  const shown = (await first.app.inject('/v1/fd')).json().limits as object
  expect(Object.keys(shown).sort()).toEqual([...Object.keys(provoked), ...elsewhere].sort())
  const wrong: unknown[] = []
  for (const [name, { value, status, type, ask, isNotInTransaction }] of Object.entries(provoked)) {
    const { app, close } = await openServer({ limits: { [name]: value } })
    const fill = { className: 'T', isReferenceable: true, attributes }
    expect((await app.inject({ method: 'PUT', url: '/v1/schema', payload: [fill] })).statusCode).toBe(201)
    for (const n of [1, 2]) {
      const payload = { class: 'T', attributes: { n } }
      const made = await app.inject({ method: 'POST', url: '/v1/object', payload })
      const oid = made.json().__identifier__
      await app.inject({ method: 'PUT', url: `/v1/object/${oid}`, payload: { attributes: { r: [oid, oid] } } })
    }
    const within = batch({ method: ask.method, uri: ask.url, body: ask.body })
    for (const { method, url, body } of isNotInTransaction === true ? [ask] : [ask, within]) {
      const headers = { accept: 'application/problem+json', 'content-type': 'application/json' }
      const reply = await app.inject({ method, url, headers, payload: JSON.stringify(body) })
      const problem = reply.json()
      const isNamed = String(problem.message).includes(name)
      const told = [reply.statusCode, problem.type, String(reply.headers['content-type']).split(';', 1)[0], isNamed]
      const wanted = [status, type, 'application/problem+json', true]
      const isRight = JSON.stringify(told) === JSON.stringify(wanted) && problem.message.includes(String(value))
      if (!isRight) wrong.push([name, url, ...told, String(problem.message ?? reply.body).slice(0, 300)])
    }
    await close()
  }
  expect(wrong).toEqual([])
})
