/** What newcomers write, and what they are told: each error points to its place and says what to write. */
import { expect } from 'vitest'
import { queryTest } from './query-database.ts'
import { shop } from './shop.ts'

/** « stands before the place that the error names. */
const mistakes: readonly (readonly [text: string, message: string])[] = [
  [
    'FROM Client RETURN name, (FROM Order WHERE client = «$$ID RETURN number) AS nums',
    '$$ID is the Shop.Order at hand, which is never a Shop.Client: that of the statement around it has an alias, as in FROM Client c … = c',
  ],
  ['LET p = 1; SHOW «$q', 'there is no parameter or variable $q: parameters and LET last for one request'],
  ['FROM Client WHERE age IS «3 RETURN name', "'3' does not fit here; expected NULL or NOT NULL"],
  ['FROM Client WHERE age IN («) RETURN name', "')' does not fit here: the list of IN has at least one value"],
  ['FROM Client WHERE age BETWEEN 1 «, 2 RETURN name', "',' does not fit here; expected AND"],
  ["FROM Client WHERE name LIKE «'a\\\\' RETURN name", 'a pattern of LIKE does not end with'],
  ["FROM Client WHERE «age LIKE 'a' RETURN name", 'LIKE takes texts, not an integer'],
  ["FROM Client WHERE age IN (1, «'a') RETURN name", 'the elements are of one type, not an integer and a string'],
  ["FROM Client WHERE name IN «'a' RETURN name", 'IN is followed by a collection, such as LIST{…}, not by a string'],
  ['FROM Client WHERE age = (1«, 2) RETURN name', 'several values are written LIST{…}'],
  ['FROM Client RETURN name «GROUP BY name', 'GROUP BY stands before RETURN'],
  ['FROM Client TAKE 3 RETURN name «ORDER BY name', 'ORDER BY stands before SKIP and TAKE'],
  ['FROM Client TAKE 3 RETURN name «LIMIT 3', 'LIMIT is given twice'],
  ['FROM Client ORDER BY name RETURN name «ORDER BY age', 'ORDER BY is given twice'],
  ['SHOW «25:00', '25:00 is not a time of day'],
  ['MATCH (c:Client) RETURN c.name «WHERE c.age > 1', 'WHERE stands before RETURN'],
  ['SELECT name FROM Client TAKE 1 «WHERE age > 1', 'clauses stand in the order WHERE, GROUP BY'],
  ['UPDATE Client SET age TO 3 «WHERE name = "Ann"', 'WHERE stands before SET, CLEAR, ADD and REMOVE'],
  ['UPDATE Client SET age «= 3', 'SET takes TO in the place of ='],
  ['DELETE «FROM Client WHERE age = 3', 'DELETE is followed by the class, without FROM'],
  ['FROM Client WHER «age = 3 RETURN name', "'WHER' before it is read as the alias of the source"],
  ['FROM Client AS «3 RETURN name', 'expected an alias'],
  ['FROM Client WHERE RETURN «name', "'RETURN' before it is read as a name, since a value is missing there"],
  ['UPDATE Client ADD TO «tags', "'TO' before it is read as a name"],
  ['«INSERT INTO Client (name)', 'a new object is written CREATE C {a: v}'],
  ["CREATE Client {name «= 'x'}", "expected ':', as in {a: v}"],
  ['CREATE «CLASS Foo {a: Integer}', 'UPDATE SCHEMA { CREATE CLASS C {a: Integer} }'],
  ['«ALTER CLASS Client {ADD b: Integer}', 'UPDATE SCHEMA { ALTER CLASS'],
  ['DROP «CLASS Client', 'UPDATE SCHEMA { DROP CLASS C }'],
  ['CREATE INDEX «ON Client (name)', 'an index has a name'],
  ['MATCH (c:Client)-«>(o) RETURN c', 'an edge is written -->, <-- or -[…]->'],
  ['FROM Client WHERE name = «“Ann” RETURN name', 'texts stand in \' or "'],
  ['SHOW «$$TODAY', "'$$TODAY' does not fit here; expected $$NOW, $$ID, $$THIS_REFERENCE or $$USER"],
  ['FROM «client RETURN name', "there is no class 'client'. Did you mean Client?"],
  ['LET x = 5; FROM Client WHERE age = «x RETURN name', 'Did you mean $x?'],
  ['FOR EACH c IN «Client => (SHOW 1)', 'the objects of a class are (FROM Shop.Client RETURN *)'],
  ['FROM Client WHERE «orders.total > 10 RETURN name', 'orders ANY (…) asks each element'],
  ["FROM Client WHERE «tags = 'a' RETURN name", 'v IN tags asks whether it has a value'],
  ["FROM Client WHERE «tags CONTAINS 'a' RETURN name", 'v IN c asks whether a collection has a value'],
  ["FROM Client RETURN «name || 'x'", 'texts are joined by +'],
  ["SHOW DATE_TRUNC(«'moth', NOW())", "a unit is year, quarter, month, week, day, hour, minute, second, not 'moth'"],
  ['FROM Client RETURN PERCENTILE(age, «2)', 'PERCENTILE takes a part from 0 to 1, not 2'],
  ['FROM Client RETURN PERCENTILE(age, «age)', 'the part that PERCENTILE takes is the same for all rows'],
  ['FROM Client RETURN «MEDIAN(name)', 'MEDIAN takes numbers, not a string'],
  ['FROM Client «HAVING age > 1 RETURN name', 'HAVING follows GROUP BY'],
  ['FROM Client «JOIN Order RETURN name', 'by paths, as in client.name, or by MATCH'],
  ['FROM Client, Order WHERE «foo = 1 RETURN name', "no source has a 'foo'"],
  ['FROM Client TAKE 1 «ORDER BY name RETURN name', 'ORDER BY stands before SKIP and TAKE'],
  ['FROM Client RETURN DISTINCT name ORDER BY «age', 'rows that are distinct are ordered by what RETURN has of them'],
  ['FROM Client RETURN DISTINCT «tags', 'DISTINCT takes simple values, not a list of string'],
  ['FROM Client RETURN name AS n ORDER BY «m', "class Shop.Client has no attribute 'm'"],
  ["SHOW CASE WHEN true THEN 1 ELSE «'a' END", 'CASE has values of one type, not an integer and a string'],
  ['SHOW CASE WHEN «1 THEN 1 END', 'WHEN takes true or false, not an integer'],
  ['SHOW CASE WHEN true «ELSE 1 END', "'ELSE' does not fit here; expected THEN"],
  ['SHOW CASE 1 WHEN 1 THEN 2 «;', 'expected END'],
  ['FROM Client WHERE age =«< 1 RETURN name', 'at most is written <='],
  ['FROM Client WHERE age «=> 1 RETURN name', 'at least is written >='],
  ['FROM Client WHERE age ==«= 1 RETURN name', 'there is no ===: == compares'],
  ["SHOW CAST('5' AS «Integr)", "there is no type or class 'Integr'. Did you mean Integer?"],
  ['SHOW CAST(5 AS «constructor)', "there is no class 'constructor'"],
  ['MATCH (c {«name: "Ann"}) RETURN c', 'the class of the object is not known here'],
  ['UPDATE SCHEMA «CREATE CLASS Foo {a: Date}', 'changes of classes stand in braces: UPDATE SCHEMA { … }'],
  ['UPDATE SCHEMA { CREATE CLASS Foo «EXTENDS Client {a: Date} }', 'CREATE CLASS C SUPERCLASS B {…}'],
  ['UPDATE SCHEMA { CREATE CLASS Foo {a: Integer{«constructor: B8}} }', "a type has no setting 'constructor'"],
  ['UPDATE SCHEMA { CREATE CLASS Foo {a: «Int} }', "there is no type 'Int'; there are Boolean, "],
  ['UPDATE SCHEMA { CREATE CLASS Foo {a: «Intger} }', "there is no type 'Intger'. Did you mean Integer?"],
  ['UPDATE SCHEMA { CREATE CLASS Foo {a: List{Element: «Foo}} }', 'Reference{Referenced: Foo}'],
  ['UPDATE SCHEMA { CREATE CLASS Foo {a: «List} }', 'Class Foo, attribute a: Element is needed'],
  [
    'UPDATE SCHEMA { CREATE CLASS Foo {a: «Reference} }',
    'Class Foo, attribute a: Referenced is needed for a reference',
  ],
  ['UPDATE SCHEMA { CREATE CLASS Foo {a: Set{Element: «String}} }', 'the type has to be reference'],
  ['UPDATE SCHEMA { ALTER CLASS Client {ADD a: «String{Storage: Fixed}} }', 'FixedLength'],
  ['UPDATE SCHEMA { ALTER CLASS Client {RENAME name TO nm, ADD a: «List} }', 'Element is needed'],
  ['UPDATE SCHEMA { CREATE CLASS Foo {a: «Client} }', 'Reference{Referenced: Client}'],
  [
    'UPDATE SCHEMA { CREATE CLASS Foo {a: Reference{«Class: Client}} }',
    "Reference has no setting 'Class'; it has Referenced, Inverse",
  ],
  ['UPDATE SCHEMA { CREATE CLASS Foo {a: Date{«Storage: B8}} }', "Date has no setting 'Storage'"],
]

queryTest('newcomers are told what to write', shop, async (db) => {
  for (const [marked, wanted] of mistakes) {
    const text = marked.replace('«', '')
    const { message, extensions, errors } = await db.failure(text)
    const { column, line } = extensions
    expect({ text, column, line, message, places: errors.map(({ place }) => place) }).toEqual({
      text,
      column: marked.indexOf('«') + 1,
      line: 1,
      message: expect.stringContaining(wanted),
      places: [['query']],
    })
  }
})

queryTest(
  'words of other languages are names all the same',
  [
    'UPDATE SCHEMA { CREATE CLASS T {like: Integer, is: Integer, between: Integer, insert: Integer} }; CREATE T {like: 1, is: 2}',
  ],
  async (db) => {
    expect(await db.rows('FROM T WHERE like = 1 AND is = 2 AND between < 1 ORDER BY insert RETURN like, is')).toEqual([
      { like: 1, is: 2 },
    ])
  },
)
