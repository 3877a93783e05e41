/** Who is measured: a server with a store of vehicles, and how it is asked for each operation. */
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
  /** As lines of one body, committed in batches; undefined where there is no such form. */
  createLines?(vehicles: readonly Vehicle[]): BenchRequest
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

/** The identities of those vehicles of which `isWanted` says so by their number: of millions of lines, only these are looked at more closely. */
export async function readIds({ server, forms }: Contender, isWanted: (nth: number) => boolean): Promise<string[]> {
  const { method, path, body = null, accept = '*/*' } = forms.everything
  const headers = { accept, ...(body === null ? {} : { 'content-type': 'application/json' }) }
  const reply = await fetch(server.url + path, { method, headers, body })
  if (!reply.ok || reply.body === null) throw new Error(`${path}: ${await reply.text()}`)
  const ids: string[] = []
  let rest = ''
  for await (const chunk of reply.body.pipeThrough(new TextDecoderStream())) {
    const text = rest + chunk
    const end = text.lastIndexOf('\n') + 1
    rest = text.slice(end)
    for (const line of wantedLines(text.slice(0, end), isWanted)) ids.push(String(line[forms.idName]))
  }
  for (const line of wantedLines(rest, isWanted)) ids.push(String(line[forms.idName]))
  return ids
}

function* wantedLines(text: string, isWanted: (nth: number) => boolean): Generator<Record<string, unknown>> {
  for (const found of text.matchAll(/"license":"([^"]*)"/g)) {
    if (!isWanted(numberOf(found[1] as string))) continue
    const end = text.indexOf('\n', found.index)
    const line = text.slice(text.lastIndexOf('\n', found.index) + 1, end < 0 ? text.length : end)
    yield JSON.parse(line) as Record<string, unknown>
  }
}
