/** The output of `\help`: the syntax in docs/query-language.md, with which a test compares it. */

const clauses = [
  'FROM source [[AS] alias], … [WHERE e] [GROUP BY e, … [HAVING e]] [ORDER BY e [ASC | DESC], …]',
  '            [SKIP e | SKIP WHILE e] [TAKE e | TAKE WHILE e] RETURN [DISTINCT] (* | e [AS name], …)',
  'FROM source … RETURN … [ORDER BY …] [SKIP …] [TAKE …]',
  '(RETURN | SELECT) [DISTINCT] (* | e [AS name], …) FROM source … the same clauses',
]
const actions = [
  'action = SET target TO e, target TO e, … | CLEAR target, …',
  '       | ADD (e | {e, …} | {k: v, …}) TO collection',
  '       | REMOVE (e | {e, …} | collection[i] | KEYS {e, …}) FROM collection',
]
const schema = [
  "UPDATE SCHEMA { CREATE CLASS c [SUPERCLASS c] [EMBEDDABLE] [ABSTRACT] [WITH { property: v, … }] { a: type, …, CHECK name: expression [MESSAGE 'text'], … }",
  '                ALTER CLASS c { (ADD a: type | RENAME a TO b | DROP a | ALTER a {constraint, …} | SET {field: value, …}',
  "                                | ADD CHECK name: expression [MESSAGE 'text'] | DROP CHECK name), … }",
  '                RENAME CLASS c TO c',
  '                DROP CLASS c  … }',
]
const indexes = ['CREATE [UNIQUE] INDEX name ON Class (attribute, …)', 'DROP INDEX name']
const sequences = [
  'CREATE SEQUENCE name [START n] [STEP n]',
  'ALTER SEQUENCE name RESTART n',
  'DROP SEQUENCE name',
  "NEXT('name')                                           in SHOW, LET, values of CREATE, UPSERT, SET, and defaults",
]

export const helpTopics: Readonly<Record<string, readonly string[]>> = {
  FROM: clauses,
  SELECT: clauses,
  RETURN: clauses,
  MATCH: [
    'MATCH [paths] [mode] pattern, … [WHERE e] [OPTIONAL MATCH pattern, … [WHERE e]]… [GROUP BY …] [ORDER BY …] [SKIP …] [TAKE …] RETURN [DISTINCT] (* | e [AS name], …)',
    'pattern = [name =] [paths] [mode] [PATH | PATHS] vertex (edge vertex)…',
    'paths   = ANY | ANY SHORTEST | ALL SHORTEST | SHORTEST n',
    'mode    = WALK | TRAIL | ACYCLIC | SIMPLE',
    'vertex  = ( [name] [:Class] [{predicate} | {attribute: e, …}] )',
    'edge    = --> | <-- | -- | -[ body ]-> | <-[ body ]- | -[ body ]-',
    'body    = [name] [:attribute|…] [* | *n | *m..n | *..n | *m..]',
  ],
  CREATE: ['CREATE Class { [target: e, …] }', ...indexes.slice(0, 1), ...sequences.slice(0, 1), ...schema.slice(0, 1)],
  UPSERT: ['UPSERT Class { [target: e, …] } ON (attribute, …)'],
  UPDATE: [
    'UPDATE source [WHERE e] [ORDER BY …] [SKIP n] [TAKE n] action… [GROUP BY …] [ORDER BY …] [RETURN …]',
    ...actions,
    ...schema,
  ],
  DELETE: ['DELETE source [WHERE e] [ORDER BY …] [SKIP n] [TAKE n] [GROUP BY …] [RETURN …]'],
  LOOKUP: ['LOOKUP source WHERE e                                  the match with the lowest OID, or null'],
  LET: ['LET name = (e | statement)'],
  'FOR EACH': ['FOR EACH name IN e => ( statement, … )                 commas or semicolons between them'],
  IF: ['IF e THEN ( statement, … ) [ELSE ( … )]'],
  SHOW: ['SHOW e | SHOW PARAMETERS | SHOW CLASS c | SHOW CLASSES | SHOW SCHEMA | SHOW SEQUENCES'],
  IMPORT: ["IMPORT CSV 'file' [USE HEADER] [COMMIT EVERY n]        what LET or FOR EACH go through"],
  USE: ["USE (Date | Time | DateTime) FORMAT 'dd.MM.yyyy'"],
  SCHEMA: schema,
  INDEX: indexes,
  SEQUENCE: sequences,
}
