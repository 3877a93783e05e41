/** Loads the data of `ashlar demo` through the REST interface. */
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { AshlarClient } from '@ashlar/client'
import { httpFetch } from '../connection/http-fetch.ts'
import { printResult } from '../output/print-result.ts'
import { numberText } from '../output/texts.ts'
import { countedLosses } from './losses.ts'
import { noMapping, readMapping } from './mapping.ts'
import { openTextRecords } from './records.ts'
import { openReferences } from './references.ts'
import { importRecords } from './run-import.ts'
import { textSource } from './text-source.ts'
import { attributesBy } from './to-attributes.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Airport { iata: String, name: String, city: String, state: String, latitude: Real, longitude: Real,
    departures: List{Element: Reference{Referenced: Flight, Inverse: origin}},
    arrivals: List{Element: Reference{Referenced: Flight, Inverse: destination}},
    routesOut: List{Element: Reference{Referenced: Route, Inverse: origin}},
    routesIn: List{Element: Reference{Referenced: Route, Inverse: destination}} }
  CREATE CLASS Flight { date: Date, departure: Time, delayMinutes: Integer, miles: Integer,
    origin: Reference{Referenced: Airport, Inverse: departures}, destination: Reference{Referenced: Airport, Inverse: arrivals} }
  CREATE CLASS Route { flightsInYear: Integer,
    origin: Reference{Referenced: Airport, Inverse: routesOut}, destination: Reference{Referenced: Airport, Inverse: routesIn} }
};
CREATE UNIQUE INDEX airportByIata ON Airport (iata);
CREATE INDEX flightByDelay ON Flight (delayMinutes)`

/** The files of `packages/cli/demo`, ordered by their references. */
const files: readonly (readonly [className: string, file: string])[] = [
  ['Airport', 'airports.csv'],
  ['Flight', 'flights.csv'],
  ['Route', 'routes.csv'],
]

const ends = { origin: { reference: 'airportByIata' }, destination: { reference: 'airportByIata' } }

const examples = (alias: string, url: string): string => `Try:
  ashlar query --url ${url} --fd ${alias} 'FROM Airport WHERE state = "HI" RETURN iata, name'
  ashlar query --url ${url} --fd ${alias} 'FROM Flight WHERE delayMinutes > 120 RETURN date, origin.iata AS origin, destination.city AS city, delayMinutes'
  ashlar schema diagram --url ${url} --fd ${alias}`

/** Loads missing records in order, in commits of whole batches, so that a repeated run continues. Ignores other data. */
export async function loadDemo(url: string, alias: string, json: boolean, signal: AbortSignal): Promise<void> {
  const client = new AshlarClient({ baseUrl: url, fdAlias: alias, fetch: httpFetch({ ca: undefined, signal }) })
  const classes = (await client.listClasses()).map(({ className }) => className)
  if (classes.length === 0) await client.query(schema)
  else if (!files.every(([className]) => classes.includes(className))) {
    process.stderr.write(`The federated database ${alias} holds other data: nothing is loaded.\n`)
    return
  }
  let total = 0
  for (const [className, file] of files) total += await load({ client, signal }, className, file)
  printResult({ fd: alias, objects: total }, { json }, () => [
    `${numberText(total)} objects of the federated database ${alias}.`,
    examples(alias, url),
  ])
}

/** Returns the number of objects of the class afterwards. */
async function load(
  context: { readonly client: AshlarClient; readonly signal: AbortSignal },
  className: string,
  file: string,
): Promise<number> {
  const { client } = context
  const counted = await client.query<{ readonly count: number }>(`FROM ${className} RETURN COUNT(*) AS count`)
  const skip = counted[0]?.count ?? 0
  const path = fileURLToPath(new URL(`./demo/${file}`, import.meta.url))
  const mapping = className === 'Airport' ? noMapping : readMapping({ columns: ends })
  const attributesOf = async (name: string) => (await client.getClass(name)).attributes
  const references = await openReferences(client, mapping, attributesOf)
  const source = openTextRecords(textSource(path), 'csv', { columns: undefined, delimiter: undefined, nullText: '' })
  const size = statSync(path).size
  const { created } = await importRecords(
    { load: client.loadObjects.bind(client), signal: context.signal },
    {
      className,
      toAttributes: attributesBy(mapping, await attributesOf(className), references, {
        attributesOf: () => undefined,
        losses: countedLosses(),
        isUpdate: false,
      }),
      references,
      skip,
      upsertOn: undefined,
      rejects: undefined,
      skipsRejected: false,
      isDryRun: false,
      isQuiet: false,
      position: () => ({ bytesRead: source.bytesRead(), total: size }),
    },
    source.records,
  )
  return skip + created
}
