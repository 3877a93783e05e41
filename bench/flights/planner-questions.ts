/** Questions whose cost is told by what a plan touches, and the least that one has to touch with the indexes and inverses of `flights-schema.ts`. */

export interface PlannerQuestion {
  readonly question: string
  readonly text: string
  /** A number, or statements that count what has to be touched: their answers are added up. */
  readonly least: number | readonly string[]
}

const allFlights = ['FROM Flight RETURN COUNT() AS n']
const allAirports = ['FROM Airport RETURN COUNT() AS n']

function counted(condition: string, source = 'Flight'): string {
  return `FROM ${source} WHERE ${condition} RETURN COUNT() AS n`
}

export const plannerQuestions: readonly PlannerQuestion[] = [
  {
    question: 'a page behind a unique key',
    text: 'FROM Flight WHERE rowId > 50000 ORDER BY rowId TAKE 10 RETURN *',
    least: 10,
  },
  {
    question: 'the same of a key that is not unique',
    text: 'FROM Flight WHERE distance > 500 ORDER BY distance TAKE 10 RETURN *',
    least: 10,
  },
  {
    question: 'the same of two attributes',
    text: 'FROM Flight WHERE date >= 2012-01-09 ORDER BY date, carrier TAKE 10 RETURN *',
    least: 10,
  },
  {
    question: 'the first of a range, in no order',
    text: 'FROM Flight WHERE rowId > 50000 TAKE 10 RETURN *',
    least: 10,
  },
  {
    question: 'the first in an order that has few of those asked for',
    text: "FROM Flight WHERE carrier = 'HA' AND elapsedMinutes < 30 ORDER BY distance DESC TAKE 10 RETURN *",
    least: allFlights,
  },
  {
    question: 'two ends of a path, and an order that an index has',
    text: "FROM Flight WHERE origin.iata = 'ANC' AND destination.iata = 'SEA' ORDER BY distance DESC TAKE 5 RETURN rowId",
    least: [counted("origin.iata = 'ANC'")],
  },
  {
    question: 'one end, and an order that an index has',
    text: "FROM Flight WHERE origin.iata = 'HNL' ORDER BY rowId DESC TAKE 5 RETURN rowId",
    least: [counted("origin.iata = 'HNL'")],
  },
  {
    question: 'a path to an end that no index has',
    text: "FROM Flight WHERE origin.city = 'Honolulu' RETURN rowId",
    least: [...allAirports, counted("origin.city = 'Honolulu'")],
  },
  {
    question: 'the same of few',
    text: "FROM Flight WHERE origin.country = 'Guam' RETURN rowId",
    least: [...allAirports, counted("origin.country = 'Guam'")],
  },
  {
    question: 'the end of a pattern with few edges',
    text: "MATCH (a:Airport {iata = 'HNL'})<-[:destination]-(f:Flight)<-[:departures]-(b:Airport {iata = 'GUM'}) RETURN f.rowId",
    least: [counted("origin.iata = 'GUM'")],
  },
  {
    question: 'the same, written the other way round',
    text: "MATCH (b:Airport {iata = 'GUM'})-[:departures]->(f:Flight)-[:destination]->(a:Airport {iata = 'HNL'}) RETURN f.rowId",
    least: [counted("origin.iata = 'GUM'")],
  },
  {
    question: 'a join by value, by MATCH',
    text: 'MATCH (f:Flight {rowId = 7}), (g:Flight) WHERE g.distance = f.distance RETURN g.rowId',
    least: [counted('distance = (LOOKUP Flight WHERE rowId = 7).distance')],
  },
  {
    question: 'a join by value, by FROM',
    text: 'FROM Flight f, Flight g WHERE f.rowId = 7 AND g.distance = f.distance RETURN g.rowId',
    least: [counted('distance = (LOOKUP Flight WHERE rowId = 7).distance')],
  },
  {
    question: 'connections of two flights on a day',
    text: "MATCH (a:Airport {iata = 'LAX'})-[:departures]->(f:Flight {date = 2012-01-02})-[:destination]->(h:Airport)-[:departures]->(g:Flight {date = 2012-01-02})-[:destination]->(z:Airport {iata = 'JFK'}) RETURN COUNT()",
    least: [counted("origin.iata = 'LAX'"), counted("destination.iata = 'JFK'")],
  },
  {
    question: 'where an element of a collection is one',
    text: 'FROM Airport WHERE departures ANY (rowId = 500) RETURN iata',
    least: 2,
  },
  {
    question: 'an order of more than the index has',
    text: 'FROM Flight ORDER BY date, carrier, rowId TAKE 5 RETURN rowId',
    least: [counted("date = 2012-01-01 AND carrier = 'AA'")],
  },
  {
    question: 'an order in both directions',
    text: 'FROM Flight ORDER BY date DESC, carrier TAKE 5 RETURN rowId',
    least: [counted('date = (FROM Flight RETURN MAX(date))')],
  },
  { question: 'MIN by an index', text: 'FROM Flight RETURN MIN(distance)', least: 1 },
  { question: 'MIN and MAX by an index', text: 'FROM Flight RETURN MIN(date), MAX(date)', least: 2 },
  {
    question: 'COUNT of a day',
    text: 'FROM Flight WHERE date = 2012-01-02 RETURN COUNT()',
    least: [counted('date = 2012-01-02')],
  },
  { question: 'COUNT of a range', text: 'FROM Flight WHERE distance > 0 RETURN COUNT()', least: allFlights },
  { question: 'COUNT of a class', text: 'FROM Flight RETURN COUNT()', least: allFlights },
  {
    question: 'groups by an indexed attribute',
    text: 'FROM Flight GROUP BY date RETURN date, COUNT()',
    least: allFlights,
  },
  { question: 'groups by another', text: 'FROM Flight GROUP BY distance RETURN distance, COUNT()', least: allFlights },
  { question: 'the number of links of each', text: 'FROM Airport RETURN COUNT(departures)', least: allFlights },
  {
    question: 'those that have any',
    text: 'FROM Airport WHERE NOT IS_EMPTY(departures) RETURN iata',
    least: allAirports,
  },
  {
    question: 'the same, asked by COUNT',
    text: 'FROM Airport WHERE COUNT(departures) > 0 RETURN iata',
    least: allAirports,
  },
  {
    question: 'those that have many',
    text: 'FROM Airport WHERE COUNT(departures) > 3000 RETURN iata',
    least: allFlights,
  },
  {
    question: 'those that have the most',
    text: 'FROM Airport ORDER BY COUNT(departures) DESC TAKE 5 RETURN iata, COUNT(departures)',
    least: allFlights,
  },
  {
    question: 'a range and equality on the next attribute',
    text: "FROM Flight WHERE date >= 2012-01-01 AND date <= 2012-01-03 AND carrier = 'HA' RETURN rowId",
    least: [counted("date >= 2012-01-01 AND date <= 2012-01-03 AND carrier = 'HA'")],
  },
  { question: 'behind many rows', text: 'FROM Flight ORDER BY rowId SKIP 90000 TAKE 5 RETURN *', least: 90_005 },
  {
    question: 'NOT of a comparison',
    text: 'FROM Flight WHERE NOT (distance > 31) RETURN rowId',
    least: [counted('distance <= 31')],
  },
  {
    question: 'a calculation compared',
    text: 'FROM Flight WHERE distance + 1 = 32 RETURN rowId',
    least: [counted('distance = 31')],
  },
  {
    question: 'the beginning of a regular expression',
    text: "FROM Airport WHERE iata =~ '^LA' RETURN iata",
    least: [counted("iata LIKE 'LA%'", 'Airport')],
  },
  {
    question: 'the beginning of a text',
    text: "FROM Airport WHERE SUBSTR(iata, 0, 2) = 'LA' RETURN iata",
    least: [counted("iata LIKE 'LA%'", 'Airport')],
  },
]
