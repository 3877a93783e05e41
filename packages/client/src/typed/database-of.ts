/** The typed interface over a connection. At run time it knows no schema: what the types have accepted is translated as it is written. */
import { LiveRows } from '../live-query.ts'
import type { CallOptions, ChangesOptions, MatchOptions, TransactionOptions } from '../options.ts'
import type { Connection } from './connection.ts'
import type { Database } from './database.ts'
import { followRows } from './follow-rows.ts'
import { nullReferences, rowsOf } from './rows-of.ts'
import {
  countStatement,
  type Finding,
  findStatements,
  templateStatement,
  upsertStatement,
  type Values,
} from './statement.ts'
import {
  createManyStep,
  createStep,
  deleteStep,
  NewObject,
  queryStep,
  runStep,
  runSteps,
  type Step,
  updateStep,
} from './steps.ts'

type FindOptions = Finding & CallOptions
type Handle = (step: Step, options?: CallOptions) => unknown

/** Returns the typed interface over a client, for example an `AshlarClient` with all of its methods. */
export function databaseOf<S, C extends Connection>(connection: C): Database<S, C> {
  const run: Handle = (step, options) => runStep(connection, step, options)
  const alone = operationsWith(run)
  const operations = {
    ...alone,
    client: connection,
    ...(connection.findObject !== undefined && {
      get: (className: string, id: unknown, options?: FindOptions) =>
        get(connection, alone.get, className, id, options),
    }),
    find: (className: string, options?: FindOptions) => find(connection, className, options),
    pages: (className: string, options: FindOptions) => pages(connection, className, options),
    watch: (className: string, options?: FindOptions) => watch(connection, className, options),
    changes: (className: string, options?: ChangesOptions, onPosition?: (position: string) => void) =>
      changes(connection, className, options, onPosition),
    batch: (build: (batch: object) => readonly Step[], options?: TransactionOptions) =>
      batch(connection, build, options),
    query: (texts: TemplateStringsArray, ...values: unknown[]) => {
      if (!Array.isArray(texts) || !Array.isArray(texts.raw))
        throw new TypeError('query is called with a template: db.query`FROM Task RETURN *`.')
      const { text, parameters } = templateStatement(texts, values)
      return connection.query(text, parameters)
    },
  }
  return operations as unknown as Database<S, C>
}

/** The calls that are one step each. `handle`: runs a step, or collects it for a batch. */
function operationsWith(handle: Handle) {
  const query = (className: string, finding: FindOptions, read: (rows: Values[]) => unknown): unknown => {
    const { take, signal, timeoutMs } = finding
    return handle(
      queryStep(findStatements(className, finding), (rows) => read(rowsOf(rows, finding).slice(0, take))),
      { signal, timeoutMs },
    )
  }
  const changeLinks =
    (action: 'add' | 'remove') =>
    (_: string, id: unknown, attribute: string, targets: unknown, options?: CallOptions): unknown => {
      const elements = Array.isArray(targets) ? targets : [targets]
      return handle(updateStep(id, { [attribute]: { action, elements } }), options)
    }
  return {
    find: (className: string, options: FindOptions = {}) => query(className, options, (rows) => rows),
    get: (className: string, id: unknown, { select, ...options }: FindOptions = {}) =>
      query(className, { ...options, select, where: { $id: id } }, ([row]) => row ?? null),
    count: (className: string, where?: Values, options?: CallOptions) =>
      handle(
        queryStep([countStatement(className, where)], ([row]) => row?.count),
        options,
      ),
    create: (className: string, values: Values, options?: CallOptions) =>
      handle(createStep(className, values), options),
    createMany: (className: string, values: readonly Values[], options?: CallOptions) =>
      handle(createManyStep(className, values), options),
    upsert: (className: string, key: readonly string[], values: Values, options?: CallOptions) =>
      handle(
        queryStep([upsertStatement(className, key, values)], ([row]) => row?.__identifier__),
        options,
      ),
    update: (_: string, id: unknown, values: Values, options?: MatchOptions) =>
      handle(updateStep(id, values, options), options),
    delete: (_: string, id: unknown, options?: MatchOptions) => handle(deleteStep(id, options), options),
    link: changeLinks('add'),
    unlink: changeLinks('remove'),
    new: (className: string, values: Values) => new NewObject(className, values),
  }
}

/** `query`: the general way. */
async function get(
  connection: Connection,
  query: (className: string, id: unknown, options?: FindOptions) => unknown,
  className: string,
  id: unknown,
  options: FindOptions = {},
): Promise<unknown> {
  if (options.select === undefined && typeof id === 'string') {
    const found = connection.findObject?.(className, id, options)
    const object = found instanceof Promise ? await found : found
    if (object !== undefined) return object
  }
  return query(className, id, options)
}

async function find(connection: Connection, className: string, finding: FindOptions = {}): Promise<Values[]> {
  const { take, select, signal, timeoutMs } = finding
  const found: Values[] = []
  for (let part = 0; ; part++) {
    const rest = take === undefined ? undefined : take - found.length
    const statements = findStatements(className, { ...finding, take: rest })
    const statement = statements[part]
    if (statement === undefined) return found
    const rows = await connection.query<Values>(statement.text, statement.parameters, { signal, timeoutMs })
    found.push(...rowsOf(rows, { select }))
    if (rest !== undefined && rows.length >= rest) return found
  }
}

async function* pages(connection: Connection, className: string, options: FindOptions): AsyncGenerator<Values[], void> {
  for (let { after } = options; ; ) {
    const page = await find(connection, className, { ...options, after })
    if (page.length > 0) yield page
    if (page.length < (options.take ?? Number.POSITIVE_INFINITY)) return
    after = page.at(-1)
  }
}

async function* watch(
  connection: Connection,
  className: string,
  finding: FindOptions = {},
): AsyncGenerator<readonly Values[], void> {
  const { signal, timeoutMs, after } = finding
  if (after !== undefined) throw new TypeError(`watch of ${className}: 'after' is for find alone.`)
  const live = new LiveRows<Values>()
  let isChanged = true
  for await (const event of followRows(connection, className, finding, { signal, timeoutMs })) {
    live.apply(event)
    if (event.event !== 'position') isChanged = true
    else if (isChanged) {
      isChanged = false
      yield live.rows.map(({ row }) => row)
    }
  }
}

async function* changes(
  connection: Connection,
  className: string,
  options?: ChangesOptions,
  onPosition?: (position: string) => void,
): AsyncGenerator<unknown, void> {
  for await (const change of connection.followChanges({ ...options, className }, onPosition)) {
    nullReferences(change.before)
    nullReferences(change.after)
    yield change
  }
}

async function batch(
  connection: Connection,
  build: (batch: object) => readonly Step[],
  options?: TransactionOptions,
): Promise<unknown[]> {
  const steps: Step[] = []
  const returned = build(
    operationsWith((step) => {
      steps.push(step)
      return step
    }),
  )
  const results = await runSteps(connection, steps, options)
  return returned.map((step) => results.get(step))
}
