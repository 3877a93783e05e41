/** Words of DO that the shell completes. A test holds them against the parser. */

export const keywords = list(`
  FROM, ONLY, WHERE, GROUP BY, HAVING, ORDER BY, ASC, DESC, SKIP, TAKE, WHILE, RETURN, SELECT, AS, MATCH, WALK,
  TRAIL, ACYCLIC, SIMPLE, CREATE, UPSERT, ON, UPDATE, DELETE, SET, TO, CLEAR, ADD, REMOVE, KEYS, LOOKUP, LET,
  FOR EACH, IN, IF, THEN, ELSE, SHOW, PARAMETERS, CLASS, CLASSES, SCHEMA, IMPORT CSV, USE, FORMAT, HEADER,
  COMMIT EVERY, EXPLAIN, ANALYZE, AND, OR, XOR, NOT, TRUE, FALSE, NULL, ANY, ALL, SOME, OF, CONTAINS, LIST,
  MAP, DISTINCT, IS, BETWEEN, LIKE, ILIKE, EXISTS, CASE, WHEN, END, WITH, UNION, OVER, PARTITION BY, SHORTEST,
  OPTIONAL MATCH, INTERVAL, UNIQUE, INDEX, DROP, ALTER, RENAME, SUPERCLASS, EMBEDDABLE, ANY_EQUAL, ALL_EQUAL
`)

/** Words that begin a statement. */
export const beginnings = list(`
  FROM, SELECT, RETURN, MATCH, CREATE, UPDATE, DELETE, UPSERT, LOOKUP, LET, SHOW, FOR EACH, IF, USE,
  DROP INDEX, EXPLAIN
`)

export const functionNames = list(`
  COUNT, SUM, AVG, MIN, MAX, COLLECT, ABS, RAND, SIGN, CEILING, FLOOR, ROUND, TRUNCATE, ACOS, ASIN, ATAN,
  ATAN2, COS, SIN, TAN, PI, EXP, LOG, SQRT, IS_NAN, IS_INF, SUBSTRING, SUBSTR, UPPER, LOWER, LENGTH,
  STARTS_WITH, ENDS_WITH, TRIM, REPLACE, SPLIT, CONCAT, DATE_TRUNC, EPOCH, NOW, STDDEV, MEDIAN, PERCENTILE,
  ROW_NUMBER, RANK, DENSE_RANK, LAG, LEAD, FIRST_VALUE, LAST_VALUE, YEAR, MONTH, MONTH_NAME, DAY_OF_MONTH,
  DAY_OF_WEEK, DAY_NAME, WEEK, HOUR, MINUTE, SECOND, IS_EMPTY, IS_NULL, IS_VALID, OBJECT, CAST, COALESCE, BYTES, JSON,
  OF_EQUAL, SOME_EQUAL
`)

export const systemVariables = list('$$NOW, $$ID, $$THIS_REFERENCE, $$USER')

/** Types of attributes in schema statements. */
export const typeNames = list(`
  Boolean, Character, Integer, Real, Guid, String, Date, Time, DateTime, Interval, Bytes, Json, Reference, Object, List, Set,
  Map, Instant
`)

function list(words: string): readonly string[] {
  return words.split(',').map((word) => word.trim())
}
