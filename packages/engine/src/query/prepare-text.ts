/** Prepares the text of a request for execution: parses it and converts its parameters. */
import type { RequestMemory } from '../budget/request-memory.ts'
import { WorkClock } from '../budget/work-clock.ts'
import { AshlarError } from '../errors.ts'
import { type EngineLimits, parameterFieldsMax } from '../limits.ts'
import { JsonSource, noteTextOf, textOf } from '../requests/json-source.ts'
import { hasJsonAttribute } from '../schema/json-attributes.ts'
import { RequestSpace } from '../spill/request-space.ts'
import type { Awaitable } from '../store/store.ts'
import { openSliceOfWork, openTimeSlice, runYielding, type TimeSlice } from '../store/time-slice.ts'
import { parseDay, ticksPerDay } from '../types/calendar.ts'
import type { JsonFragment } from '../types/json-text.ts'
import { compactJson, jsonTextOf } from '../types/json-value.ts'
import { ValueError } from '../types/logical-type.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import { classify, effectOf } from './classify.ts'
import { valueBytes } from './evaluate/value-bytes.ts'
import type { ScriptContext } from './execute/statement-context.ts'
import type { Statement } from './language/ast.ts'
import { cachedTextCharactersMax, type ParsedText } from './plan-cache.ts'
import { newQueryCounts, type QueryCounts } from './query-counts.ts'
import type { QueryProgress, QueryRequest } from './query-request.ts'
import type { QueryResources } from './query-resources.ts'
import type { ScriptState } from './script-executor.ts'
import { parameterValue, scalarValue, type TypedValue, tooManyFields } from './values/parameter-value.ts'
import { noTextFormats } from './values/text-format.ts'
import { userValue } from './values/user.ts'
import { jsonType } from './values/value-type.ts'

export interface PreparedScript {
  readonly statements: readonly Statement[]
  readonly texts: ScriptContext
  readonly state: ScriptState
}

/** Throws LimitExceeded. */
export function checkCharacters({ text }: QueryRequest, { queryCharactersMax }: EngineLimits): void {
  if (text.length <= queryCharactersMax) return
  const message = `A text of statements has at most ${queryCharactersMax} characters (queryCharactersMax), not ${text.length}; parameters can hold the data.`
  throw new AshlarError('LimitExceeded', message, [{ place: ['query'], message }])
}

/** `mayLift`: literals may be lifted. `cachedText`: the parsed text, if cached. Throws QuerySyntaxError, QueryError, LimitExceeded, ServerBusy. */
export function prepareScript(
  request: QueryRequest,
  resources: QueryResources,
  memory: RequestMemory,
  mayLift: boolean,
  cachedText?: ParsedText,
): Awaitable<PreparedScript> {
  const { text, watch } = request
  const { plans, database } = resources
  const { limits, store } = database
  checkCharacters(request, limits)
  const slice =
    request.slice ?? (store.capabilities.hasSynchronousReads ? openTimeSlice(watch) : openSliceOfWork(watch))
  const withValues = (parsed: ParsedText): Awaitable<PreparedScript> => {
    // Changes of the schema store literals as names and settings.
    const isLiftingAllowed = parsed.shape === undefined || (mayLift && classify(parsed.statements) !== 'define')
    const toRun = isLiftingAllowed ? parsed : plans.parsedAsWritten(text, limits.statementTokensMax)
    const { parameters, parametersText } = request
    if (parameters !== undefined && parametersText !== undefined)
      noteTextOf(parameters, JsonSource.fromText(parametersText))
    const prepared = preparedText(toRun, request, resources, memory, slice)
    if (parameters === undefined || addScalars(parameters, prepared)) return prepared
    return addParameters(parameters, prepared, database).then(() => prepared)
  }
  if (cachedText !== undefined || text.length <= cachedTextCharactersMax)
    return withValues(cachedText ?? plans.parsed(text, limits.statementTokensMax))
  return plans.parsedLong(text, limits.statementTokensMax, slice).then(async (parsed) => {
    // Fills the cache of effects in slices: computing all of them in one call could exceed a time slice.
    for (const statement of parsed.statements) {
      effectOf(statement)
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
    return withValues(parsed)
  })
}

/** Adds a few scalar parameters synchronously; false if any other or too many parameters remain. */
function addScalars(parameters: Parameters, { state: { variables }, texts: { memory } }: PreparedScript): boolean {
  let count = 0
  for (const name in parameters) {
    const value = scalarValue(parameters[name])
    if (value === undefined || ++count > syncScalarsMax) return false
    if (variables.has(name)) continue
    memory.chargeRequest(valueBytes(value.value))
    variables.set(name, value)
  }
  return true
}

const syncScalarsMax = 64

/** Adds the remaining parameters and yields between them. */
async function addParameters(
  parameters: Parameters,
  { state, texts: { memory, slice } }: PreparedScript,
  database: OpenDatabase,
): Promise<void> {
  let count = 0
  // No Object.entries(): it takes half a second for very many parameters.
  for (const name in parameters) {
    if (++count > parameterFieldsMax) throw tooManyFields('The query')
    if (state.variables.has(name)) continue
    const json = parameters[name]
    const value = scalarValue(json) ?? (await containerValue(name, parameters, database, slice))
    memory.chargeRequest(valueBytes(value.value))
    state.variables.set(name, value)
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

/** An array or object. If the schema has json attributes, its text is retained, and elements of several types are allowed as a json value. */
async function containerValue(
  name: string,
  parameters: Parameters,
  { catalogs: { latest } }: OpenDatabase,
  slice: TimeSlice,
): Promise<TypedValue> {
  const json = parameters[name]
  const mayBeJson = latest === undefined || hasJsonAttribute(latest)
  const text = mayBeJson ? textOf(parameters)?.at(name) : undefined
  try {
    return await runYielding(parameterValue(name, json, text), slice)
  } catch (error) {
    if (!mayBeJson || !(error instanceof AshlarError)) throw error
    return { type: jsonType, value: jsonParameter(name, json, text?.text) }
  }
}

/** Throws QueryError. */
function jsonParameter(name: string, json: unknown, text: JsonFragment | undefined): string {
  try {
    return text === undefined ? jsonTextOf(json) : compactJson(text)
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw new AshlarError('QueryError', `Parameter ${name.slice(0, 60)}: ${error.message}.`, [
      { place: ['parameters'], message: error.message },
    ])
  }
}

type Parameters = NonNullable<QueryRequest['parameters']>

function preparedText(
  { statements, lifted, shape }: ParsedText,
  request: QueryRequest,
  {
    database: { limits, store, restriction, temporary, isolation },
    counts: totals,
    dialect,
    user = userValue(request.user ?? null),
  }: QueryResources,
  memory: RequestMemory,
  slice: TimeSlice,
): PreparedScript {
  const clock = new WorkClock(limits.statementMsMax)
  const written = newQueryCounts()
  request.watch?.onStarted?.(new Progress(written, memory, clock))
  return {
    statements,
    texts: {
      text: request.text,
      shape,
      dialect: request.dialect ?? dialect,
      limits,
      capabilities: restriction?.capabilities ?? store.capabilities,
      signal: request.signal,
      indexUri: request.indexUri,
      isolation: request.isolation ?? isolation,
      slice: clock.stoppedBetween(slice),
      clock,
      memory,
      space: limits.statementDiskBytesMax > 0 ? new RequestSpace(temporary, limits) : undefined,
      written,
      totals,
      now: ticksNow(),
      user,
    },
    state: { variables: lifted.size === 0 ? new Map() : new Map(lifted), textFormats: noTextFormats },
  }
}

class Progress implements QueryProgress {
  private readonly written: Readonly<QueryCounts>
  private readonly clock: WorkClock
  private readonly memory: RequestMemory

  constructor(written: Readonly<QueryCounts>, memory: RequestMemory, clock: WorkClock) {
    this.clock = clock
    this.written = written
    this.memory = memory
  }

  get rows(): number {
    return this.written.rows
  }

  get touched(): number {
    return this.written.touched
  }

  get workedMs(): number {
    return this.clock.workedMs
  }

  get bytesHeld(): number {
    return this.memory.bytes
  }
}

const dayOfEpoch = parseDay('1970-01-01') as number

export function ticksNow(): number {
  return dayOfEpoch * ticksPerDay + Date.now() * 10
}
