/** Random statements that change the objects of `access-world.ts`; each means the same in whatever order its objects are gone through. */
import fc from 'fast-check'
import { predicate as anyPredicate } from './random-query.ts'

/** Of attributes that items have. */
const predicate = anyPredicate.filter((text) => !/extra|title =|tagged/.test(text))

const item = predicate.map((where) => `(LOOKUP Item WHERE ${where})`)
const hub = fc
  .constantFrom("title = 'a'", 'IS_NULL(title)', 'COUNT(items) > 0', 'TRUE', "title != 'a'")
  .map((where) => `(LOOKUP Hub WHERE ${where})`)

/** X: an item, H: a hub. */
const ofItems = fc.constantFrom(
  'SET n TO n + 1',
  "SET name TO 'new', part.a TO 7",
  'SET n TO uni.n, name TO owner.title',
  'SET part TO uni.part',
  'SET part TO Part {a: n}',
  'CLEAR part',
  'CLEAR n, name',
  'SET uni TO X',
  'CLEAR uni',
  'SET any TO H',
  'CLEAR plain',
  'SET plain TO uni.plain',
  'SET plain TO LIST{X}',
  'REMOVE plain[0] FROM plain',
  'REMOVE X FROM plain',
  'ADD X TO plain',
  'SET plain[0] TO X',
  'SET plain[-1] TO uni',
  'SET plain[0:1] TO LIST{X}',
  'CLEAR plain[n > 0]',
  'ADD X TO bag',
  'REMOVE X FROM bag',
  'SET bag TO SET{X}',
  'CLEAR bag',
  'SET seq TO plain',
  'ADD {X, uni} TO seq',
  'REMOVE seq[1] FROM seq',
  'SET seq[0] TO X, seq[1] TO uni',
  "SET byName['a'] TO X",
  "CLEAR byName['b']",
  "REMOVE KEYS {'a', 'b'} FROM byName",
  "ADD {'c': X} TO byName",
  'CLEAR byName',
  'ADD {X: H} TO byItem',
  'REMOVE KEYS {X} FROM byItem',
  'SET tip.to TO X',
  'CLEAR tip',
  'SET tip TO uni.tip',
  'SET tip TO Tip {to: X, hub: H}',
  'ADD X TO tip.more',
  'REMOVE X FROM tip.more',
  'SET tips[0].to TO X',
  'CLEAR tips[IS_NULL(hub)].to',
  'ADD X TO tips[0].more',
  'REMOVE tips[0] FROM tips',
  'REMOVE tips[-1] FROM tips',
  'ADD Tip {to: X} TO tips',
  'ADD tip TO tips',
  'SET tips TO uni.tips',
  'SET tips[0] TO Tip {hub: H}',
  'SET tips[0:1] TO LIST{}',
  'REMOVE tip FROM tips',
  'SET extra TO 1',
)
const ofOneItem = fc.constantFrom(
  'SET left TO X',
  'CLEAR right',
  'SET spouse TO X',
  'CLEAR spouse',
  'SET owner TO H',
  'CLEAR owner, group',
  'SET group TO H',
  'ADD H TO tags',
  'REMOVE H FROM tags',
  'SET tags TO LIST{H}',
  'SET tags[0] TO H',
  'REMOVE tags[0] FROM tags',
  'CLEAR tags[0]',
  'SET liked TO SET{H}',
  'REMOVE H FROM liked',
  "SET owner.title TO 'new'",
  'SET uni.n TO 2, uni.plain TO LIST{X}',
  'ADD X TO uni.plain',
  'SET uni TO CREATE Item {n: 1, uni: X}',
  'ADD CREATE Item {part: part} TO seq',
)
const ofOneHub = fc.constantFrom(
  "SET title TO 'new'",
  'ADD X TO items',
  'REMOVE items[0] FROM items',
  'SET items TO LIST{X}',
  'SET items[0] TO X',
  'CLEAR items',
  'ADD X TO members',
  'CLEAR members',
  'SET tagged TO items',
  'REMOVE X FROM tagged',
  'ADD X TO likers',
)

const change = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(predicate, ofItems).map(([where, action]) => `UPDATE Item WHERE ${where} ${action}`),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(item, ofOneItem).map(([one, action]) => `UPDATE Item WHERE $$ID = ${one} ${action}`),
  },
  { weight: 2, arbitrary: fc.tuple(hub, ofOneHub).map(([one, action]) => `UPDATE Hub WHERE $$ID = ${one} ${action}`) },
  { weight: 2, arbitrary: predicate.map((where) => `DELETE Item WHERE ${where}`) },
  { weight: 1, arbitrary: fc.constant('DELETE Hub WHERE IS_NULL(title)') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "CREATE Item {name: 'new', n: 1, uni: X, plain: LIST{X}, part: Part {a: 3}}",
      'CREATE SubItem {extra: 1, tip: Tip {to: X, hub: H}, owner: H}',
      "CREATE Hub {title: 'new', items: LIST{X}}",
      'CREATE Item {part.a: 5, tips: X.tips, spouse: X}',
      'LET x = X; UPDATE $x SET part TO $x.part, tips TO $x.tips',
      'LET p = X.tip; UPDATE Item WHERE n = 1 SET tip TO $p',
      'FOR EACH i IN (FROM Item WHERE n > 0 RETURN *) => (UPDATE $i SET uni TO X)',
    ),
  },
)

export const statement = fc
  .tuple(change, item, hub)
  .map(([text, x, h]) => text.replaceAll(/\bX\b/g, () => x).replaceAll(/\bH\b/g, () => h))
