/** Fast path of lookups by a unique key, without time slices, budgets and operators: it halves the time of such a query. */
import { RequestMemory } from '../budget/request-memory.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { SnapshotOptions } from '../store/store.ts'
import { otherRows } from './access/unique-lookup.ts'
import { effectOf } from './classify.ts'
import { needsFetch } from './evaluate/evaluation-context.ts'
import type { ObjectReader } from './evaluate/object-view.ts'
import { type EvaluationSource, plainEvaluationContext } from './execute/new-evaluation-context.ts'
import { Work } from './functions/work.ts'
import { isValidFor, type ParsedText } from './plan-cache.ts'
import { ticksNow } from './prepare-text.ts'
import type { QueryProgress, QueryRequest, RowChunks } from './query-request.ts'
import type { QueryResources } from './query-resources.ts'
import type { SelectPlan } from './statements/select.ts'
import { scalarValue, type TypedValue } from './values/parameter-value.ts'
import { noTextFormats } from './values/text-format.ts'
import { userValue } from './values/user.ts'

const snapshotOptions: SnapshotOptions = { isolation: 'readOnly', mayShare: true }

/** Undefined for other texts, a missing plan, an error or a long row, which the general path handles. Throws the reason of the signal. */
export function answerLookup(
  { statements, lifted }: ParsedText,
  request: QueryRequest,
  resources: QueryResources,
): RowChunks | undefined {
  const { database, plans, counts } = resources
  const { store, catalogs, restriction } = database
  const { latest } = catalogs
  const statement = statements[0]
  if (statement?.kind !== 'select' || statements.length > 1 || latest === undefined) return undefined
  const cached = plans.lastPlan(statement, latest)
  const plan = cached?.planned.plan as Partial<SelectPlan> | undefined
  if (cached === undefined || plan?.lookup === undefined || effectOf(statement) !== 'read') return undefined
  if (restriction !== undefined || !store.capabilities.hasSynchronousReads) return undefined
  const variables = variablesOf(request, lifted)
  const dialect = request.dialect ?? resources.dialect
  if (variables === undefined || !isValidFor(cached, dialect, noTextFormats, variables)) return undefined
  request.signal?.throwIfAborted()
  const snapshot = store.snapshot(snapshotOptions)
  if (snapshot instanceof Promise) return undefined
  const beganMs = performance.now()
  const source = new LookupSource(request, resources)
  const { slots, constants } = plan as SelectPlan
  try {
    const catalog = catalogs.at(snapshot)
    // Another process has changed the schema: the snapshot is released before the catalog has loaded.
    if (catalog instanceof Promise) catalog.catch(() => undefined)
    if (catalog !== latest) return undefined
    const evaluation = plainEvaluationContext(slots, constants, variables, source)
    const rows = plan.lookup.answer(evaluation, snapshot, recordFormats(latest), dialect)
    if (rows === undefined) return undefined
    const found = rows.atHand?.length ?? 0
    const touched = found > 0 || rows === otherRows ? 1 : 0
    plans.reused++
    counts.rows += found
    counts.touched += touched
    request.watch?.onStarted?.(new LookupProgress(found, touched, beganMs))
    return rows
  } catch {
    return undefined
  } finally {
    source.release()
    snapshot.release()
  }
}

const parametersMax = 16
/** Longer texts are charged to the request's memory. */
const parameterCharactersMax = 8_192

/** Undefined if a parameter is not a scalar or is long, or if there are too many. */
function variablesOf(
  { parameters }: QueryRequest,
  lifted: ReadonlyMap<string, TypedValue>,
): ReadonlyMap<string, TypedValue> | undefined {
  if (parameters === undefined) return lifted
  const variables = new Map(lifted)
  let count = 0
  for (const name in parameters) {
    const json = parameters[name]
    if (typeof json === 'string' && json.length > parameterCharactersMax) return undefined
    const value = scalarValue(json)
    if (value === undefined || ++count > parametersMax) return undefined
    if (!variables.has(name)) variables.set(name, value)
  }
  return variables
}

/** Parts of the evaluation context that few expressions use, created on first use. */
class LookupSource implements EvaluationSource {
  private readonly request: QueryRequest
  private readonly resources: QueryResources
  private lazyScript: EvaluationSource['script'] | undefined
  private lazyWork: Work | undefined

  constructor(request: QueryRequest, resources: QueryResources) {
    this.request = request
    this.resources = resources
  }

  get script(): EvaluationSource['script'] {
    if (this.lazyScript !== undefined) return this.lazyScript
    const { text, user: requestUser = null, memoryHolder } = this.request
    const { database, user = userValue(requestUser) } = this.resources
    const { limits } = database
    const memory = new RequestMemory(database.memory, limits, memoryHolder)
    this.lazyScript = { now: ticksNow(), user, text, memory, limits }
    return this.lazyScript
  }

  get work(): Work {
    this.lazyWork ??= new Work(refuseWork)
    return this.lazyWork
  }

  /** Only the row's own record may be read. */
  get reader(): ObjectReader {
    throw needsFetch
  }

  release(): void {
    this.lazyScript?.memory.release()
  }
}

/** A lookup that exhausts its work allowance is left to the general path, which can yield. */
function refuseWork(): never {
  throw needsFetch
}

class LookupProgress implements QueryProgress {
  readonly rows: number
  readonly touched: number
  readonly bytesHeld = 0
  private readonly beganMs: number

  constructor(rows: number, touched: number, beganMs: number) {
    this.rows = rows
    this.touched = touched
    this.beganMs = beganMs
  }

  get workedMs(): number {
    return performance.now() - this.beganMs
  }
}
