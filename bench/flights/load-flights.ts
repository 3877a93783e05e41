/** Loads the parts of a source into a federated database, in commits of many objects, and tells what it could not take. */
import { AshlarError, type FederatedDatabase } from '@ashlar/engine'
import { FlightsDirectory } from './flights-objects.ts'
import { flightsClasses, flightsIndexes } from './flights-schema.ts'
import type { SourcePart } from './flights-tables.ts'
import type { CreateRequest, SourceRow } from './row.ts'

export interface LoadProgress {
  /** Called with each row read; `refused` tells why a row is not taken. */
  row(part: string, place: string, refused?: string): void
}

const commitObjects = 500

/** Defines the classes and indexes, and creates an object for each row. Returns how many objects were created. */
export async function loadFlights(
  fd: FederatedDatabase,
  parts: readonly SourcePart[],
  progress: LoadProgress,
): Promise<number> {
  await fd.defineClasses(flightsClasses, 'createOrExtend')
  for (const index of flightsIndexes) await fd.createIndex(index)
  const directory = new FlightsDirectory()
  let created = 0
  for (const part of parts) {
    let waiting: SourceRow[] = []
    const commit = async (): Promise<void> => {
      created += await createAll(fd, part.name, waiting, directory, progress)
      waiting = []
    }
    for await (const row of part.rows(directory)) {
      if ('fault' in row) progress.row(part.name, row.place, row.fault)
      else waiting.push(row)
      if (waiting.length === commitObjects) await commit()
    }
    await commit()
  }
  return created
}

/** One commit for all; where one of them is refused, one by one, so that the others are taken. */
async function createAll(
  fd: FederatedDatabase,
  part: string,
  rows: readonly SourceRow[],
  directory: FlightsDirectory,
  progress: LoadProgress,
): Promise<number> {
  if (rows.length === 0) return 0
  try {
    const oids = await fd.createObjects(rows.map(({ request }) => request))
    for (const [position, { place, request }] of rows.entries()) {
      remember(directory, request, oids[position] as string)
      progress.row(part, place)
    }
    return rows.length
  } catch (error) {
    if (!(error instanceof AshlarError)) throw error
    const [row] = rows
    if (rows.length === 1 && row !== undefined) {
      progress.row(part, row.place, error.message)
      return 0
    }
  }
  let created = 0
  for (const row of rows) created += await createAll(fd, part, [row], directory, progress)
  return created
}

function remember(directory: FlightsDirectory, request: CreateRequest, oid: string): void {
  if (request.class === 'Airline') directory.addAirline(oid, request.attributes)
  if (request.class === 'Airport') directory.addAirport(oid, request.attributes)
}
