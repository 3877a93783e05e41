/** What a text of statements would do, told before it is carried out; long texts in turns with others. */
import type { Awaitable } from '../store/store.ts'
import { inSlices, openTimeSlice } from '../store/time-slice.ts'
import { classify, effectsOf } from './classify.ts'
import type { Statement } from './language/ast.ts'
import { textCharactersKept } from './plan-cache.ts'
import { checkCharacters } from './prepare-text.ts'
import type { ExplainRequest, QueryRequest } from './query-request.ts'
import type { QueryResources } from './query-resources.ts'
import type { Effect } from './statements/statement-kind.ts'

/** What the request would do; what is analyzed does it, although that is undone. Throws QuerySyntaxError, LimitExceeded, the signal's reason. */
export function effectOfQuery(request: QueryRequest, resources: QueryResources): Awaitable<Effect> {
  return ofStatements(request, resources, classify)
}

/** All that the request would do. Throws what `effectOfQuery` does. */
export function effectsOfQuery(request: QueryRequest, resources: QueryResources): Awaitable<ReadonlySet<Effect>> {
  return ofStatements(request, resources, effectsOf)
}

/** The parameter says what is done with the statements, also with those that the text explains. */
export function wantedOf(statements: readonly Statement[], explain: ExplainRequest | undefined): readonly Statement[] {
  return explain === undefined ? statements : statements.slice(0, explain.statementsMax).map(withoutExplain)
}

function withoutExplain(statement: Statement): Statement {
  return statement.kind === 'explain' ? statement.statement : statement
}

function ofStatements<T>(
  request: QueryRequest,
  resources: QueryResources,
  tell: (statements: readonly Statement[]) => T,
): Awaitable<T> {
  const { text, explain } = request
  if (explain?.isAnalyzed === false) return tell([])
  const { database, plans } = resources
  checkCharacters(request, database.limits)
  if (text.length > textCharactersKept) return plans.alone(() => ofLongText(request, resources, tell))
  return tell(wantedOf(plans.parsed(text, database.limits.statementTokensMax).statements, explain))
}

async function ofLongText<T>(
  { text, explain, signal }: QueryRequest,
  { database, plans }: QueryResources,
  tell: (statements: readonly Statement[]) => T,
): Promise<T> {
  const mayGoOn = (): undefined => void signal?.throwIfAborted()
  mayGoOn()
  const slice = openTimeSlice({ mayGoOn })
  const { statements } = await plans.parsedInTurns(text, database.limits.statementTokensMax, slice)
  const wanted = wantedOf(statements, explain)
  // What is known of each is not worked out for all of them at once.
  await inSlices(wanted, (statement) => void effectsOf([statement]), slice)
  return tell(wanted)
}
