/** Who is measured: a server with a store of vehicles, and how it is asked for each operation. */
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { ChildServer } from '../child-server.ts'
import type { BenchRequest } from '../load/load.ts'
import { numberOf, type Vehicle } from '../vehicles.ts'

/** The same work as the requests of one server. */
export interface RequestForms {
  read(id: string): BenchRequest
  equality(license: string): BenchRequest
  /** The same with the license in the text of the query, where there is such a text. */
  readonly equalityInText?: (license: string) => BenchRequest
  /** The first hundred of a year. */
  range(year: number): BenchRequest
  /** The same hundred with the names of model and maker: two references away. */
  makers(year: number): BenchRequest
  create(vehicle: Vehicle): BenchRequest
  /** Changes two attributes without an index. */
  update(id: string, mileage: number): BenchRequest
  remove(id: string): BenchRequest
  /** All of them as one commit. */
  createMany(vehicles: readonly Vehicle[]): BenchRequest
  /** All vehicles as NDJSON. */
  readonly everything: BenchRequest
  readonly idName: string
}

/** A directory or a database, empty at first. */
export interface Place {
  readonly address: string
  /** What it takes of the disk. */
  bytes(): Promise<number>
  remove(): Promise<void>
}

export interface ContenderKind {
  readonly name: string
  freshPlace(): Promise<Place>
  start(place: Place, core: number | undefined): Promise<ChildServer>
  /** Makes classes, indexes, models and makers in an empty place. */
  setUp(url: string): Promise<RequestForms>
}

export interface Contender {
  readonly kind: ContenderKind
  readonly place: Place
  readonly forms: RequestForms
  server: ChildServer
  /** How many vehicles it was filled with. */
  readonly objects: number
  /** The identities of these, or of some of them where they are very many. */
  readonly ids: readonly string[]
  /** The number of the next vehicle to be created. */
  next: number
}

/** The identities of those vehicles of which `isWanted` says so by their number. */
export async function readIds({ server, forms }: Contender, isWanted: (nth: number) => boolean): Promise<string[]> {
  const { method, path, body = null, accept = '*/*' } = forms.everything
  const headers = { accept, ...(body === null ? {} : { 'content-type': 'application/json' }) }
  const reply = await fetch(server.url + path, { method, headers, body })
  if (!reply.ok || reply.body === null) throw new Error(`${path}: ${await reply.text()}`)
  const ids: string[] = []
  const input = Readable.fromWeb(reply.body as ReadableStream<Uint8Array>)
  for await (const line of createInterface({ input })) {
    const row = JSON.parse(line) as Record<string, unknown>
    if (isWanted(numberOf(String(row.license)))) ids.push(String(row[forms.idName]))
  }
  return ids
}
