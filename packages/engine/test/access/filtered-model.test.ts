/** A caller who sees some of the objects finds what everybody finds in a database that has those alone, whatever way a plan takes (contract 9.4). */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { runs } from '../bytes/property-runs.ts'
import { rowTexts } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { on, rowsOf, user } from './access-notes.ts'
import { QuestionForms, type Random, randomOf } from './question-forms.ts'

const setUp = `UPDATE SCHEMA {
  CREATE CLASS Port {name: String, zone: Integer, size: Real, best: Reference{Referenced: Trip},
    departures: List{Element: Reference{Referenced: Trip, Inverse: origin}},
    arrivals: Set{Element: Reference{Referenced: Trip, Inverse: destination}}}
  CREATE CLASS Trip {n: Integer, day: Integer, hour: Integer, note: String,
    origin: Reference{Referenced: Port, Inverse: departures}, destination: Reference{Referenced: Port, Inverse: arrivals}}
  CREATE CLASS Fast SUPERCLASS Trip {speed: Integer}
};
CREATE UNIQUE INDEX portByName ON Port (name); CREATE INDEX portByZone ON Port (zone, name);
CREATE INDEX tripByDay ON Trip (day, hour); CREATE INDEX tripByNumber ON Trip (n); CREATE INDEX tripByNote ON Trip (note)`

const zones = 4
const ports = [0, 1, 2, 3, 4, 5, 6, 7]

interface Trip {
  readonly n: number
  readonly day: number
  readonly hour: number
  readonly note: string
  readonly isFast: boolean
  readonly from: number | null
  readonly to: number | null
}

/** The first ports have most of the trips, and some trips no port. */
function tripsOf(random: Random, { oneOf }: Pick<QuestionForms, 'oneOf'>): Trip[] {
  const port = (): number | null => (random(9) === 0 ? null : random(10) < 7 ? random(3) : random(ports.length))
  return Array.from({ length: 40 + random(160) }, (_, n) => ({
    n,
    day: random(6),
    hour: random(24),
    note: oneOf(['a', 'ab', 'abc', 'b', 'c']),
    isFast: random(5) === 0,
    from: port(),
    to: port(),
  }))
}

/** What is seen, in DO and here. */
const tripRules: readonly (readonly [rule: string, sees: (trip: Trip) => boolean])[] = [
  ['day != 2', ({ day }) => day !== 2],
  ['hour < 14', ({ hour }) => hour < 14],
  ['n % 3 != 0', ({ n }) => n % 3 !== 0],
  ["note LIKE 'a%'", ({ note }) => note.startsWith('a')],
  ['n > 30 AND day IN (0, 1, 3)', ({ n, day }) => n > 30 && [0, 1, 3].includes(day)],
  ['destination.zone != 1', ({ to }) => to !== null && to % zones !== 1],
  ['n >= 0', () => true],
]
const portRules: readonly (readonly [rule: string, sees: (port: number, trips: readonly Trip[]) => boolean])[] = [
  ['zone >= 0', () => true],
  ['zone != 1', (port) => port % zones !== 1],
  ["name != 'p0'", (port) => port !== 0],
  ['size < 9', (port) => port * 1.5 < 9],
  ['COUNT(departures) > 20', (port, trips) => trips.filter(({ from }) => from === port).length > 20],
]

async function build(trips: readonly Trip[], some: readonly number[]): Promise<FederatedDatabase> {
  const fd = await FederatedDatabase.open({ alias: 'trips', store: await openStoreOfRun() })
  await rowTexts(await fd.query({ text: setUp }))
  const values = some.map((port) => ({ name: `p${port}`, zone: port % zones, size: port * 1.5 }))
  const oids = await fd.createObjects(values.map((attributes) => ({ class: 'Port', attributes })))
  const oidOf = (port: number | null): string | null => oids[some.indexOf(port ?? -1)] ?? null
  const made = await fd.createObjects(
    trips.map(({ from, to, isFast, ...attributes }) => {
      const links = { origin: oidOf(from), destination: oidOf(to) }
      const more = isFast ? { speed: attributes.n % 7 } : {}
      return { class: isFast ? 'Fast' : 'Trip', attributes: { ...attributes, ...links, ...more } }
    }),
  )
  for (const [i, port] of some.entries()) {
    const best = made[trips.findIndex(({ n }) => n === port * 3)]
    if (best !== undefined) await fd.updateObject(oids[i] as string, { best })
  }
  return fd
}

it('a caller finds what is found where there is nothing but what it sees', async () => {
  const seeds = fc.integer({ min: 1, max: 2 ** 30 })
  const isSame = async (seed: number): Promise<void> => {
    const random = randomOf(seed)
    const forms = new QuestionForms(random)
    const oneOf = <T>(all: readonly T[]): T => forms.oneOf(all)
    const trips = tripsOf(random, { oneOf })
    const [[ofTrip, sees], [ofPort, has]] = [oneOf(tripRules), oneOf(portRules)]
    const all = await build(trips, ports)
    const seenPorts = ports.filter((port) => has(port, trips))
    const portOf = (port: number | null): number | null => (seenPorts.includes(port ?? -1) ? port : null)
    const seen = trips.filter(sees).map((trip) => ({ ...trip, from: portOf(trip.from), to: portOf(trip.to) }))
    const alone = await build(seen, seenPorts)
    const caller = all.as({
      user,
      grants: [on('Trip', { rules: { read: ofTrip } }), on('Port', { rules: { read: ofPort } })],
    })
    for (let asked = 0; asked < 60; asked++) {
      const text = forms.next()
      const found = async (database: typeof caller): Promise<string[]> => {
        const rows = (await rowsOf(database, text)).map((row) => JSON.stringify(row))
        return / TAKE \d+ RETURN/.test(text) ? rows : rows.sort()
      }
      const expected = await found(alone)
      expect({ text, ofTrip, ofPort, rows: await found(caller) }).toEqual({ text, ofTrip, ofPort, rows: expected })
    }
    await all.close()
    await alone.close()
  }
  await fc.assert(fc.asyncProperty(seeds, isSame), runs(16))
})
