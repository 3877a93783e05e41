/** Hints for words of SQL, Cypher, EdgeQL and SurrealQL: their equivalents in DO. */

/** A sentence, or its beginning and the DO statement that completes it. */
export type Hint = string | readonly [says: string, write: string]

export function hintText(hint: Hint): string {
  return typeof hint === 'string' ? hint : hint.join(' ')
}

export const newObject: Hint = ['a new object is written', 'CREATE C {a: v}']
const deletion: Hint = ['objects are deleted by', 'DELETE C WHERE a = v']
const oneTransaction: Hint = 'the statements of one text are one transaction'
const join: Hint = [
  'linked objects are reached by paths, as in client.name, or by MATCH; objects with equal values by',
  'FROM C c, D d WHERE c.a = d.b RETURN c.a, d.b',
]
const upsert: Hint = ['an object is created or changed by', 'UPSERT C {a: v} ON (a)']
const order: Hint = 'an order is ASC or DESC'

/** LEFT JOIN, RIGHT JOIN, FULL JOIN. */
export const outerJoin: Hint = [
  'to keep rows without a partner, write',
  'MATCH (a:C) OPTIONAL MATCH (a)-[:links]->(b) RETURN a, b',
]

/** Hints at any position. None of the words may be an alias without AS. */
export const hintsOfWords = {
  INSERT: newObject,
  ALTER: ['classes are changed by', 'UPDATE SCHEMA { ALTER CLASS C {ADD a: Integer} }'],
  HAVING: 'HAVING follows GROUP BY',
  JOIN: join,
  INNER: join,
  EXTENDS: 'a superclass is written CREATE CLASS C SUPERCLASS B {…}',
  RENAME: ['classes are renamed by', 'UPDATE SCHEMA { RENAME CLASS C TO D }'],
  MERGE: upsert,
  DESCRIBE: ['a class is shown by', 'SHOW CLASS C'],
  BEGIN: oneTransaction,
  COMMIT: oneTransaction,
  FETCH: 'the first rows are asked for by TAKE n',
  ASCENDING: order,
  DESCENDING: order,
  NULLS: 'nulls are last where the order is ASC, and first where it is DESC',
  SHORTESTPATH: ['a shortest path is written', 'MATCH p = ANY SHORTEST (a:C)-[*]->(b:D) RETURN p'],
  SELECT: 'after FROM, columns are asked for by RETURN',
  DELETE: deletion,
  OVER: 'OVER is followed by parentheses, as in OVER (ORDER BY a)',
} satisfies Readonly<Record<string, Hint>>

/** Hints at the beginning of a statement, where the words cannot be names. */
export const hintsAtBeginning: Readonly<Record<string, Hint>> = {
  CALL: ['there are no procedures; classes are shown by', 'SHOW CLASSES'],
  DEFINE: ['classes are made by', 'UPDATE SCHEMA { CREATE CLASS C {a: Integer} }'],
  DETACH: deletion,
  FOREACH: ['a loop is written', 'FOR EACH x IN LIST{1, 2} => (CREATE C {a: $x})'],
  LIVE: 'a live query is a statement FROM … that is asked for with Accept: text/event-stream',
  LOAD: ['files are read by', "LET rows = IMPORT CSV 'file.csv' USE HEADER"],
  OPTIONAL: ['OPTIONAL MATCH follows MATCH:', 'MATCH (a:C) OPTIONAL MATCH (a)-[:links]->(b) RETURN a, b'],
  RELATE: ['links are values of attributes:', 'UPDATE C WHERE a = v ADD (LOOKUP D WHERE b = w) TO links'],
  REMOVE: deletion,
  SET: ['a variable is set by', 'LET x = 5'],
  TRUNCATE: ['all objects of a class are deleted by', 'DELETE C'],
  UNWIND: ['to get a row for each element, write', 'FROM (LIST{1, 2}) AS x RETURN x'],
}

/** Hints after the patterns of MATCH, where RETURN is expected. */
export const hintsInMatch: Readonly<Record<string, Hint>> = {
  CALL: ['to continue with these rows, make them a source:', 'FROM (MATCH (a:C) RETURN a) AS x RETURN x.a'],
  CREATE: newObject,
  DETACH: deletion,
  MATCH: ['patterns of one MATCH are separated by commas:', 'MATCH (a:C), (a)-[:links]->(b) RETURN b'],
  REMOVE: ['attributes are cleared by', 'UPDATE C WHERE a = v CLEAR b'],
  SET: ['MATCH changes nothing; objects are changed by', 'UPDATE C WHERE a = v SET b TO w'],
  UNWIND: ['links are followed by an edge:', 'MATCH (a:C)-[:links]->(x) RETURN x'],
  WITH: [
    'to continue with these rows, make them a source:',
    'FROM (MATCH (a:C)-[:links]->(b) GROUP BY a RETURN a, COUNT() AS n) AS x WHERE x.n > 2 RETURN x.a, x.n',
  ],
}

/** `WHERE (a)-[…]->()`: must be in EXISTS, with a vertex of another name. */
export const patternAsCondition: Hint = [
  'a pattern as a condition is written in EXISTS, and starts at a vertex with another name:',
  'MATCH (a:C) WHERE NOT EXISTS(MATCH (x)-[:links]->() WHERE x = a) RETURN a',
]

/** Within the brackets of an edge. */
export const conditionOnEdge: Hint = [
  'conditions on an edge object are written in WHERE:',
  'MATCH (a:C)-[e:links]->(b) WHERE e.x = 5 RETURN b',
]

/** Within the parentheses of an aggregate. */
export const orderInAggregate: Hint = [
  'aggregates have no ORDER BY; for an ordered list, write a statement:',
  'FROM D d RETURN (FROM C c WHERE c.d = d ORDER BY c.a RETURN c.b) AS list',
]

/** `x IS C`, `x:C`. */
export const classTest: Hint = [
  'to test the class of an object, write',
  'FROM ooObj x WHERE CAST(x AS C) IS NOT NULL RETURN x',
]

export const percentile: Hint = ['a percentile is written', 'FROM C RETURN PERCENTILE(a, 0.5)']

/** Within OVER (…). */
export const noFrames: Hint =
  'there are no frames: with ORDER BY, a window goes from the first row of the partition to the current one and its equals'

export const noRecursion: Hint = [
  'WITH is not recursive; to follow several edges, write',
  'MATCH ANY (a:C)-[:links*1..8]->(b) RETURN b',
]

export const upsertBy: Hint = ['UPSERT names the attributes of a unique index:', 'UPSERT C {a: v} ON (a)']
