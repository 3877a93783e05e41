/** Questions to the flights in both languages, whose CPU time is compared. */

export interface Question {
  readonly question: string
  readonly text: string
  readonly sql: string
}

export const questions: readonly Question[] = [
  {
    question: 'COUNT by the second attribute of an index',
    text: "FROM Flight WHERE carrier = 'AA' RETURN COUNT() AS n",
    sql: "SELECT COUNT(*) AS n FROM flight WHERE carrier = 'AA'",
  },
  {
    question: 'SUM and AVG of all',
    text: 'FROM Flight RETURN SUM(distance) AS n, AVG(elapsedMinutes) AS mean',
    sql: 'SELECT SUM(distance) AS n, AVG(elapsedMinutes) AS mean FROM flight',
  },
  {
    question: 'GROUP BY carrier',
    text: 'FROM Flight GROUP BY carrier RETURN carrier, COUNT() AS n, AVG(distance) AS miles',
    sql: 'SELECT carrier, COUNT(*) AS n, AVG(distance) AS miles FROM flight GROUP BY carrier',
  },
  {
    question: 'GROUP BY date, carrier',
    text: 'FROM Flight GROUP BY date, carrier RETURN date, carrier, COUNT() AS n',
    sql: 'SELECT date, carrier, COUNT(*) AS n FROM flight GROUP BY date, carrier',
  },
  {
    question: 'GROUP BY origin.iata, top 10',
    text: 'FROM Flight GROUP BY origin.iata ORDER BY COUNT() DESC TAKE 10 RETURN origin.iata AS iata, COUNT() AS n',
    sql: 'SELECT a.iata, COUNT(*) AS n FROM flight f JOIN airport a ON a.id = f.origin GROUP BY a.iata ORDER BY n DESC LIMIT 10',
  },
  {
    question: 'GROUP BY origin.iata, destination.iata, top 10',
    text: 'FROM Flight GROUP BY origin.iata, destination.iata ORDER BY COUNT() DESC TAKE 10 RETURN origin.iata AS a, destination.iata AS b, COUNT() AS n',
    sql: `SELECT a.iata, b.iata, COUNT(*) AS n FROM flight f JOIN airport a ON a.id = f.origin JOIN airport b ON b.id = f.destination
          GROUP BY a.iata, b.iata ORDER BY n DESC LIMIT 10`,
  },
  {
    question: 'two path filters, not indexed',
    text: "FROM Flight WHERE origin.city = 'Honolulu' AND destination.city = 'Los Angeles' RETURN COUNT() AS n",
    sql: `SELECT COUNT(*) AS n FROM flight f JOIN airport a ON a.id = f.origin JOIN airport b ON b.id = f.destination
          WHERE a.city = 'Honolulu' AND b.city = 'Los Angeles'`,
  },
  {
    question: 'top 10 by an attribute without index',
    text: 'FROM Flight ORDER BY elapsedMinutes DESC TAKE 10 RETURN rowId, elapsedMinutes',
    sql: 'SELECT rowId, elapsedMinutes FROM flight ORDER BY elapsedMinutes DESC LIMIT 10',
  },
  {
    question: 'a pattern and a time, scanned',
    text: "FROM Flight WHERE carrier =~ '[AD]' AND departure >= 20:00 AND elapsedMinutes > 0 RETURN COUNT() AS n",
    sql: "SELECT COUNT(*) AS n FROM flight WHERE carrier GLOB '*[AD]*' AND departure >= '20:00' AND elapsedMinutes > 0",
  },
  {
    question: 'GROUP BY HOUR(departure), MAX(a - b)',
    text: 'FROM Flight GROUP BY HOUR(departure) RETURN HOUR(departure) AS hour, MAX(elapsedMinutes - airMinutes) AS most',
    sql: 'SELECT substr(departure, 1, 2) AS hour, MAX(elapsedMinutes - airMinutes) AS most FROM flight GROUP BY hour',
  },
  {
    question: 'a day by an index, COUNT and SUM',
    text: 'FROM Flight WHERE date = 2012-01-02 RETURN COUNT() AS n, SUM(distance) AS miles',
    sql: "SELECT COUNT(*) AS n, SUM(distance) AS miles FROM flight WHERE date = '2012-01-02'",
  },
  {
    question: 'LAX to SFO over links',
    text: "FROM Flight WHERE origin.iata = 'LAX' AND destination.iata = 'SFO' RETURN COUNT() AS n",
    sql: `SELECT COUNT(*) AS n FROM flight f JOIN airport a ON a.id = f.origin JOIN airport b ON b.id = f.destination
          WHERE a.iata = 'LAX' AND b.iata = 'SFO'`,
  },
  {
    question: 'COUNT(departures), top 5',
    text: 'FROM Airport ORDER BY COUNT(departures) DESC TAKE 5 RETURN iata, COUNT(departures) AS n',
    sql: 'SELECT iata, (SELECT COUNT(*) FROM flight f WHERE f.origin = a.id) AS n FROM airport a ORDER BY n DESC LIMIT 5',
  },
  {
    question: 'MATCH from HNL to destinations, grouped',
    text: "MATCH (a:Airport {iata: 'HNL'})-[:departures]->(f)-[:destination]->(b) GROUP BY b.iata ORDER BY COUNT() DESC, b.iata RETURN b.iata AS iata, COUNT() AS n",
    sql: `SELECT b.iata, COUNT(*) AS n FROM airport a JOIN flight f ON f.origin = a.id JOIN airport b ON b.id = f.destination
          WHERE a.iata = 'HNL' GROUP BY b.iata ORDER BY n DESC, b.iata`,
  },
  {
    question: 'MATCH of two routes from GUM, grouped',
    text: "MATCH (a:Airport {iata: 'GUM'})-[:routesOut]->(r)-[:destination]->(b)-[:routesOut]->(s)-[:destination]->(c) WHERE c.iata != 'GUM' GROUP BY c.iata RETURN c.iata AS iata, COUNT() AS n",
    sql: `SELECT c.iata, COUNT(*) AS n FROM airport a JOIN route r ON r.source = a.id JOIN route s ON s.source = r.destination
          JOIN airport c ON c.id = s.destination WHERE a.iata = 'GUM' AND c.iata != 'GUM' GROUP BY c.iata`,
  },
  {
    question: 'all within three routes of GUM, each once',
    text: "MATCH ANY (a:Airport {iata: 'GUM'})-[:routesOut|destination*1..6]->(c:Airport) RETURN COUNT() AS n",
    sql: `WITH RECURSIVE reached(id, hops) AS (SELECT id, 0 FROM airport WHERE iata = 'GUM'
          UNION SELECT r.destination, hops + 1 FROM reached JOIN route r ON r.source = reached.id WHERE hops < 3 AND r.destination IS NOT NULL)
          SELECT COUNT(DISTINCT id) - 1 AS n FROM reached`,
  },
  {
    question: 'one flight by its unique key',
    text: 'FROM Flight WHERE rowId = 5000 RETURN *',
    sql: 'SELECT * FROM flight WHERE rowId = 5000',
  },
  {
    question: 'a key and three paths',
    text: 'FROM Flight WHERE rowId = 5000 RETURN rowId, origin.iata AS a, destination.iata AS b, airline.name AS by',
    sql: `SELECT f.rowId, a.iata, b.iata, l.name FROM flight f JOIN airport a ON a.id = f.origin JOIN airport b ON b.id = f.destination
          LEFT JOIN airline l ON l.id = f.airline WHERE f.rowId = 5000`,
  },
  {
    question: 'top 10 by an index',
    text: 'FROM Flight ORDER BY distance DESC TAKE 10 RETURN rowId, distance',
    sql: 'SELECT rowId, distance FROM flight ORDER BY distance DESC LIMIT 10',
  },
  {
    question: 'date and carrier, the first 10',
    text: "FROM Flight WHERE date = 2012-01-02 AND carrier = 'AA' TAKE 10 RETURN rowId",
    sql: "SELECT rowId FROM flight WHERE date = '2012-01-02' AND carrier = 'AA' LIMIT 10",
  },
  {
    question: 'either of two indexes, the first 10',
    text: 'FROM Flight WHERE rowId = 5000 OR distance = 2475 TAKE 10 RETURN rowId',
    sql: 'SELECT rowId FROM flight WHERE rowId = 5000 OR distance = 2475 LIMIT 10',
  },
  {
    question: 'a page behind a key',
    text: 'FROM Flight WHERE rowId > 90000 ORDER BY rowId TAKE 10 RETURN rowId, date',
    sql: 'SELECT rowId, date FROM flight WHERE rowId > 90000 ORDER BY rowId LIMIT 10',
  },
  {
    question: 'departures of GUM',
    text: "FROM Flight WHERE origin.iata = 'GUM' RETURN COUNT() AS n",
    sql: "SELECT COUNT(*) AS n FROM flight f JOIN airport a ON a.id = f.origin WHERE a.iata = 'GUM'",
  },
  {
    question: 'MATCH of one edge from a key',
    text: 'MATCH (f:Flight {rowId: 5000})-[:destination]->(b) RETURN b.iata AS iata',
    sql: 'SELECT b.iata FROM flight f JOIN airport b ON b.id = f.destination WHERE f.rowId = 5000',
  },
]
