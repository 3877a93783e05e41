/**
 * How soon the first row of a reply comes, and how long the whole takes: `node --import tsx bench/first-rows.ts <data folder> [federated database]`, of the flights
 * as `bench/query.ts` keeps them, on the built server. Each form is asked once to get warm and then nine times; the least and the middle time to the first row are printed, and the middle of the whole, in ms. Asks with NDJSON; the
 * reply is abandoned after so many bytes that it is known to go on.
 */
import { startChild } from './child-server.ts'
import { programOf } from './program.ts'

const [data, fd = 'flights'] = process.argv.slice(2)
if (data === undefined) throw new Error('the folder of the data is asked for')
const runs = 9

interface Asked {
  readonly firstMs: number
  readonly wholeMs: number
  readonly isWhole: boolean
}

/** A reply that is not to be taken whole. */
const endless = 4 * 2 ** 20

const forms: readonly (readonly [form: string, text: string])[] = [
  ['all objects', 'FROM Flight RETURN *'],
  ['scan with a predicate', 'FROM Flight WHERE elapsedMinutes > 100 RETURN rowId, distance'],
  ['range of an index', 'FROM Flight WHERE distance > 500 RETURN rowId, distance'],
  ['order of an index', 'FROM Flight ORDER BY rowId RETURN rowId'],
  ['path', "FROM Flight WHERE origin.country != 'Guam' RETURN rowId, origin.iata, destination.iata"],
  ['shape', 'FROM Airport RETURN iata, departures{rowId, carrier TAKE 3}'],
  ['shape of all links', 'FROM Airport RETURN iata, departures{rowId, carrier}'],
  ['subquery a row', 'FROM Airport a RETURN iata, (FROM Flight WHERE origin = a TAKE 1 RETURN rowId) AS f'],
  ['MATCH', 'MATCH (a:Airport)-[:departures]->(f:Flight) RETURN a.iata, f.rowId'],
  [
    'MATCH of two edges',
    'MATCH (a:Airport)-[:departures]->(f:Flight)-[:destination]->(b:Airport) RETURN a.iata, b.iata AS b',
  ],
  ['OPTIONAL MATCH', 'MATCH (a:Airport) OPTIONAL MATCH (a)-[:departures]->(f:Flight) RETURN a.iata, f.rowId'],
  ['MATCH ANY', "MATCH ANY (a:Airport {iata: 'GUM'})-[:routesOut|destination*1..6]->(c:Airport) RETURN c.iata"],
  ['FROM a statement', 'FROM (FROM Flight WHERE elapsedMinutes > 100 RETURN rowId, distance) AS f RETURN f.rowId'],
  ['UNION ALL', 'FROM Flight RETURN rowId, distance UNION ALL FROM Flight RETURN rowId, distance'],
  ['UNION', 'FROM Flight RETURN rowId, distance UNION FROM Flight RETURN rowId, distance'],
  ['DISTINCT', 'FROM Flight RETURN DISTINCT distance, carrier'],
  ['join by an index', 'FROM Airline a, Flight f WHERE f.airline = a RETURN a.name, f.rowId'],
  ['join by a table', 'FROM Flight f, Airport a WHERE f.distance = a.airportId RETURN f.rowId, a.iata'],
]

const server = await startChild(
  [programOf(), 'serve', '--workers', '0', '--port', '0', '--data', data, '--fd', fd, '--log-level', 'warn'],
  {},
)
try {
  for (const [form, text] of forms) {
    await ask(text)
    const asked: Asked[] = []
    for (let run = 0; run < runs; run++) {
      // What is abandoned may take until its next turn to end.
      await ask('SHOW 1')
      asked.push(await ask(text))
    }
    const first = asked.map((one) => one.firstMs)
    const whole = middle(asked.map((one) => one.wholeMs))
    const isWhole = asked.every((one) => one.isWhole)
    const columns = [
      form,
      `\`${text.replaceAll('|', '\\|')}\``,
      Math.min(...first).toFixed(1),
      middle(first),
      `${isWhole ? '' : 'more than '}${whole}`,
    ]
    process.stdout.write(`| ${columns.join(' | ')} |\n`)
  }
} finally {
  await server.stop()
}

async function ask(text: string): Promise<Asked> {
  const started = performance.now()
  const reply = await fetch(`${server.url}/v1/query`, {
    method: 'POST',
    headers: { accept: 'application/x-ndjson', 'content-type': 'text/plain', 'accept-encoding': 'identity' },
    body: text,
  })
  if (reply.status !== 200) throw new Error(`${text}: ${reply.status} ${await reply.text()}`)
  let bytes = 0
  let firstMs = 0
  for await (const chunk of reply.body as AsyncIterable<Uint8Array>) {
    if (bytes === 0) firstMs = performance.now() - started
    bytes += chunk.length
    if (bytes > endless) return { firstMs, wholeMs: performance.now() - started, isWhole: false }
  }
  return { firstMs, wholeMs: performance.now() - started, isWhole: true }
}

function middle(values: readonly number[]): string {
  return (values.toSorted((one, other) => one - other)[values.length >> 1] as number).toFixed(1)
}
