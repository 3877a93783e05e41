/** The operations of a client on a database of the engine: a federated database, or a step of a transaction. Throws errors of the engine. */
import type { CreateObjectBody, ObjectCreated, QueryBody, UpdateObjectBody } from '@ashlar/client'
import {
  AshlarError,
  type Awaitable,
  type CancelSignal,
  type Database,
  type Dialect,
  entityTagOf,
  mapAwaitable,
  openTimeSlice,
  type QueryReply,
  type RowChunk,
  type RowChunks,
  type TagCondition,
} from '@ashlar/engine'
import { completeReply, conditionOf, dialectNamed, dialectWords, indexUri, objectUri } from '@ashlar/server/in-process'
import type { JsonReader } from './json-reader.ts'

type Signal = CancelSignal | undefined

/** Returns all rows. Those of a long result are read as they are found, and other work goes on meanwhile. */
export function runQuery<Row>(
  database: Database,
  body: QueryBody,
  reader: JsonReader,
  signal: Signal,
): Awaitable<Row[]> {
  return mapAwaitable(begin(database, body, signal), ({ chunks }) => {
    return chunks.atHand === undefined ? allRows<Row>(chunks, reader) : rowsIn<Row>(chunks.atHand, reader)
  })
}

async function allRows<Row>(chunks: RowChunks, reader: JsonReader): Promise<Row[]> {
  const slice = openTimeSlice()
  const rows: Row[] = []
  for await (const chunk of chunks) {
    for (const row of rowsIn<Row>([chunk], reader)) rows.push(row)
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return rows
}

function rowsIn<Row>(chunks: readonly RowChunk[], reader: JsonReader): Row[] {
  return reader.read(
    completeReply(
      chunks.filter(({ bytes }) => bytes.length > 0),
      'json',
    ),
  )
}

/** Yields the rows of a query; the next ones are computed while these are used, up to a limit. */
export async function* streamRows<Row>(
  database: Database,
  body: QueryBody,
  reader: JsonReader,
  signal: Signal,
): AsyncGenerator<Row, void> {
  const { chunks } = await begin(database, body, signal)
  for await (const chunk of chunks) yield* rowsIn<Row>([chunk], reader)
}

function begin(database: Database, body: QueryBody, signal: Signal): Awaitable<QueryReply> {
  const { query: text, parameters, dialect, isolation } = body
  return database.query({ text, parameters, dialect: dialectOf(dialect), isolation, indexUri, signal })
}

export function dialectOf(name: string | undefined): Dialect | undefined {
  if (name === undefined) return undefined
  const dialect = dialectNamed(name)
  if (dialect !== undefined) return dialect
  const message = `There is no dialect '${String(name).slice(0, 60)}': it is ${dialectWords}.`
  throw new AshlarError('MalformedRequest', message, [{ place: ['dialect'], message }])
}

export async function create(
  database: Database,
  { class: className, attributes = {} }: CreateObjectBody,
  signal: Signal,
): Promise<ObjectCreated> {
  return createdObject(await database.createObject(className, attributes, { signal }))
}

export async function createAll(
  database: Database,
  bodies: readonly CreateObjectBody[],
  signal: Signal,
): Promise<readonly ObjectCreated[]> {
  return (await database.createObjects(bodies, { signal })).map(createdObject)
}

function createdObject(oid: string): ObjectCreated {
  return { __identifier__: oid, uri: objectUri(oid) }
}

/** Returns the representation in JSON, and its entity tag. */
export async function readTagged(database: Database, oid: string): Promise<{ json: Buffer; etag: string }> {
  const json = await database.readObject(oid)
  return { json, etag: await entityTagOf(json) }
}

export function update(
  database: Database,
  oid: string,
  { class: className, attributes }: UpdateObjectBody,
  ifMatch: string | undefined,
  signal: Signal,
): Promise<void> {
  return database.updateObject(oid, attributes, className, matching(ifMatch), { signal })
}

export function remove(database: Database, oid: string, ifMatch: string | undefined, signal: Signal): Promise<void> {
  return database.deleteObject(oid, matching(ifMatch), { signal })
}

function matching(ifMatch: string | undefined): TagCondition | undefined {
  return ifMatch === undefined ? undefined : conditionOf({ 'if-match': ifMatch })
}
