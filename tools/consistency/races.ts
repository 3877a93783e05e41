/**
 * Directed races: two requests at once, each of which is right alone; if both are carried out on what was there before the other, something is wrong that
 * no order of them allows.
 */
import { type Answer, type Connection, type Loose, sendUntilDone } from './connection.ts'
import { query } from './world.ts'

interface Race {
  readonly name: string
  /** Statements that prepare a round, whose number is `g`; no other has the same. */
  readonly before: (g: number) => string
  /** The text of each contender, 1 and 2. */
  readonly contend: (g: number, k: number) => string
  /** An expression of FROM … RETURN with one number, and whether that number is an anomaly. */
  readonly after: (g: number) => string
  readonly isAnomaly: (n: number) => boolean
}

const schema = `UPDATE SCHEMA {
  CREATE CLASS Race.Doctor {g: Integer, k: Integer, onCall: Integer, note: Integer}
  CREATE CLASS Race.Room {g: Integer, bookings: List{Element: Reference{Referenced: Race.Booking, Inverse: room}}}
  CREATE CLASS Race.Booking {g: Integer, start: Integer, end: Integer, room: Reference{Referenced: Race.Room, Inverse: bookings}}
  CREATE CLASS Race.Note {g: Integer, k: Integer}
};
CREATE UNIQUE INDEX raceDoctor ON Race.Doctor (g, k);
CREATE UNIQUE INDEX raceRoom ON Race.Room (g);
CREATE INDEX raceBooking ON Race.Booking (g, start);
CREATE UNIQUE INDEX raceNote ON Race.Note (g, k)`

const twoDoctors = (g: number): string =>
  [1, 2].map((k) => `CREATE Doctor {g: ${g}, k: ${k}, onCall: 1, note: 0}`).join('; ')
const onCall = (g: number): string => `FROM Doctor WHERE g = ${g} AND onCall = 1 RETURN COUNT() AS n`
const leave = (g: number, k: number): string => `UPDATE Doctor WHERE g = ${g} AND k = ${k} SET onCall TO 0`
const isNone = (n: number): boolean => n === 0

const nothing = (): string => 'SHOW 1'
const room = (g: number): string => `CREATE Room {g: ${g}}`
const bookings = (g: number): string => `FROM Booking WHERE g = ${g} RETURN COUNT() AS n`
const book = (g: number, k: number): string => `CREATE Booking {g: ${g}, start: ${k * 5}, end: ${k * 5 + 10}}`
const bookRoom = (g: number, k: number): string =>
  `CREATE Booking {g: ${g}, start: ${k}, room: (LOOKUP Room WHERE g = ${g})}`
const isTwice = (n: number): boolean => n > 1

const skew = (name: string, contend: Race['contend'], after = onCall): Race => {
  return { name, before: twoDoctors, contend, after, isAnomaly: isNone }
}
const phantom = (name: string, contend: Race['contend'], before: Race['before'] = nothing): Race => {
  return { name, before, contend, after: bookings, isAnomaly: isTwice }
}

const races: readonly Race[] = [
  skew(
    'write skew: IF COUNT of an index',
    (g, k) => `IF (FROM Doctor WHERE g = ${g} AND onCall = 1 RETURN COUNT()) > 1 THEN (${leave(g, k)})`,
  ),
  skew('write skew: LET, then IF', (g, k) => {
    return `LET n = (FROM Doctor WHERE g = ${g} AND onCall = 1 RETURN COUNT()); IF $n > 1 THEN (${leave(g, k)})`
  }),
  skew('write skew: LOOKUP of the other object', (g, k) => {
    return `LET other = (LOOKUP Doctor WHERE g = ${g} AND k = ${3 - k}); IF $other.onCall = 1 THEN (${leave(g, k)})`
  }),
  skew('write skew: UPDATE … WHERE with a COUNT', (g, k) => {
    return `UPDATE Doctor WHERE g = ${g} AND k = ${k} AND (FROM Doctor d WHERE d.g = ${g} AND d.onCall = 1 RETURN COUNT()) > 1 SET onCall TO 0`
  }),
  skew('write skew: UPDATE … WHERE EXISTS', (g, k) => {
    return `UPDATE Doctor WHERE g = ${g} AND k = ${k} AND EXISTS(FROM Doctor d WHERE d.g = ${g} AND d.k != ${k} AND d.onCall = 1) SET onCall TO 0`
  }),
  skew('write skew: DELETE … WHERE with a COUNT', (g, k) => {
    return `DELETE Doctor WHERE g = ${g} AND k = ${k} AND (FROM Doctor d WHERE d.g = ${g} RETURN COUNT()) > 1`
  }),
  skew('write skew: FOR EACH over what is found', (g, k) => {
    return `FOR EACH d IN (FROM Doctor WHERE g = ${g} AND k = ${3 - k} AND onCall = 1 RETURN k) => (${leave(g, k)})`
  }),
  {
    name: 'overdraft: SUM of two accounts',
    before: (g) => [1, 2].map((k) => `CREATE Doctor {g: ${g}, k: ${k}, onCall: 1, note: 100}`).join('; '),
    contend: (g, k) => {
      return `IF (FROM Doctor WHERE g = ${g} RETURN SUM(note)) >= 150 THEN (UPDATE Doctor WHERE g = ${g} AND k = ${k} SET note TO note - 150)`
    },
    after: (g) => `FROM Doctor WHERE g = ${g} RETURN SUM(note) AS n`,
    isAnomaly: (n) => n < 0,
  },
  phantom(
    'phantom: IF COUNT = 0, CREATE',
    (g, k) => `IF (FROM Booking WHERE g = ${g} RETURN COUNT()) = 0 THEN (${book(g, k)})`,
  ),
  phantom(
    'phantom: IF NOT EXISTS, CREATE',
    (g, k) => `IF NOT EXISTS(FROM Booking WHERE g = ${g}) THEN (${book(g, k)})`,
  ),
  phantom('phantom: LOOKUP finds none, CREATE', (g, k) => {
    return `LET b = (LOOKUP Booking WHERE g = ${g}); IF IS_NULL($b) THEN (${book(g, k)})`
  }),
  phantom('double booking: a range of an index', (g, k) => {
    const overlapping = `g = ${g} AND start < ${k * 5 + 10} AND start > ${k * 5 - 10}`
    return `IF (FROM Booking WHERE ${overlapping} RETURN COUNT()) = 0 THEN (${book(g, k)})`
  }),
  phantom('double booking: two conditions, one without an index', (g, k) => {
    const overlapping = `g = ${g} AND start < ${k * 5 + 10} AND end > ${k * 5}`
    return `IF NOT EXISTS(FROM Booking WHERE ${overlapping}) THEN (${book(g, k)})`
  }),
  phantom('phantom: a condition without an index', (g, k) => {
    return `IF NOT EXISTS(FROM Booking WHERE end = ${g * 100}) THEN (CREATE Booking {g: ${g}, start: ${k}, end: ${g * 100}})`
  }),
  phantom(
    'predicate skew: a path',
    (g, k) => `IF (FROM Booking WHERE room.g = ${g} RETURN COUNT()) = 0 THEN (${bookRoom(g, k)})`,
    room,
  ),
  phantom(
    'predicate skew: MATCH',
    (g, k) => {
      return `IF NOT EXISTS(MATCH (r:Room {g: ${g}})-[:bookings]->(b)) THEN (${bookRoom(g, k)})`
    },
    room,
  ),
  phantom(
    'predicate skew: links of an object',
    (g, k) => `LET r = (LOOKUP Room WHERE g = ${g}); IF IS_EMPTY($r.bookings) THEN (${bookRoom(g, k)})`,
    room,
  ),
  phantom(
    'predicate skew: COUNT of links',
    (g, k) => `LET n = (FROM Room WHERE g = ${g} RETURN SUM(COUNT(bookings))); IF $n = 0 THEN (${bookRoom(g, k)})`,
    room,
  ),
  {
    name: 'skew of absence: a unique key that nobody has',
    before: nothing,
    contend: (g, k) =>
      `LET other = (LOOKUP Note WHERE g = ${g} AND k = ${3 - k}); IF IS_NULL($other) THEN (CREATE Note {g: ${g}, k: ${k}})`,
    after: (g) => `FROM Note WHERE g = ${g} RETURN COUNT() AS n`,
    isAnomaly: isTwice,
  },
  {
    name: 'lost update: LET, then UPDATE',
    before: twoDoctors,
    contend: (g) =>
      `LET d = (LOOKUP Doctor WHERE g = ${g} AND k = 1); LET v = $d.note; UPDATE Doctor WHERE g = ${g} AND k = 1 SET note TO $v + 1`,
    after: (g) => `FROM Doctor WHERE g = ${g} AND k = 1 RETURN note AS n`,
    isAnomaly: (n) => n !== 2,
  },
]

export interface RaceResult {
  readonly name: string
  readonly rounds: number
  readonly anomalies: number
  /** Contenders that were refused or had no answer. */
  readonly refused: number
}

async function defineRaces(connection: Connection): Promise<void> {
  const classes = await sendUntilDone(connection, 'GET', '/v1/schema')
  if (!JSON.stringify(classes).includes('Race.Doctor')) await query(connection, schema)
}

/** Rounds of a race. Those of all races need different numbers: from `first` on. */
async function runRace(
  race: Race,
  connections: readonly [Connection, Connection],
  rounds: number,
  first: number,
): Promise<RaceResult> {
  let anomalies = 0
  let refused = 0
  for (let g = first; g < first + rounds; g++) {
    await query(connections[0], race.before(g))
    const answers = await Promise.all(connections.map((connection, i) => send(connection, race.contend(g, i + 1))))
    refused += answers.filter(({ status }) => status !== 200).length
    const [row]: Loose[] = await query(connections[0], race.after(g))
    if (race.isAnomaly(row.n)) anomalies++
  }
  return { name: race.name, rounds, anomalies, refused }
}

function send(connection: Connection, text: string): Promise<Answer> {
  return connection.send('POST', '/v1/query', { query: text })
}

/** Crossed reads in two batches: each reads what the other writes. If both have seen what was there before, neither was first. */
async function runCrossedBatches(
  connections: readonly [Connection, Connection],
  rounds: number,
  first: number,
): Promise<RaceResult> {
  let anomalies = 0
  let refused = 0
  for (let g = first; g < first + rounds; g++) {
    await query(connections[0], twoDoctors(g))
    const rows: Loose[] = await query(connections[0], `FROM Doctor WHERE g = ${g} ORDER BY k RETURN $$ID AS oid`)
    const answers = await Promise.all(
      connections.map((connection, i) =>
        connection.send('POST', '/v1/transaction', [
          { method: 'get', uri: `/v1/object/${rows[1 - i].oid}` },
          { method: 'put', uri: `/v1/object/${rows[i].oid}`, body: { attributes: { note: 7 } } },
        ]),
      ),
    )
    refused += answers.filter(({ status }) => status !== 200).length
    if (answers.every(({ status, json }) => status === 200 && json[0].result.note === 0)) anomalies++
  }
  return { name: 'crossed reads: GET and PUT in POST /v1/transaction', rounds, anomalies, refused }
}

/** All races: several at the same time, one for each pair of connections. */
export async function runRaces(
  pairs: readonly (readonly [Connection, Connection])[],
  rounds: number,
  first: number,
): Promise<RaceResult[]> {
  await defineRaces(pairs[0]![0])
  const results: RaceResult[] = []
  let next = 0
  await Promise.all(
    pairs.map(async (pair) => {
      while (next <= races.length) {
        const nth = next++
        const [race, start] = [races[nth], first + nth * rounds]
        const isLast = race === undefined
        results[nth] = await (isLast ? runCrossedBatches(pair, rounds, start) : runRace(race, pair, rounds, start))
      }
    }),
  )
  return results
}
