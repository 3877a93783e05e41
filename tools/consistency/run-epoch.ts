/**
 * Runs transactions of many clients at once, and notes what each has done and seen. Epochs follow each other: each has objects of its own, and ends with all
 * clients at rest and a look at everything. They can be checked one by one: transactions of two epochs have no object in common, and all of one have ended, or are of unknown
 * outcome, before the next begins; so no cycle goes from one to another and back, and memory holds one epoch.
 */
import { performance } from 'node:perf_hooks'
import type { Action } from './actions.ts'
import type { Answer, Connection } from './connection.ts'
import type { Outcome, Step, Transaction } from './history.ts'
import { RandomActions } from './random-actions.ts'
import { type Epoch, readAll } from './world.ts'

export type Form = 'text' | 'batch' | 'single' | 'guarded' | 'ifMatch'
const forms: readonly Form[] = ['text', 'text', 'text', 'batch', 'batch', 'batch', 'single', 'guarded', 'ifMatch']

export interface EpochRun {
  readonly history: readonly Transaction[]
  /** Of all answers. */
  readonly statuses: ReadonlyMap<string, number>
}

export interface RunOptions {
  readonly transactions: number
  /** One for each client. */
  readonly connections: readonly Connection[]
  readonly random: () => number
  /** No transaction begins after that time of `performance.now()`. */
  readonly until: number
}

export async function runEpoch(
  epoch: Epoch,
  { transactions, connections, random, until }: RunOptions,
): Promise<EpochRun> {
  const actions = new RandomActions(epoch, random, transactions)
  const history: Transaction[] = []
  const statuses = new Map<string, number>()
  const note = ({ status, json }: Answer): void => {
    const name = status < 400 ? String(status) : `${status} ${json?.type}`
    statuses.set(name, (statuses.get(name) ?? 0) + 1)
  }
  await Promise.all(
    connections.map(async (connection) => {
      for (;;) {
        const next = performance.now() < until ? actions.next() : undefined
        if (next === undefined) break
        const form = forms[actions.below(forms.length)]!
        history.push(...(await carryOut({ connection, epoch, actions, note }, form, next)))
      }
    }),
  )
  history.push(...(await readAll(connections[0]!, epoch, () => performance.now())))
  return { history, statuses }
}

interface Context {
  readonly connection: Connection
  readonly epoch: Epoch
  readonly actions: RandomActions
  note(answer: Answer): void
}

function carryOut(context: Context, form: Form, actions: readonly Action[]): Promise<Transaction[]> {
  switch (form) {
    case 'text':
      return carryOutText(context, actions)
    case 'batch':
      return carryOutBatch(context, actions)
    case 'single':
      return carryOutSingle(context, actions[0]!)
    case 'guarded':
      return carryOutSingle(context, context.actions.guarded())
    case 'ifMatch':
      return changeIfMatching(context)
  }
}

async function carryOutText(context: Context, actions: readonly Action[]): Promise<Transaction[]> {
  const statements = actions.flatMap((action, nth) => action.statements(`r${nth}`))
  const shown = actions.flatMap(({ sees }, nth) => (sees ? [`$r${nth}`] : []))
  const query = `${statements.join('; ')}; SHOW ${shown.length === 0 ? '1' : `LIST{${shown.join(', ')}}`}`
  return timed(context, 'text', actions, 'POST', '/v1/query', { query }, ([values]) => {
    let read = 0
    return actions.flatMap(({ sees, stepsOf }) => stepsOf(sees ? values[read++] : undefined))
  })
}

async function carryOutBatch(context: Context, actions: readonly Action[]): Promise<Transaction[]> {
  const body = actions.map(({ operation }) => operation)
  return timed(context, 'batch', actions, 'POST', '/v1/transaction', body, (results) =>
    actions.flatMap(({ stepsOfResult }, nth) => stepsOfResult(results[nth].result)),
  )
}

async function carryOutSingle(context: Context, action: Action): Promise<Transaction[]> {
  const { method, uri, body } = action.operation
  return timed(context, 'single', [action], method.toUpperCase(), uri, body, (json) => action.stepsOfResult(json))
}

/** Reads a list and writes it with one value more, unless somebody has changed it meanwhile. */
async function changeIfMatching(context: Context): Promise<Transaction[]> {
  const { connection, epoch, actions } = context
  const list = actions.key()
  const value = actions.nextValue()
  const uri = `/v1/object/${epoch.oids.get(list)}`
  const invoked = performance.now()
  const answer = await connection.send('GET', uri)
  context.note(answer)
  if (answer.status !== 200) return []
  const values: number[] = answer.json.list
  const read: Step = { kind: 'readList', list, values }
  const seen: Transaction = { invoked, completed: performance.now(), outcome: 'ok', form: 'single', steps: [read] }
  const body = { attributes: { list: [...values, value] } }
  const writes: Step[] = [{ kind: 'append', list, value }]
  const done = await timed(context, 'ifMatch', [{ writes }], 'PUT', uri, body, () => [read, ...writes], {
    'if-match': answer.etag ?? '',
  })
  return [seen, ...done]
}

async function timed(
  { connection, note }: Context,
  form: Form,
  actions: readonly Pick<Action, 'writes'>[],
  method: string,
  path: string,
  body: unknown,
  stepsOf: (json: Answer['json']) => readonly Step[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Transaction[]> {
  const invoked = performance.now()
  const answer = await connection.send(method, path, body, headers)
  const completed = performance.now()
  note(answer)
  const outcome = outcomeOf(answer)
  const steps = outcome === 'ok' ? stepsOf(answer.json) : actions.flatMap(({ writes }) => writes)
  // A server that is away is asked again and again, but not without a pause.
  if (answer.status === 0 || answer.status === 503) await new Promise((resolve) => setTimeout(resolve, 200))
  return steps.length === 0 ? [] : [{ invoked, completed, outcome, form, steps }]
}

function outcomeOf({ status, json }: Answer): Outcome {
  if (status >= 200 && status < 300) return 'ok'
  return status === 0 || status === 500 || json?.type === 'OutcomeUnknown' ? 'unknown' : 'failed'
}
