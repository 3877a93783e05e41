/** Steps: what one call asks of a database, alone or as a part of a batch. */
import { newIdempotencyKey } from '../idempotency-key.ts'
import type { CallOptions, MatchOptions, TransactionOptions } from '../options.ts'
import type { CreateObjectBody, ObjectCreated, TransactionOperation } from '../wire.ts'
import type { Connection } from './connection.ts'
import { isFields, type Statement, type Values } from './statement.ts'

type Operation =
  | { readonly kind: 'query'; readonly statement: Statement }
  | { readonly kind: 'create'; readonly body: CreateObjectBody; readonly id: string }
  | { readonly kind: 'createMany'; readonly bodies: readonly CreateObjectBody[] }
  | { readonly kind: 'update'; readonly oid: string; readonly attributes: Values; readonly ifMatch?: string }
  | { readonly kind: 'delete'; readonly oid: string; readonly ifMatch?: string }

/** An object that is to be created with the one that refers to it. */
export class NewObject {
  readonly className: string
  readonly values: Values

  constructor(className: string, values: Values) {
    this.className = className
    this.values = values
  }
}

/** The operations of one call. A creation can be referred to by later steps of the same batch. */
export class Step {
  readonly operations: readonly Operation[]
  /** Returns the result of the call from the replies to the operations. */
  readonly read: (replies: readonly unknown[]) => unknown
  /** The name of the object that the step creates. */
  readonly id: string | undefined

  constructor(operations: readonly Operation[], read: Step['read'], id?: string) {
    this.operations = operations
    this.read = read
    this.id = id
  }
}

/** Names of new objects are random, so that no text of a caller is one of them. */
const namePrefix = `new-${newIdempotencyKey()}`
let names = 0

export function createStep(className: string, values: Values): Step {
  const creations = new Creations()
  const id = creations.add(className, values)
  return new Step(creations.operations, (replies) => oidIn(replies.at(-1)), id)
}

export function createManyStep(className: string, all: readonly Values[]): Step {
  const creations = new Creations()
  const ids = all.map((values) => creations.add(className, values))
  const { operations } = creations
  if (!creations.hasReferences) {
    const bodies = operations.map(({ body }) => body)
    return new Step([{ kind: 'createMany', bodies }], ([replies]) => (replies as readonly unknown[]).map(oidIn))
  }
  const places = new Map(operations.map((operation, at) => [operation.id, at]))
  return new Step(operations, (replies) => ids.map((id) => oidIn(replies[places.get(id) ?? 0])))
}

export function updateStep(id: unknown, values: Values, options: MatchOptions = {}): Step {
  const creations = new Creations()
  const attributes = creations.attributesOf(values)
  const update = { kind: 'update', oid: oidOf(id), attributes, ...matchOf(options) } as const
  return new Step([...creations.operations, update], () => undefined)
}

export function deleteStep(id: unknown, options: MatchOptions = {}): Step {
  return new Step([{ kind: 'delete', oid: oidOf(id), ...matchOf(options) }], () => undefined)
}

/** `read` gets the rows of all statements. */
export function queryStep(statements: readonly Statement[], read: (rows: Values[]) => unknown): Step {
  const creations = new Creations()
  const queries = statements.map(({ text, parameters }) => {
    return { kind: 'query', statement: { text, parameters: creations.attributesOf(parameters) } } as const
  })
  const readAll = (replies: readonly unknown[]): unknown => read(replies.slice(-queries.length).flat() as Values[])
  return new Step([...creations.operations, ...queries], readAll)
}

function matchOf({ ifMatch }: MatchOptions): { readonly ifMatch?: string } {
  return ifMatch === undefined ? {} : { ifMatch }
}

/** A new object is named as in a batch. */
function oidOf(id: unknown): string {
  if (id instanceof Step && id.id !== undefined) return `\${${id.id}}`
  if (typeof id === 'string') return id
  throw new TypeError(`${String(id)} is not the OID of an object.`)
}

function oidIn(reply: unknown): string {
  return (reply as ObjectCreated).__identifier__
}

/** Collects the objects to create, those that are referred to first. */
class Creations {
  readonly operations: (Operation & { readonly kind: 'create' })[] = []
  hasReferences = false
  private readonly ids = new Map<NewObject, string>()

  add(className: string, values: Values): string {
    const attributes = this.attributesOf(values)
    const id = `${namePrefix}-${names++}`
    this.operations.push({ kind: 'create', body: { class: className, attributes }, id })
    return id
  }

  attributesOf(values: Values): Values {
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, this.valueOf(value)]))
  }

  private valueOf(value: unknown): unknown {
    if (value instanceof NewObject || value instanceof Step) {
      this.hasReferences = true
      return value instanceof Step ? oidOf(value) : `\${${this.idOf(value)}}`
    }
    if (Array.isArray(value)) return value.map((element) => this.valueOf(element))
    return isFields(value) ? this.attributesOf(value) : value
  }

  /** An object that is referred to twice is created once. */
  private idOf(object: NewObject): string {
    const existing = this.ids.get(object)
    if (existing !== undefined) return existing
    const id = this.add(object.className, object.values)
    this.ids.set(object, id)
    return id
  }
}

/** Runs one operation as a request, several as one transaction. */
export async function runStep(connection: Connection, step: Step, options?: CallOptions): Promise<unknown> {
  const [only, ...others] = step.operations
  if (only !== undefined && others.length === 0) return step.read([await runAlone(connection, only, options)])
  return step.read(await runTogether(connection, step.operations, options))
}

/** Runs all steps as one transaction, and returns the result of each. */
export async function runSteps(
  connection: Connection,
  steps: readonly Step[],
  options?: TransactionOptions,
): Promise<Map<Step, unknown>> {
  const operations = steps.flatMap((step) => step.operations)
  const replies = operations.length === 0 ? [] : await runTogether(connection, operations, options)
  let at = 0
  return new Map(
    steps.map((step) => {
      const own = replies.slice(at, at + step.operations.length)
      at += step.operations.length
      return [step, step.read(own)]
    }),
  )
}

async function runTogether(
  connection: Connection,
  operations: readonly Operation[],
  options?: TransactionOptions,
): Promise<readonly unknown[]> {
  const replies = await connection.runTransaction(operations.map(requestOf), options)
  return replies.map(({ result }) => result)
}

function runAlone(connection: Connection, operation: Operation, options: CallOptions = {}): Promise<unknown> {
  switch (operation.kind) {
    case 'query':
      return connection.query(operation.statement.text, operation.statement.parameters, options)
    case 'create':
      return connection.createObject(operation.body.class, operation.body.attributes ?? {}, options)
    case 'createMany':
      return connection.createObjects(operation.bodies, options)
    case 'update':
      return connection.updateObject(operation.oid, operation.attributes, { ...options, ...matchOf(operation) })
    case 'delete':
      return connection.deleteObject(operation.oid, { ...options, ...matchOf(operation) })
  }
}

function requestOf(operation: Operation): TransactionOperation {
  switch (operation.kind) {
    case 'query': {
      const { text, parameters } = operation.statement
      return { method: 'post', uri: '/v1/query', body: { query: text, parameters } }
    }
    case 'create':
      return { method: 'post', uri: '/v1/object', body: operation.body, id: operation.id }
    case 'createMany':
      return { method: 'post', uri: '/v1/object', body: operation.bodies }
    case 'update': {
      const body = { attributes: operation.attributes }
      return { method: 'put', uri: objectUri(operation.oid), body, ...matchOf(operation) }
    }
    case 'delete':
      return { method: 'delete', uri: objectUri(operation.oid), ...matchOf(operation) }
  }
}

/** A name in braces is replaced by the server. */
function objectUri(oid: string): string {
  return `/v1/object/${oid.startsWith(`\${${namePrefix}`) ? oid : encodeURIComponent(oid)}`
}
