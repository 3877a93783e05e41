/** Determines the effects of a text of statements before it runs. */
import type { Awaitable } from '../store/store.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import { classify, effectsOf, higher } from './classify.ts'
import type { Statement } from './language/ast.ts'
import { statementsOf } from './parse/parse.ts'
import { cachedTextCharactersMax } from './plan-cache.ts'
import { checkCharacters } from './prepare-text.ts'
import type { ExplainRequest, QueryRequest } from './query-request.ts'
import type { QueryResources } from './query-resources.ts'
import type { Effect } from './statements/statement-kind.ts'

/** The highest effect of the request; ANALYZE has that of its statement. Throws QuerySyntaxError, LimitExceeded, the signal's reason. */
export function effectOfQuery(request: QueryRequest, resources: QueryResources): Awaitable<Effect> {
  if (isLong(request)) return effectsOfLongText(request, resources).then((all) => [...all].reduce(higher))
  return classify(shortStatements(request, resources))
}

/** All effects of the request. Throws what `effectOfQuery` throws. */
export function effectsOfQuery(request: QueryRequest, resources: QueryResources): Awaitable<ReadonlySet<Effect>> {
  if (isLong(request)) return effectsOfLongText(request, resources)
  return effectsOf(shortStatements(request, resources))
}

/** The statements that are explained: the request's parameter overrides EXPLAIN in the text. */
export function explainedStatements(
  statements: readonly Statement[],
  explain: ExplainRequest | undefined,
): readonly Statement[] {
  return explain === undefined
    ? statements
    : statements
        .slice(0, explain.statementsMax)
        .map((statement) => (statement.kind === 'explain' ? statement.statement : statement))
}

function isLong({ text, explain }: QueryRequest): boolean {
  return text.length > cachedTextCharactersMax && explain?.isAnalyzed !== false
}

function shortStatements(request: QueryRequest, { plans, database: { limits } }: QueryResources): readonly Statement[] {
  const { text, explain } = request
  if (explain?.isAnalyzed === false) return []
  checkCharacters(request, limits)
  return explainedStatements(plans.parsed(text, limits.statementTokensMax).statements, explain)
}

function effectsOfLongText(
  request: QueryRequest,
  { database: { limits } }: QueryResources,
): Promise<ReadonlySet<Effect>> {
  checkCharacters(request, limits)
  return effectsOfEach(request, limits.statementTokensMax)
}

/** Yields between statements and retains none of them: the request is not admitted yet, so its memory is not accounted for. */
async function effectsOfEach(
  { text, explain, signal }: QueryRequest,
  statementTokensMax: number,
): Promise<ReadonlySet<Effect>> {
  signal?.throwIfAborted()
  const slice = openTimeSlice({ mayContinue: (): undefined => void signal?.throwIfAborted() })
  const effects = new Set(effectsOf([]))
  let position = 0
  for (const statement of statementsOf(text, statementTokensMax)) {
    const isExplained = position++ < (explain?.statementsMax ?? Number.POSITIVE_INFINITY)
    if (isExplained) for (const effect of effectsOf(explainedStatements([statement], explain))) effects.add(effect)
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return effects
}
