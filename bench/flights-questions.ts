/** What people ask of the flights data, in the query language. */

export const flightsQuestions: readonly { readonly question: string; readonly text: string }[] = [
  {
    question: 'flights JFK → LAX',
    text: "FROM Flight WHERE origin.iata = 'JFK' AND destination.iata = 'LAX' RETURN COUNT() AS n",
  },
  {
    question: 'AA flights of a day',
    text: "FROM Flight WHERE carrier = 'AA' AND date = 2012/01/02 RETURN COUNT() AS n",
  },
  {
    question: 'ten busiest airports, from the airports',
    text: 'FROM Airport ORDER BY COUNT(departures) DESC TAKE 10 RETURN iata, COUNT(departures) AS n',
  },
  {
    question: 'ten busiest airports, from the flights',
    text: 'FROM Flight GROUP BY origin.iata ORDER BY COUNT() DESC TAKE 10 RETURN origin.iata, COUNT() AS n',
  },
  {
    question: 'average distance by carrier',
    text: 'FROM Flight GROUP BY carrier ORDER BY carrier RETURN carrier, AVG(distance) AS miles',
  },
  {
    question: 'airports within two flights of ACV',
    text: `MATCH (a:Airport {iata: 'ACV'})<-[:origin]-(:Flight)-[:destination]->(b)<-[:origin]-(:Flight)-[:destination]->(c)
           GROUP BY c.iata ORDER BY c.iata RETURN c.iata, COUNT() AS ways`,
  },
  {
    question: 'the longest flight of each carrier',
    text: `FROM Flight GROUP BY carrier ORDER BY MAX(distance) DESC RETURN carrier, MAX(distance) AS miles`,
  },
  {
    question: 'walks of up to 4 edges from ACV to MFR',
    text: "MATCH p = (a:Airport {iata: 'ACV'})-[*1..4]->(b:Airport {iata: 'MFR'}) RETURN p",
  },
  { question: 'how many flights', text: 'FROM Flight RETURN COUNT() AS n' },
  {
    question: 'the first flights by date',
    text: 'FROM Flight ORDER BY date TAKE 10 RETURN date, carrier, flightNumber',
  },
]
