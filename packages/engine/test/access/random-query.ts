/** Random queries over the objects of `access-world.ts`. */
import fc from 'fast-check'

const atoms = [
  'n > 0',
  'n = 1',
  'NOT n = 1',
  "name = 'a'",
  "name >= 'ab'",
  'IS_NULL(name)',
  'IS_NULL(uni)',
  'IS_VALID(uni)',
  'uni.n > 0',
  'uni.uni.name = name',
  "owner.title = 'a'",
  'IS_NULL(owner)',
  'COUNT(plain) > 1',
  'COUNT(bag) = 1',
  'COUNT(tags) >= 1',
  'IS_EMPTY(liked)',
  'plain ANY (n > 0)',
  'seq ALL (n < 2)',
  'tagged ANY (n = 1)',
  'part.a = 1',
  "IS_NULL(byName['a'])",
  'tip.to.n > 0',
  'IS_NULL(tip.hub)',
  'COUNT(tip.more) > 0',
  'tips ANY (IS_NULL(to))',
  'COUNT(byItem) > 0',
  'spouse.left.n = 1',
  'owner.items.n ANY_EQUAL 1',
  'COUNT(group.members) > 1',
  'extra > 0',
  'title = $$USER.name',
  '$$USER.name IN LIST{name}',
  'IS_NULL(any)',
  "name LIKE 'a%'",
  "owner.title NOT ILIKE '_'",
  'n BETWEEN 0 AND uni.n',
  'n IN (1, uni.n)',
  'uni IS NOT NULL',
  'EXISTS(plain)',
  'EXISTS(owner.items)',
] as const
export const predicate = fc.oneof(
  fc.constantFrom(...atoms),
  fc
    .tuple(fc.constantFrom(...atoms), fc.constantFrom('AND', 'OR'), fc.constantFrom(...atoms))
    .map((parts) => parts.join(' ')),
)

const places = fc.constantFrom('Item', 'SubItem', 'Hub', 'ooObj')
export const query = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(places, predicate).map(([cls, where]) => `FROM ${cls} WHERE ${where} RETURN *`) },
  {
    weight: 3,
    arbitrary: predicate.map(
      (where) => `FROM Item WHERE ${where} RETURN $$ID AS id, n, uni, uni.n AS m, owner.title AS t`,
    ),
  },
  {
    weight: 3,
    arbitrary: predicate.map(
      (where) => `FROM Item WHERE ${where} RETURN COUNT() AS c, SUM(n) AS s, MIN(name) AS least`,
    ),
  },
  {
    weight: 2,
    arbitrary: predicate.map((where) => `FROM Item WHERE ${where} ORDER BY n, $$ID TAKE 3 RETURN $$ID AS id, n`),
  },
  { weight: 1, arbitrary: predicate.map((where) => `FROM Item i WHERE i.n > 0 AND (${where}) RETURN i, i.uni.n AS m`) },
  {
    weight: 3,
    arbitrary: fc.tuple(predicate, fc.constantFrom('EXISTS', 'NOT EXISTS')).map(([where, exists]) => {
      return `FROM Item i WHERE ${exists}(FROM Item WHERE uni = i AND (${where})) ORDER BY $$ID RETURN i, n`
    }),
  },
  {
    weight: 2,
    arbitrary: predicate.map(
      (where) =>
        `FROM Hub h ORDER BY h RETURN h, (FROM Item i WHERE owner = h AND (${where}) ORDER BY i RETURN i, n) AS own, (LOOKUP Item i WHERE i.owner = h){*} AS first`,
    ),
  },
  {
    weight: 2,
    arbitrary: predicate.map((where) => {
      return `FROM Item a, (FROM Item WHERE ${where} RETURN *) AS b WHERE b.n = a.n ORDER BY a, b RETURN a, b`
    }),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(predicate, fc.constantFrom('UNION', 'UNION ALL')).map(([where, word]) => {
      return `FROM Item WHERE ${where} RETURN $$ID AS id, n ${word} FROM Hub RETURN $$ID, COUNT(items) ORDER BY id, n`
    }),
  },
  { weight: 2, arbitrary: predicate.map((where) => `LOOKUP Item WHERE ${where}`) },
  { weight: 2, arbitrary: predicate.map((where) => `FROM (FROM Item WHERE ${where} RETURN owner) RETURN *`) },
  {
    weight: 2,
    arbitrary: predicate.map(
      (where) => `LET x = (LOOKUP Item WHERE ${where}); SHOW LIST{$x.n, COUNT($x.plain), $x.uni.n}`,
    ),
  },
  { weight: 1, arbitrary: predicate.map((where) => `SHOW COUNT((FROM Item WHERE ${where} RETURN n))`) },
  { weight: 1, arbitrary: predicate.map((where) => `EXPLAIN FROM Nothing WHERE ${where} RETURN *`) },
  {
    weight: 12,
    arbitrary: fc.constantFrom(
      'FROM Item RETURN COUNT() AS c',
      'FROM Hub RETURN COUNT() AS c',
      'FROM ooObj RETURN COUNT() AS c',
      'FROM ooObj RETURN *',
      'FROM Item GROUP BY owner RETURN owner, COUNT() AS c',
      'FROM Item GROUP BY n ORDER BY n RETURN n, COUNT() AS c, COLLECT(name) AS names',
      'FROM Hub RETURN title, COUNT(items) AS c, items.n AS n, tagged.n AS t, likers AS l, members',
      'FROM Hub RETURN items[0].n AS first, items[-1] AS last, tagged[0:2] AS some',
      'FROM Item RETURN plain, bag, seq, byName, tip, tips, byItem, any',
      'FROM Item RETURN uni, left, right, spouse, owner, group',
      'FROM Item RETURN DISTINCT uni, n',
      'FROM Item ORDER BY $$ID RETURN *, uni.n AS added, COUNT(plain) AS plains',
      'FROM Item ORDER BY $$ID RETURN $$ID AS id, RANK() OVER (PARTITION BY owner ORDER BY n) AS r, COUNT() OVER (PARTITION BY uni) AS c',
      'FROM Item ORDER BY $$ID RETURN $$ID AS id, LAG(name) OVER (ORDER BY n, $$ID) AS before, SUM(uni.n) OVER () AS s',
      'FROM Item RETURN MEDIAN(n) AS m, PERCENTILE(n, 0.9) AS p, STDDEV(uni.n) AS d',
      'FROM Hub RETURN MEDIAN(items.n) AS m, CONCAT(title, COUNT(items)) AS c',
      'FROM Item RETURN DISTINCT owner.title AS t ORDER BY t',
      'FROM Hub RETURN COUNT(DISTINCT items.n) AS n, COUNT(DISTINCT likers) AS l',
      'FROM Item GROUP BY owner.title HAVING c > 0 ORDER BY c, t RETURN owner.title AS t, COUNT() AS c, COUNT(DISTINCT uni) AS d',
      'FROM Item RETURN $$ID AS id, CASE WHEN IS_NULL(uni) THEN 0 WHEN uni.n = n THEN 1 ELSE COUNT(plain) END AS c',
      'FROM Item RETURN OBJECT(uni) AS u, OBJECT(plain) AS p',
      'FROM Item ORDER BY $$ID RETURN $$ID AS id, uni{*}, plain{n, name, owner{title}}, bag{$$ID AS id ORDER BY n, $$ID TAKE 2} AS two',
      'FROM Hub h RETURN title, items{*, h.title AS of, uni{n} AS u WHERE n > 0}, tagged{n, tip{to{*}}, tips{more{title}}} AS t',
      'FROM Item RETURN byName{n, left{n}, right{n}}, part{a}, any{*}, spouse{*, 1 AS one}, byItem{*}',
      'MATCH (a:Item)-->(b:Hub) ORDER BY a, b RETURN a{n, owner{*}}, b{items{n ORDER BY n, $$ID SKIP 1}}',
      'FROM Item ORDER BY uni, n, $$ID RETURN $$ID AS id',
      'FROM Item ORDER BY owner, name, $$ID TAKE 4 RETURN $$ID AS id',
      'MATCH (a:Item)-[:uni]->(b) RETURN a, b',
      'MATCH p = ANY SHORTEST (a:Item)-[*1..4]->(b:Item) RETURN a, b, LENGTH(p) AS l ORDER BY a, b',
      'MATCH ANY (a:Hub)-[*1..3]-(b) RETURN a, b ORDER BY a, b',
      'MATCH (a:Item) OPTIONAL MATCH (a)-[:uni]->(b {n > 0}) OPTIONAL MATCH (b)<--(c:Hub) RETURN a, b, c ORDER BY a, b, c',
      'WITH own AS (FROM Item GROUP BY owner RETURN owner AS o, COUNT() AS c) FROM Hub h, own WHERE own.o = h ORDER BY h RETURN h, c',
      'FROM Item a, Item b WHERE a.n = b.n AND a != b ORDER BY a, b RETURN a, b, b.owner.title AS t',
      'FROM Item a, Item b WHERE a.uni = b ORDER BY a, b RETURN *',
      'FROM Item i, Hub h WHERE i.name = h.title ORDER BY i, h RETURN i{n, owner{*}}, h',
      'FROM Hub h, (FROM Item GROUP BY owner RETURN owner AS o, COUNT() AS c) AS s WHERE s.o = h ORDER BY h RETURN h, s.c',
      'FROM (FROM Item RETURN n, uni, owner) AS r WHERE r.n > 0 ORDER BY r.n, r.uni, r.owner RETURN *',
      'FROM Item i WHERE EXISTS(MATCH (a)-[:plain]->(b) WHERE b = i) ORDER BY i RETURN i',
      'FROM Hub h WHERE NOT EXISTS(FROM h.items WHERE n > 0) ORDER BY h RETURN h, (FROM h.tagged t RETURN COUNT()) AS c',
      'FROM Hub WHERE items ANY (n = 1) ORDER BY $$ID RETURN $$ID AS id, title',
      "FROM Hub WHERE items ANY (n = 1 AND name = 'a') OR items ANY (n = 2) ORDER BY $$ID RETURN $$ID AS id",
      "FROM Hub WHERE NOT items ANY (n = 1) AND title = 'a' ORDER BY $$ID RETURN $$ID AS id, COUNT(items) AS c",
      'FROM (FROM Item WHERE n > 0 RETURN COLLECT(n) AS l) AS r RETURN COUNT(r.l) AS c, SUM(r.l) AS s',
      'LET l = (FROM Item WHERE n > 0 RETURN COLLECT(n)); FROM Item WHERE n IN $l ORDER BY $$ID RETURN $$ID AS id',
      'MATCH (a:Item)-->(b:Item) RETURN a, b',
      'MATCH (h:Hub)<--(x:Item) RETURN h, x',
      'MATCH (a:Item)-->(b:Item)-->(c) RETURN COUNT() AS c',
      'MATCH w = (a:Item {n: 1})-[*1..3]-(b:Hub) RETURN w.attribute AS by, w.to AS to',
      'MATCH (a:Item)<-[:plain]-(b:Item)-[:tags]->(h) RETURN a, b, h',
      'MATCH (a)-[e]->(b:Hub) WHERE a != b RETURN e.attribute AS by, b',
      "MATCH w = (a:Item {n: 1})-[:owner|items|group|members*1..4]->(b:Hub {title: 'a'}) RETURN a, b, COUNT(w) AS l ORDER BY a, b, l",
      'MATCH w = WALK (a:Hub)-[:items|owner|members|group*1..4]->(b:Item {n: 1}) RETURN a, b, COUNT(w) AS l ORDER BY a, b, l',
      'MATCH p = ALL SHORTEST (a:Item {n: 1})-[:owner|items|tags|tagged*1..6]->(b:Item {n: 2}) RETURN a, b, LENGTH(p) AS l ORDER BY a, b, l',
      'MATCH p = ANY SHORTEST (a:Item {n: 0})-[:uni|owner|items*1..4]-(b:Item {n: 1}) RETURN a, b, LENGTH(p) AS l ORDER BY a, b, l',
      "MATCH (a:Item {n: 1})-[:owner]->(h:Hub)-[:items]->(b:Item {name: 'a'}) RETURN a, h, b ORDER BY a, h, b",
      'SHOW CLASS Item',
      'SHOW CLASSES',
    ),
  },
)
