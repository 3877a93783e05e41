/** Runs a text of statements: on one snapshot if it only reads, otherwise as one transaction. */
import { RequestMemory } from '../budget/request-memory.ts'
import { catalogVersionKey } from '../bytes/key-space.ts'
import { CatalogTransaction, type OpenCatalogTransaction, runInCatalogTransaction } from '../ddl/catalog-transaction.ts'
import { AshlarError, assert } from '../errors.ts'
import { TrialContainers } from '../records/trial-containers.ts'
import type { Catalog } from '../schema/catalog.ts'
import { caught, mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Entry, Snapshot, SnapshotOptions } from '../store/store.ts'
import { type LastingRead, lateReadError, withLastingSnapshot, withSnapshot } from '../store/with-snapshot.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type EndSpan, withinSpan } from '../work-spans.ts'
import { transactWithCatalog } from '../write/transact-with-catalog.ts'
import { answerLookup } from './answer-at-once.ts'
import { classify, effectOf } from './classify.ts'
import { createIndexOnline } from './create-index-online.ts'
import { explainedStatements } from './effects-of-text.ts'
import { chunksOf, RowsAtHand, textRow } from './execute/row-chunk.ts'
import type { ScriptContext } from './execute/statement-context.ts'
import { planText } from './explain/plan-text.ts'
import type { ForEachStatement, Span, Statement } from './language/ast.ts'
import { atPlace, queryError } from './language/query-error.ts'
import { isLifted } from './parse/lift-literals.ts'
import { cachedTextCharactersMax, type ParsedText } from './plan-cache.ts'
import { checkCharacters, type PreparedScript, prepareScript } from './prepare-text.ts'
import {
  type ExplainRequest,
  type QueryReply,
  type QueryRequest,
  type RowChunk,
  type RowChunks,
  type StatementSlice,
  sliceOver,
} from './query-request.ts'
import type { QueryResources } from './query-resources.ts'
import { type CommitHooks, type RowsReceipt, TextCommits } from './script-commits.ts'
import { copyOfState, isOneSelect, ScriptExecutor, type ScriptState } from './script-executor.ts'
import type { StatementReply } from './statements/answer.ts'
import { importedElements, runBody } from './statements/for-each.ts'

/**
 * The request's resources are released once its rows have been read or the iteration has ended, so the caller must do one of them. Throws
 * QuerySyntaxError, QueryError, LimitExceeded, ServerBusy, and what changes of objects and of the schema throw.
 */
export function runQuery(request: QueryRequest, resources: QueryResources): Awaitable<QueryReply> {
  const { spans } = resources
  const isPlain = request.explain === undefined
  const parsed = isPlain && spans === undefined ? parseShort(request, resources) : undefined
  // In a slice, the lookup was already tried before the slice began.
  const lookupReply = request.slice === undefined ? parsed && answerLookup(parsed, request, resources) : undefined
  if (lookupReply !== undefined) return { chunks: lookupReply }
  const memory = new RequestMemory(resources.database.memory, resources.database.limits, request.memoryHolder)
  let end: EndSpan | undefined
  try {
    const prepared = withinSpan(spans, 'parse', () => prepareScript(request, resources, memory, isPlain, parsed))
    end = spans?.begin('execute')
    const answered = mapAwaitable(prepared, (text) => answer(text, request, resources))
    const reply = end === undefined ? answered : endingWith(answered, end)
    return reply instanceof Promise ? awaitReply(reply, memory) : { chunks: reply }
  } catch (error) {
    end?.(failureOf(error))
    memory.release()
    throw error
  }
}

/** The reply to a lookup by key with a cached plan, see `answerLookup`; undefined for any other text. Throws QuerySyntaxError, LimitExceeded. */
export function lookUp(request: QueryRequest, resources: QueryResources): QueryReply | undefined {
  if (request.explain !== undefined || resources.spans !== undefined) return undefined
  const parsed = parseShort(request, resources)
  const chunks = parsed && answerLookup(parsed, request, resources)
  return chunks && { chunks }
}

/** Undefined for a long text. Throws QuerySyntaxError, LimitExceeded. */
function parseShort(request: QueryRequest, { plans, database: { limits } }: QueryResources): ParsedText | undefined {
  checkCharacters(request, limits)
  return request.text.length > cachedTextCharactersMax
    ? undefined
    : plans.parsed(request.text, limits.statementTokensMax)
}

/** Calls `end` when all rows have been read or the iteration has ended. */
export async function endingWith(answered: Awaitable<RowChunks>, end: EndSpan): Promise<RowChunks> {
  let chunks: RowChunks
  try {
    chunks = await answered
  } catch (error) {
    end(failureOf(error))
    throw error
  }
  if (chunks.atHand === undefined) return { [Symbol.asyncIterator]: () => readToEnd(chunks, end) }
  end()
  return chunks
}

/** Abandoning a statement is not a failure. */
function failureOf(error: unknown): unknown {
  return error === sliceOver ? undefined : error
}

async function* readToEnd(chunks: RowChunks, end: EndSpan): AsyncGenerator<RowChunk> {
  let failure: unknown
  try {
    yield* chunks
  } catch (error) {
    failure = failureOf(error)
    throw error
  } finally {
    end(failure)
  }
}

async function awaitReply(answered: Promise<RowChunks>, memory: RequestMemory): Promise<QueryReply> {
  try {
    return { chunks: await answered }
  } catch (error) {
    memory.release()
    throw error
  }
}

function answer(prepared: PreparedScript, request: QueryRequest, resources: QueryResources): Awaitable<RowChunks> {
  const { statements, texts } = prepared
  if (request.slice !== undefined) choosePlace(statements, request, request.slice)
  if (request.explain !== undefined || isAnalyzedChange(statements)) {
    return explained(prepared, request, resources).then((rows) => chunksOf(rows, texts.memory))
  }
  const receipt = request.once === undefined ? undefined : resources.database.receipts.of(request.once)
  const [only] = statements
  if (only?.kind === 'createIndex' && statements.length === 1) return createIndexOnline(only, texts, resources, receipt)
  const options: SnapshotOptions = { isolation: 'readOnly', mayShare: true, watch: request.watch }
  const run =
    classify(statements) === 'read'
      ? (text: PreparedScript) => read(text, resources, options)
      : (text: PreparedScript) => change(text, request, resources, receipt)
  return texts.shape === undefined ? run(prepared) : runLifted(prepared, texts.shape, resources, run)
}

/** Schema changes must run on the main thread; a text of several commits must not be abandoned after the first. */
function choosePlace(statements: readonly Statement[], { explain, watch }: QueryRequest, slice: StatementSlice): void {
  const effect = explain?.isAnalyzed === false ? 'read' : classify(statements)
  if (effect === 'define') slice.settle(watch)
  else if (effect === 'write' && explain === undefined && statements.some(isStepwise)) slice.commit()
}

/**
 * If a text with lifted literals fails, it is run again with its literals in place, so that errors refer to the text as written; nothing has been
 * committed at that point. If that succeeds, texts of this shape are no longer lifted.
 */
function runLifted(
  prepared: PreparedScript,
  shape: string,
  { database, plans }: QueryResources,
  run: (prepared: PreparedScript) => Awaitable<RowChunks>,
): Awaitable<RowChunks> {
  const { texts, state } = prepared
  const bytesBefore = texts.memory.requestBytes
  return caught(
    () => run(prepared),
    (error) => {
      if (!(error instanceof AshlarError) || error.type !== 'QueryError') throw error
      texts.memory.releaseAllBut(bytesBefore)
      const { statements } = plans.parsedAsWritten(texts.text, database.limits.statementTokensMax)
      const variables = new Map([...state.variables].filter(([name]) => !isLifted(name)))
      const written = { statements, texts: { ...texts, shape: undefined }, state: { ...state, variables } }
      return mapAwaitable(run(written), (chunks) => {
        plans.disableLifting(shape)
        return chunks
      })
    },
  )
}

/** Runs a query as a step of a transaction; all rows are available when it resolves. Throws QueryError for COMMIT EVERY. */
export async function runQueryWithin(
  request: QueryRequest,
  resources: QueryResources,
  scope: CatalogTransaction,
): Promise<QueryReply> {
  const { memory } = scope.transaction
  assert(memory !== undefined, 'a transaction of several steps has a budget')
  if (request.isolation !== undefined) {
    const message =
      'A query within a transaction has the isolation of the transaction, in whose request another can be asked for.'
    throw new AshlarError('MalformedRequest', message)
  }
  const { requestBytes, statementBytes } = memory
  const { statements, texts, state } = await prepareScript(request, resources, memory, false)
  const stepwise = request.explain === undefined ? statements.find(isStepwise) : undefined
  if (stepwise !== undefined) {
    throw queryError(texts.text, stepwise, 'COMMIT EVERY commits on its own, and so cannot be part of a transaction')
  }
  const executor = new ScriptExecutor(resources, texts, scope.transaction.snapshot, scope.catalog, state, scope)
  const rows =
    request.explain === undefined
      ? await rowsOf(executor, statements, texts)
      : await plansWithin(executor, statements, texts, request.explain)
  // The statements' memory is released; the reply is charged until the commit.
  memory.resetStatement(statementBytes)
  memory.chargeRequest(requestBytes + bytesOfAll(rows) - memory.requestBytes)
  return { chunks: chunksOf(rows) }
}

/** Throws QueryError for ANALYZE of a change: it cannot be rolled back without the transaction's other changes. */
async function plansWithin(
  executor: ScriptExecutor,
  statements: readonly Statement[],
  texts: ScriptContext,
  explain: ExplainRequest,
): Promise<RowChunk[]> {
  const { text } = texts
  const selected = explainedStatements(statements, explain)
  const changing = selected.find((statement) => effectOf(statement) !== 'read')
  if (explain.isAnalyzed && changing !== undefined) {
    throw queryError(text, changing, 'what ANALYZE changes is undone, and so cannot be part of a transaction')
  }
  return plansRows(executor, selected, explain, texts)
}

/**
 * The plans of the statements. ANALYZE of a change runs in a transaction that never commits. It verifies by reads whatever a commit would verify as a
 * condition, so it fails where the commit would. Throws QueryError for a change that cannot be rolled back.
 */
async function explained(
  { statements, texts, state }: PreparedScript,
  request: QueryRequest,
  resources: QueryResources,
): Promise<RowChunk[]> {
  const { explain, watch } = request
  const selected = explainedStatements(statements, explain)
  const rowsOfRun = async (executor: ScriptExecutor): Promise<RowChunk[]> => {
    if (explain === undefined) return rowsOf(executor, selected, texts)
    return plansRows(executor, selected, explain, texts)
  }
  if (explain?.isAnalyzed === false || classify(selected) === 'read') {
    const use = async (snapshot: Snapshot): Promise<RowChunk[]> => {
      const catalog = await resources.database.catalogs.at(snapshot)
      const own = copyOfState(state)
      return rowsOfRun(new ScriptExecutor(resources, texts, snapshot, catalog, own, undefined))
    }
    return withSnapshot(resources.database.store, use, { isolation: 'readOnly', watch })
  }
  checkCanBeUndone(selected.map(withoutAnalyze), texts)
  const database = { ...resources.database, containers: new TrialContainers(resources.database.containers) }
  const onTrial = { ...resources, database }
  const attempt = async (transaction: Transaction, catalog: Catalog): Promise<RowChunk[]> => {
    const undone = transaction.rehearsal()
    // Without `runInCatalogTransaction`: the transaction never commits, so nothing has to be done afterwards.
    const scope = new CatalogTransaction(undone, catalog, database)
    scope.user = texts.user
    const own = copyOfState(state)
    const trial = new ScriptExecutor(onTrial, { ...texts, isUndone: true }, undone.snapshot, catalog, own, scope)
    const rows = await rowsOfRun(trial)
    await scope.judgeDeferred()
    return rows
  }
  const { signal, memory } = texts
  return transactWithCatalog(resources.database, attempt, { signal, memory })
}

/** Throws QueryError. */
function checkCanBeUndone(statements: readonly Statement[], { text }: ScriptContext): void {
  const [only] = statements
  if (only?.kind === 'createIndex' && statements.length === 1) {
    throw queryError(
      text,
      only,
      'an index that is built while others go on working cannot be undone, and so not analyzed',
    )
  }
  const stepwise = statements.find(isStepwise)
  if (stepwise !== undefined)
    throw queryError(text, stepwise, 'COMMIT EVERY commits on its own, and so cannot be analyzed')
}

/** One `EXPLAIN ANALYZE` of a change, at the end of a text that changes nothing else. */
function isAnalyzedChange(statements: readonly Statement[]): boolean {
  const last = statements.at(-1)
  if (last?.kind !== 'explain' || !last.isAnalyze || effectOf(last) === 'read') return false
  return classify(statements.slice(0, -1)) === 'read'
}

/** The statement that is executed by `EXPLAIN ANALYZE`. */
function withoutAnalyze(statement: Statement): Statement {
  return statement.kind === 'explain' && statement.isAnalyze ? withoutAnalyze(statement.statement) : statement
}

/** Charges the rows to the request. */
async function plansRows(
  executor: ScriptExecutor,
  statements: readonly Statement[],
  { isAnalyzed, format }: ExplainRequest,
  { memory }: ScriptContext,
): Promise<RowChunk[]> {
  const rows: RowChunk[] = []
  for await (const plan of executor.explainAll(statements, isAnalyzed)) {
    const text = format === 'json' ? JSON.stringify(plan) : planText(plan, statements.length > 1)
    const row = textRow(text)
    memory.chargeRequest(bytesOf(row))
    rows.push(row)
  }
  return rows
}

/** The snapshot lives until the rows have been read. */
function read(
  { statements, texts, state }: PreparedScript,
  resources: QueryResources,
  options: SnapshotOptions,
): Awaitable<RowChunks> {
  const { store } = resources.database
  const text = new TextRead(statements, texts, state, resources)
  return withLastingSnapshot(store, text, options, expectedCatalog(resources))
}

/** If each read is a network trip, assumes the last known catalog version, which the first read verifies. */
function expectedCatalog({ database: { store, catalogs } }: QueryResources): Entry | undefined {
  if (store.capabilities.hasSynchronousReads) return undefined
  const { latest } = catalogs
  return latest && { key: catalogVersionKey, value: latest.version }
}

/** A text that only reads; its rows are of one snapshot. */
class TextRead implements LastingRead<RowChunks> {
  private readonly statements: readonly Statement[]
  private readonly texts: ScriptContext
  private readonly state: ScriptState
  private readonly resources: QueryResources
  private readonly bytesBefore: number
  private snapshot!: Snapshot
  private options!: SnapshotOptions

  constructor(statements: readonly Statement[], texts: ScriptContext, state: ScriptState, resources: QueryResources) {
    this.statements = statements
    this.texts = texts
    this.state = state
    this.resources = resources
    this.bytesBefore = texts.memory.requestBytes
  }

  begin(snapshot: Snapshot, options: SnapshotOptions): Awaitable<RowChunks> {
    this.snapshot = snapshot
    this.options = options
    // The snapshot may have been renewed: releases memory charged for the previous one.
    this.texts.memory.releaseAllBut(this.bytesBefore)
    const catalog = this.resources.database.catalogs.at(snapshot)
    return mapAwaitable(catalog, (loaded) => this.run(loaded))
  }

  private run(catalog: Catalog): Awaitable<RowChunks> {
    const { resources, texts, snapshot, statements } = this
    const state = isOneSelect(statements) ? this.state : copyOfState(this.state)
    const executor = new ScriptExecutor(resources, texts, snapshot, catalog, state, undefined)
    return mapAwaitable(executor.runAll(statements), (answer) => this.answered(answer))
  }

  private answered(answer: StatementReply): Awaitable<RowChunks> {
    if (!areFew(answer)) return this.withFirstRow(answer)
    this.end()
    return answer
  }

  /** Waits for the first row: until then, reads can be restarted on another snapshot. */
  private async withFirstRow(answer: StatementReply): Promise<RowChunks> {
    const chunks = answer[Symbol.asyncIterator]()
    const first = await chunks.next()
    if (first.done !== true) return this.streamed(first.value, chunks)
    this.end()
    return new RowsAtHand([])
  }

  /** Ends, releasing the snapshot, when the rows are exhausted or the consumer returns. */
  private async *streamed(first: RowChunk, rest: AsyncIterator<RowChunk>): AsyncGenerator<RowChunk> {
    const { clock } = this.texts
    let chunk: IteratorResult<RowChunk> = { value: first }
    try {
      while (chunk.done !== true) {
        clock.stop()
        yield chunk.value
        clock.resume()
        chunk = await rest.next()
      }
    } catch (error) {
      throw lateReadError(this.resources.database.store, this.options, error)
    } finally {
      await rest.return?.()
      this.end()
    }
  }

  private end(): void {
    this.snapshot.release()
    this.texts.memory.release()
  }
}

/** Rows that are available and so small that they need not be charged until they are read. */
function areFew({ atHand }: StatementReply): boolean {
  return atHand !== undefined && bytesOfAll(atHand) <= uncountedBytesMax
}

const uncountedBytesMax = 65_536

/** Memory of a chunk in bytes. */
function bytesOf({ bytes, starts }: RowChunk): number {
  return bytes.length + 8 * starts.length
}

function bytesOfAll(chunks: readonly RowChunk[]): number {
  return chunks.reduce((sum, chunk) => sum + bytesOf(chunk), 0)
}

/** One transaction, or one per step for FOR EACH … COMMIT EVERY. The reply is sent after the commit. */
async function change(
  { statements, texts, state }: PreparedScript,
  { watch }: QueryRequest,
  resources: QueryResources,
  receipt: RowsReceipt | undefined,
): Promise<RowChunks> {
  // Admission must be settled here: after its first commit the text can no longer be refused.
  if (statements.some(isStepwise)) await watch?.mayContinue?.()
  let reply: RowChunk[] = []
  let current = state
  const parts = inTransactions(statements)
  const commits = new TextCommits(resources.database, receipt, parts.length > 1 || parts.some(isStepwise))
  try {
    await commits.begin()
    for (const part of parts) {
      if (isStepwise(part)) {
        await runSteps(part, texts, current, resources, commits)
        reply = []
        continue
      }
      const outcome = await inTransaction(withFreshTime(texts), current, resources, commits.hooks(0), (executor) => {
        return rowsOf(executor, part, texts)
      })
      commits.made(0)
      current = outcome.state
      reply = outcome.result
    }
    await commits.end(reply)
  } catch (error) {
    throw commits.explained(error)
  }
  texts.memory.releaseAllBut(bytesOfAll(reply))
  return chunksOf(reply, texts.memory)
}

/** The reply of the last statement, buffered until the commit. */
function rowsOf(
  executor: ScriptExecutor,
  statements: readonly Statement[],
  { text, limits, memory }: ScriptContext,
): Promise<RowChunk[]> {
  return atPlace(
    text,
    () => spanOfAll(statements),
    async () => collect(await executor.runAll(statements), limits.changeReplyBytesMax, memory),
  )
}

function spanOfAll(statements: readonly Statement[]): Span | undefined {
  const [first] = statements
  const last = statements.at(-1)
  return first && last && { start: first.start, end: last.end }
}

/** Groups statements into transactions; a statement that commits in steps is a separate part. */
function inTransactions(statements: readonly Statement[]): (readonly Statement[] | ForEachStatement)[] {
  const parts: (readonly Statement[] | ForEachStatement)[] = []
  let together: Statement[] = []
  for (const statement of statements) {
    if (!isStepwise(statement)) {
      together.push(statement)
      continue
    }
    if (together.length > 0) parts.push(together)
    together = []
    parts.push(statement)
  }
  if (together.length > 0) parts.push(together)
  return parts
}

function isStepwise(part: Statement | readonly Statement[]): part is ForEachStatement {
  return (
    'kind' in part &&
    part.kind === 'forEach' &&
    part.elements.kind === 'import' &&
    part.elements.commitEvery !== undefined
  )
}

async function runSteps(
  statement: ForEachStatement,
  texts: ScriptContext,
  state: ScriptState,
  resources: QueryResources,
  commits: TextCommits,
): Promise<void> {
  const { elements } = statement
  assert(elements.kind === 'import', 'only an import is carried out in steps')
  if (elements.commitEvery === 0) throw queryError(texts.text, elements, 'COMMIT EVERY is a number of rows from 1')
  let current = state
  for await (const rows of importedElements(elements, texts.text, resources.importDirectory)) {
    const hooks = commits.hooks(rows.length)
    const outcome = await inTransaction(withFreshTime(texts), current, resources, hooks, async (executor) => {
      for (const row of rows) await runBody(statement, row, executor)
    })
    commits.made(rows.length)
    current = outcome.state
  }
}

/** The time limit applies to each transaction: an import in steps may take any time in total. */
function withFreshTime(texts: ScriptContext): ScriptContext {
  const clock = texts.clock.restarted()
  return { ...texts, clock, slice: clock.stoppedBetween(texts.slice) }
}

async function inTransaction<T>(
  texts: ScriptContext,
  state: ScriptState,
  resources: QueryResources,
  hooks: CommitHooks,
  body: (executor: ScriptExecutor) => Promise<T>,
): Promise<{ readonly result: T; readonly state: ScriptState }> {
  const attempt = async (open: OpenCatalogTransaction, transaction: Transaction, catalog: Catalog) => {
    await hooks.before?.(transaction)
    const own = copyOfState(state)
    const scope = open(transaction)
    scope.user = texts.user
    const executor = new ScriptExecutor(resources, texts, transaction.snapshot, catalog, own, scope)
    const result = await body(executor)
    await hooks.after?.(transaction, result)
    return { result, state: own }
  }
  const { signal, memory, isolation } = texts
  const options = { signal, memory, isSerializable: isolation === 'serializable' }
  return runInCatalogTransaction(resources.database, resources.writer, attempt, options)
}

/** Throws LimitExceeded, so before anything is committed. */
async function collect(chunks: AsyncIterable<RowChunk>, bytesMax: number, memory: RequestMemory): Promise<RowChunk[]> {
  const collected: RowChunk[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.bytes.length
    if (bytes > bytesMax) {
      throw new AshlarError(
        'LimitExceeded',
        `The reply to a change is held until the commit and has at most ${bytesMax} bytes (changeReplyBytesMax); RETURN COUNT() asks for less.`,
      )
    }
    memory.chargeRequest(bytesOf(chunk))
    collected.push(chunk)
  }
  return collected
}
