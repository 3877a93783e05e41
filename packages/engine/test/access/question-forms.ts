/** Questions about ports and trips in all forms that plans take: by indexes, links from either end, joins, groups, windows, patterns and shapes. */

/** A whole number from 0, below the one given. */
export type Random = (below: number) => number

/** The same numbers for the same seed. */
export function randomOf(seed: number): Random {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 9) % below
  }
}

export class QuestionForms {
  private readonly random: Random

  constructor(random: Random) {
    this.random = random
  }

  /** Where it ends with TAKE, its order is whole. */
  next(): string {
    return this.oneOf([...this.ofOneClass(), ...this.within(), ...this.patterns()])()
  }

  private ofOneClass(): readonly (() => string)[] {
    const { trip, port } = this
    const links = (): string => this.links()
    return [
      () => `FROM Trip WHERE ${trip()} RETURN n`,
      () => `FROM Trip WHERE ${trip()} AND ${trip()} RETURN n, destination.name AS to`,
      () => `FROM Trip WHERE ${trip()} OR ${trip()} RETURN n, day`,
      () => `FROM Fast WHERE ${trip()} RETURN n, speed`,
      () => `FROM Port WHERE ${port()} RETURN name`,
      () => `FROM Port WHERE ${port()} AND ${port()} RETURN name, COUNT(${links()}) AS c`,
      () => `FROM Port WHERE ${port()} OR ${port()} RETURN name, SUM(${links()}.n) AS s, MAX(${links()}.hour) AS m`,
      () =>
        `FROM Trip GROUP BY ${this.key()} HAVING COUNT() > ${this.random(4)} RETURN COUNT() AS c, SUM(n) AS s, MIN(hour) AS m`,
      () =>
        `FROM Trip WHERE ${trip()} GROUP BY destination.name RETURN destination.name AS name, COUNT(DISTINCT day) AS c`,
      () =>
        `FROM Trip RETURN COUNT() AS c, MIN(${this.oneOf(['n', 'day', 'hour'])}) AS a, MAX(${this.oneOf(['n', 'note'])}) AS b`,
      () => `FROM Trip WHERE ${trip()} RETURN COUNT() AS c, COUNT(destination) AS d`,
      () => `FROM Trip RETURN DISTINCT ${this.oneOf(['day', 'note', 'destination.name', 'destination.zone, day'])}`,
      () => `FROM Trip ORDER BY ${this.order()} SKIP ${this.random(5)} TAKE ${1 + this.random(9)} RETURN n`,
      () => `FROM Trip WHERE ${trip()} ORDER BY ${this.order()} TAKE ${1 + this.random(9)} RETURN n, day`,
      () => 'FROM ooObj RETURN COUNT() AS c',
      () => `FROM (LOOKUP Port WHERE name = ${this.name()}) RETURN name, COUNT(departures) AS c`,
    ]
  }

  private within(): readonly (() => string)[] {
    const { trip, port } = this
    return [
      () =>
        `FROM Port q RETURN name, (FROM Trip t WHERE t.destination = q AND t.day = ${this.random(6)} RETURN COUNT()) AS c`,
      () => `FROM Port q WHERE EXISTS(FROM Trip t WHERE t.destination = q AND t.day = ${this.random(6)}) RETURN name`,
      () => `FROM Port q, Trip t WHERE t.destination = q AND t.day = ${this.random(6)} RETURN q.name AS a, t.n AS b`,
      () => `FROM Trip t, Trip u WHERE t.n = u.hour AND u.day = ${this.random(6)} RETURN t.n AS a, u.n AS b`,
      () => `FROM Trip WHERE n IN (FROM Trip WHERE ${trip()} RETURN hour) RETURN n`,
      () => `FROM Port WHERE best IN (FROM Trip WHERE ${trip()} RETURN $$ID) RETURN name`,
      () => `FROM Trip WHERE ${trip()} RETURN n UNION FROM Port WHERE ${port()} RETURN zone`,
      () =>
        `WITH w AS (FROM Trip WHERE ${trip()} RETURN day, n) FROM w a, w b WHERE a.day = b.day AND a.n < b.n RETURN a.n AS x, b.n AS y`,
      () => `LET x = (FROM Trip WHERE ${trip()} RETURN *); FROM $x WHERE ${trip()} RETURN n`,
      () =>
        'FROM Trip RETURN n, ROW_NUMBER() OVER (PARTITION BY day ORDER BY n) AS r, SUM(n) OVER (PARTITION BY destination.name) AS s',
      () => `FROM Port RETURN name, ${this.links()}{n WHERE ${trip()} ORDER BY n TAKE ${1 + this.random(4)}} AS x`,
      () =>
        `FROM Port RETURN name, ${this.links()}{n, day ORDER BY day DESC, n TAKE 2} AS x, best{n, destination{name}} AS y`,
    ]
  }

  private patterns(): readonly (() => string)[] {
    const from = (): string => `(a:Port {name = ${this.name()}})`
    return [
      () => `MATCH ${from()}-[:departures]->(t:Trip)-[:destination]->(b:Port) RETURN t.n AS n, b.name AS b`,
      () => `MATCH (a:Port)<-[:destination]-(t:Trip {${this.trip()}}) RETURN t.n AS n, a.name AS b`,
      () =>
        `MATCH ${from()}-[:departures]->(t:Trip)-[:destination]->(b:Port)-[:departures]->(u:Trip)-[:destination]->(c:Port {zone = ${this.random(4)}})
         RETURN t.n AS n, u.n AS m`,
      () =>
        `MATCH ${from()} OPTIONAL MATCH (a)-[:${this.links()}]->(t:Trip {day = ${this.random(6)}}) RETURN a.name AS a, t.n AS n`,
      () =>
        `MATCH ANY SHORTEST ${from()}-[e:departures|destination*1..6]->(b:Port {name = ${this.name()}}) RETURN LENGTH(e) AS l`,
      () => `MATCH ANY ${from()}-[:departures|destination*1..4]->(b:Port) RETURN b.name AS b`,
    ]
  }

  private readonly trip = (): string => {
    const n = this.random(60)
    return this.oneOf([
      `n = ${n}`,
      `day = ${this.random(6)}`,
      `day = ${this.random(6)} AND hour > ${this.random(24)}`,
      `n IN (${n}, ${this.random(60)}, ${this.random(60)})`,
      `n BETWEEN ${n} AND ${n + 10}`,
      `destination.name = ${this.name()}`,
      `destination.zone = ${this.random(4)}`,
      "note LIKE 'a%'",
      "note = 'ab'",
      'IS_NULL(destination)',
      `hour = ${this.random(24)}`,
      `day > ${this.random(6)} AND note != 'b'`,
      `(n = ${n} OR day = ${this.random(6)})`,
    ])
  }

  private readonly port = (): string => {
    const links = this.links()
    return this.oneOf([
      `${links} ANY (${this.trip()})`,
      `NOT ${links} ANY (${this.trip()})`,
      `${links} ALL (${this.trip()})`,
      `COUNT(${links}) > ${this.random(12)}`,
      `COUNT(${links}[${this.trip()}]) > ${this.random(3)}`,
      `IS_EMPTY(${links})`,
      `${this.random(4)} IN ${links}.destination.zone`,
      `zone = ${this.random(4)}`,
      `name IN (${this.name()}, ${this.name()})`,
      `best.day = ${this.random(6)}`,
      'IS_VALID(best)',
      `best.destination.name = ${this.name()}`,
    ])
  }

  private links(): string {
    return this.oneOf(['departures', 'arrivals'])
  }

  private name(): string {
    return `'p${this.random(8)}'`
  }

  private key(): string {
    return this.oneOf(['day', 'destination.name', 'destination', 'hour, day', 'note'])
  }

  private order(): string {
    return this.oneOf(['n', 'day DESC, n', 'hour, n DESC', 'note, n', 'day, hour, n', 'day DESC, hour DESC, n'])
  }

  oneOf<T>(all: readonly T[]): T {
    return all[this.random(all.length)] as T
  }
}
