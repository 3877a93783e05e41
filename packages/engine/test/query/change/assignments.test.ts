/** SET by commas, SET of elements, and CLEAR (DO, section 5). */
import { describe, expect } from 'vitest'
import { type QueryDatabase, queryTest } from '../query-database.ts'
import { shop } from '../shop.ts'

const crew = [
  `UPDATE SCHEMA {
    CREATE CLASS Size EMBEDDABLE {name: String, widths: List{Element: Integer}}
    CREATE CLASS Task {title: String, ship: Reference{Referenced: Ship, Inverse: tasks}}
    CREATE CLASS Ship {
      name: String, number: Integer{Encoding: Unsigned, Storage: B64}, single: Real{Storage: B32}, share: Real, isNew: Boolean,
      letter: Character, code: Guid, day: Date, hour: Time, moment: DateTime, local: DateTime{Storage: DateTimeOffset},
      span: Interval, size: Object{Class: Size}, sizes: List{Element: Object{Class: Size}}, first: Reference{Referenced: Task},
      tasks: List{Element: Reference{Referenced: Task, Inverse: ship}}, plain: List{Element: Reference{Referenced: Task}},
      days: List{Element: Date}, names: List{Element: String}, flags: List{Element: Boolean},
      peers: Set{Element: Reference{Referenced: Ship}}, byName: Map{Key: String, Element: Reference{Referenced: Task}}
    }
  }`,
  `LET a = CREATE Task {title: 'a'}; LET b = CREATE Task {title: 'b'}; LET c = CREATE Task {title: 'c'};
  CREATE Ship {name: 'Ada', number: 7, single: 1.5, share: 0.5, isNew: true, letter: 'x',
    code: '00000000-0000-0000-0000-000000000001', day: 2024-02-29, hour: 08:05:09, moment: 2024-02-29 08:05:09,
    local: 2024-02-29 08:05:09 +05:30, span: INTERVAL{DAYS: 2}, size: Size{name: 'L', widths: LIST{1}},
    sizes: LIST{Size{name: 'S', widths: LIST{1, 2}}, Size{name: 'M'}, Size{name: 'L'}}, first: $a,
    tasks: LIST{$a, $b, $c}, plain: LIST{$a, $b, $a}, days: LIST{2024-01-01, 2024-01-02}, names: LIST{'k', 'l', 'm', 'n'},
    flags: LIST{true, true}, byName: MAP{'x': $a, 'y': $b}};
  UPDATE Ship ADD (LOOKUP Ship WHERE name = 'Ada') TO peers`,
]

async function shipValue(db: QueryDatabase, expression: string): Promise<unknown> {
  const [row] = await db.rows(`FROM Ship RETURN ${expression} AS found`)
  return row?.found
}

/** Each on the ship as it is at the beginning: the action, what is looked at afterwards, and what it is. */
async function expectEach(db: QueryDatabase, cases: readonly (readonly [string, string, unknown])[]): Promise<void> {
  for (const [actions, expression, wanted] of cases) {
    await db.rows(`${crew[1] as string}; UPDATE Ship ${actions}`)
    expect({ actions, found: await shipValue(db, expression) }).toEqual({ actions, found: wanted })
    await db.rows('DELETE Ship; DELETE Task')
  }
}

const schemaOnly = crew.slice(0, 1)

describe('SET by commas', () => {
  queryTest('gives each target its value, and reads what was there before', shop, async (db) => {
    await db.rows(
      "UPDATE Client WHERE name = 'Ann' SET age TO address.zip, address.zip TO age, tags[0] TO name SET name TO tags[0]",
    )
    expect(await db.rows('FROM Client WHERE age = 150 RETURN name, address.zip AS zip, tags')).toEqual([
      { name: 'a', zip: 30, tags: ['Ann', 'b', 'c'] },
    ])
    await db.rows(
      "UPDATE Client WHERE age = 150 SET tags TO LIST{'p', 'q'}, orders[total > 10].total TO 1.0, `age` TO LENGTH(tags) RETURN age, tags",
    )
    expect(await db.rows("FROM Client WHERE tags[0] = 'p' RETURN age, orders.total AS totals")).toEqual([
      { age: 3, totals: [1, 5] },
    ])
  })

  queryTest(
    'within FOR EACH and IF: a comma that no target and TO follow is one between statements',
    shop,
    async (db) => {
      await db.rows(`FOR EACH i IN LIST{1} => (
      UPDATE Client WHERE name = 'Ann' SET age TO 1, address.zip TO 2, tags[$i] TO 'z', UPDATE Client WHERE name = 'Bob' SET age TO 3,
      IF TRUE THEN (UPDATE Item WHERE title = 'pen' SET count TO 9, price TO 4.5, CREATE Item {title: 'new'})
    )`)
      expect(
        await db.rows("FROM Client WHERE name IN LIST{'Ann', 'Bob'} RETURN age, address.zip AS zip, tags[1] AS tag"),
      ).toEqual([
        { age: 1, zip: 2, tag: 'z' },
        { age: 3, zip: 0, tag: null },
      ])
      expect(await db.rows('FROM Item ORDER BY title RETURN title, price, count')).toEqual([
        { title: 'ink', price: 10, count: 3 },
        { title: 'new', price: 0, count: 0 },
        { title: 'pen', price: 4.5, count: 9 },
      ])
    },
  )

  queryTest(
    'of words of the language as names',
    ['UPDATE SCHEMA { CREATE CLASS T {show: Integer, set: Integer, to: Integer} }'],
    async (db) => {
      await db.rows('CREATE T {show: 1, set: 2, to: 3}')
      await db.rows('FOR EACH i IN LIST{1} => (UPDATE T SET to TO set, show TO to, set TO show)')
      expect(await db.rows('FROM T RETURN show, set, to')).toEqual([{ show: 3, set: 1, to: 2 }])
    },
  )

  queryTest('of a list without LIST says how it is written', shop, async (db) => {
    for (const [text, column, message] of [
      ["UPDATE Client SET tags TO 'a', 'b'", 32, 'a list of several is written LIST{…}; expected a target and TO'],
      ['UPDATE Client SET age TO 1, -2', 29, 'LIST{…}'],
      ['UPDATE Client SET orders TO (LOOKUP Order WHERE number = 1), (LOOKUP Order WHERE number = 2)', 62, 'LIST{…}'],
      ['UPDATE Client SET age TO 1, name', 29, 'LIST{…}'],
      ["IF TRUE THEN (UPDATE Client SET tags TO 'a', 'b')", 46, 'LIST{…}'],
      ['UPDATE Client SET age TO 1,', 28, 'LIST{…}'],
      ['UPDATE Client SET age TO 1, SET name TO 2', 29, 'after a comma SET is not written again'],
      ['UPDATE Client SET age = 1', 23, 'SET takes TO in the place of ='],
      ['UPDATE Client SET age TO 1, name = 2', 29, 'LIST{…}'],
    ] as const) {
      const { type, message: found, extensions } = await db.failure(text)
      expect({ text, type, line: extensions.line, column: extensions.column, found }).toEqual({
        text,
        type: 'QuerySyntaxError',
        line: 1,
        column,
        found: expect.stringContaining(message),
      })
    }
  })

  queryTest('of one target twice, or of a whole and its part, is refused', shop, async (db) => {
    for (const [actions, column, message] of [
      ['SET age TO 1, age TO 2', 29, "'age' has two values"],
      ['SET age TO 1 SET `age` TO 2', 32, 'two values'],
      ['SET age TO 1, name TO name, Shop.Client::age TO 2', 43, 'two values'],
      ['SET address.zip TO 1, address . zip TO 2', 37, 'two values'],
      ['SET tags[0] TO name, tags[ 0 ] TO name', 36, 'two values'],
      ['SET age TO 1 CLEAR age', 34, 'two values'],
      ['CLEAR tags, age, tags', 32, 'two values'],
      ['SET byYear[\'a\'] TO null, byYear["a"] TO null', 40, 'two values'],
      ['SET orders.total TO 1.0, orders.total TO 2.0', 40, 'two values'],
      ["SET address TO Address{}, address.city TO 'x'", 41, 'all of it and one for a part'],
      ["SET homes[0].city TO 'x' CLEAR homes", 46, 'all of it and one for a part'],
    ] as const) {
      const { type, message: found, extensions } = await db.failure(`UPDATE Client ${actions}`)
      expect({ actions, type, column: extensions.column, found }).toEqual({
        actions,
        type: 'QueryError',
        column,
        found: expect.stringContaining(message),
      })
    }
    await db.rows(
      "UPDATE Client WHERE name = 'Ann' SET homes[0].city TO 'A', homes[0].zip TO 1, homes[1].city TO 'B', tags[0] TO 'x', tags[1] TO 'y'",
    )
    expect(await db.rows("FROM Client WHERE name = 'Ann' RETURN homes, tags")).toEqual([
      {
        homes: [
          { city: 'A', zip: 1 },
          { city: 'B', zip: 5003 },
        ],
        tags: ['x', 'y', 'c'],
      },
    ])
  })
})

describe('SET of elements', () => {
  queryTest(
    'gives a single value to each chosen element, and changes nothing where none is chosen',
    schemaOnly,
    async (db) => {
      await expectEach(db, [
        ["SET names[1] TO 'x'", 'names', ['k', 'x', 'm', 'n']],
        ["SET names[-1] TO 'x'", 'names', ['k', 'l', 'm', 'x']],
        ["SET names[1:3] TO 'x'", 'names', ['k', 'x', 'x', 'n']],
        ["SET names[-2:] TO 'x'", 'names', ['k', 'l', 'x', 'x']],
        ["SET names[:] TO 'x'", 'names', ['x', 'x', 'x', 'x']],
        ["SET names[9] TO 'x'", 'names', ['k', 'l', 'm', 'n']],
        ["SET names[-9] TO 'x'", 'names', ['k', 'l', 'm', 'n']],
        ["SET names[2:2] TO 'x'", 'names', ['k', 'l', 'm', 'n']],
        ["SET names[3:1] TO 'x'", 'names', ['k', 'l', 'm', 'n']],
        ["SET names[7:9] TO 'x'", 'names', ['k', 'l', 'm', 'n']],
        ["SET sizes[name = 'M'] TO Size{name: 'XL'}", 'sizes.name', ['S', 'XL', 'L']],
        ["SET sizes[name = 'none'] TO Size{name: 'XL'}", 'sizes.name', ['S', 'M', 'L']],
        ["SET sizes[0:2].name TO 'XL'", 'sizes.name', ['XL', 'XL', 'L']],
        ["SET plain[title = 'a'] TO (LOOKUP Task WHERE title = 'c')", 'plain.title', ['c', 'b', 'c']],
        ['SET plain[0:2] TO null', 'plain', ['0-0-0-0', '0-0-0-0', expect.stringMatching(/^3-/)]],
        ["SET byName['z'] TO first", "byName['z'].title", 'a'],
      ])
    },
  )

  queryTest(
    'replaces a range by the elements of a list, a set or a path, also an empty range',
    schemaOnly,
    async (db) => {
      await expectEach(db, [
        ["SET names[1:3] TO LIST{'x'}", 'names', ['k', 'x', 'n']],
        ["SET names[1:3] TO LIST{'x', 'y', 'z'}", 'names', ['k', 'x', 'y', 'z', 'n']],
        ["SET names[1:1] TO LIST{'x', 'y'}", 'names', ['k', 'x', 'y', 'l', 'm', 'n']],
        ["SET names[0:0] TO LIST{'x'}", 'names', ['x', 'k', 'l', 'm', 'n']],
        ["SET names[4:] TO LIST{'x'}", 'names', ['k', 'l', 'm', 'n', 'x']],
        ["SET names[9:9] TO LIST{'x'}", 'names', ['k', 'l', 'm', 'n', 'x']],
        ['SET names[1:3] TO LIST{}', 'names', ['k', 'n']],
        ['SET names[1:3] TO sizes.name', 'names', ['k', 'S', 'M', 'L', 'n']],
        ['SET names[:] TO names[2:]', 'names', ['m', 'n']],
        ['SET plain[1:2] TO tasks', 'plain.title', ['a', 'a', 'b', 'c', 'a']],
        ["SET days[1:] TO LIST{'2024-05-05'}", 'days', ['2024-01-01', '2024-05-05']],
      ])
      await db.rows(crew[1] as string)
      await db.rows('UPDATE Ship SET names[0:2] TO $list, names[3:3] TO $one', { list: ['p'], one: 'q' })
      expect(await shipValue(db, 'names')).toEqual(['p', 'm', 'n'])
      for (const [action, message] of [
        ["SET names[0] TO LIST{'x'}", /'names\[0\]' is a string, not a list of string/],
        ["SET sizes[name = 'S'] TO LIST{Size{}}", /is an embedded Size, not a list of embedded Size/],
        ["SET plain[title = 'a'] TO tasks", /is a reference to Task, not a list/],
        ["SET names[0:1] TO MAP{'a': first}", /not a map/],
        ['SET names[0:1] TO LIST{1}', /'names\[0:1\]' is a list of string, not a list of integer/],
        ['SET names[0:1] TO 1', /an element of 'names\[0:1\]' is a string, not an integer/],
        ['SET peers[0] TO first', /a set takes a predicate/],
      ] as const) {
        const error = await db.failure(`UPDATE Ship ${action}`)
        expect({ action, type: error.type, message: error.message }).toEqual({
          action,
          type: 'QueryError',
          message: expect.stringMatching(message),
        })
      }
    },
  )

  queryTest(
    'has an object once in a paired list or a set, at its first place, and null removes',
    schemaOnly,
    async (db) => {
      const c = "(LOOKUP Task WHERE title = 'c')"
      await expectEach(db, [
        [`SET tasks[0] TO ${c}`, 'tasks.title', ['c', 'b']],
        [`SET tasks[2] TO tasks[0]`, 'tasks.title', ['a', 'b']],
        [`SET tasks[0:2] TO ${c}`, 'tasks.title', ['c']],
        ['SET tasks[1] TO null', 'tasks.title', ['a', 'c']],
        ["SET tasks[title = 'a'] TO 0-0-0-0", 'tasks.title', ['b', 'c']],
        ['SET tasks[0:2] TO LIST{tasks[2], null, tasks[2]}', 'tasks.title', ['c']],
        ['SET tasks[0:0] TO LIST{tasks[1]}', 'tasks.title', ['b', 'a', 'c']],
        ["SET peers[name = 'Ada'] TO null", 'COUNT(peers)', 0],
        ["SET peers[name = 'Ada'] TO $$ID", 'peers.name', ['Ada']],
      ])
      await db.rows(`${crew[1] as string}; UPDATE Ship SET tasks[0:2] TO ${c}`)
      expect(await db.rows('FROM Task ORDER BY title RETURN title, ship.name AS ship'), 'partners let go').toEqual([
        { title: 'a', ship: null },
        { title: 'b', ship: null },
        { title: 'c', ship: 'Ada' },
      ])
    },
  )

  queryTest('evaluates its right side once an updated object, CREATE included', schemaOnly, async (db) => {
    await expectEach(db, [
      ["SET plain[0:2] TO CREATE Task {title: 'new'}", "COUNT(plain[title = 'new']) = 2 AND plain[0] = plain[1]", true],
      ["SET plain[title = 'a'] TO CREATE Task {title: 'new'}", 'plain[0] = plain[2]', true],
      ["SET tasks[0:2] TO CREATE Task {title: 'new'}", 'tasks.title', ['new', 'c']],
      ["SET tasks[0:2] TO LIST{CREATE Task {title: 'p'}, CREATE Task {title: 'q'}}", 'tasks.title', ['p', 'q', 'c']],
      ["SET tasks.ship TO CREATE Ship {name: 'Bea'}", 'COUNT(tasks)', 0],
    ])
    for (const [action, created] of [
      ["SET plain[0:2] TO CREATE Task {title: 'new'}", 1],
      ["SET plain[9] TO CREATE Task {title: 'new'}", 0],
      ["SET plain[title = 'none'] TO CREATE Task {title: 'new'}", 0],
    ] as const) {
      await db.rows(`${crew[1] as string}; UPDATE Ship ${action}`)
      expect({ action, tasks: await db.rows("FROM Task WHERE title = 'new' RETURN COUNT() AS n") }).toEqual({
        action,
        tasks: [{ n: created }],
      })
      await db.rows('DELETE Ship; DELETE Task')
    }
    await db.rows(`${crew[1] as string}; UPDATE Ship SET tasks.ship TO CREATE Ship {name: 'Bea'}`)
    expect(await db.rows('FROM Ship ORDER BY name RETURN name, tasks.title AS tasks')).toEqual([
      { name: 'Ada', tasks: [] },
      { name: 'Bea', tasks: ['a', 'b', 'c'] },
    ])
  })

  queryTest('chooses among the elements that were there before, whatever other actions do', schemaOnly, async (db) => {
    await expectEach(db, [
      ["SET names[0:2] TO LIST{}, names[2] TO 'x'", 'names', ['x', 'n']],
      ["ADD 'o' TO names SET names[-1] TO 'x'", 'names', ['k', 'l', 'm', 'x', 'o']],
      ["REMOVE 'k' FROM names SET names[0] TO 'x' SET names[1] TO 'y'", 'names', ['y', 'm', 'n']],
      ["REMOVE names[0] FROM names SET names[1] TO 'x' REMOVE names[3] FROM names", 'names', ['x', 'm']],
      ["SET names[1:1] TO LIST{'x'}, names[1] TO 'y', names[0:1] TO 'z'", 'names', ['z', 'x', 'y', 'm', 'n']],
      ['SET tasks[0] TO tasks[1], tasks[1] TO tasks[0]', 'tasks.title', ['b', 'a', 'c']],
      ['CLEAR tasks[0] SET tasks[2] TO tasks[0]', 'tasks.title', ['b', 'a']],
      [
        "REMOVE sizes[0] FROM sizes SET sizes[name = 'L'].name TO 'XL' ADD 3 TO sizes[1].widths",
        'sizes',
        [
          { name: 'M', widths: [3] },
          { name: 'XL', widths: [] },
        ],
      ],
      ["SET names[0] TO 'n' REMOVE 'n' FROM names ADD 'n' TO names", 'names', ['l', 'm', 'n']],
    ])
  })

  queryTest('of the objects of a map through their attributes', schemaOnly, async (db) => {
    await expectEach(db, [["SET byName.title TO 'z'", 'plain.title', ['z', 'z', 'z']]])
  })
})

describe('CLEAR', () => {
  queryTest('gives the default of every type', schemaOnly, async (db) => {
    const nothing = { number: 0, single: 0, share: 0, isNew: false, letter: null, code: null, day: null, hour: null }
    const rest = { moment: null, local: null, span: null, size: { name: '', widths: [] }, sizes: [], first: '0-0-0-0' }
    const many = { tasks: [], plain: [], days: [], names: [], flags: [], peers: [], byName: {} }
    const defaults = { name: '', ...nothing, ...rest, ...many }
    await db.rows(`${crew[1] as string}; UPDATE Ship CLEAR ${Object.keys(defaults).join(', ')}`)
    const [{ __class__, __identifier__, ...found } = {}] = await db.rows('FROM Ship RETURN *')
    expect(found).toEqual(defaults)
    const [{ __identifier__: created }] = (await db.rows('CREATE Ship {}')) as [{ __identifier__: string }]
    expect((await db.rows(`FROM Ship WHERE $$ID = ${created} RETURN *`))[0]).toEqual({
      __class__: 'Ship',
      __identifier__: created,
      ...defaults,
    })
    await db.rows('UPDATE Ship SET number TO null, name TO null')
    expect(await shipValue(db, 'IS_NULL(number) AND IS_NULL(name)'), 'null is set').toBe(true)
  })

  queryTest('of elements', schemaOnly, async (db) => {
    const reference = expect.stringMatching(/^3-/)
    await expectEach(db, [
      ['CLEAR names[0]', 'names', ['', 'l', 'm', 'n']],
      ['CLEAR names[1:3]', 'names', ['k', '', '', 'n']],
      ['CLEAR names[9], names[7:9]', 'names', ['k', 'l', 'm', 'n']],
      ['CLEAR flags[:]', 'flags', [false, false]],
      ['CLEAR sizes[0]', 'sizes[0]', { name: '', widths: [] }],
      [
        "CLEAR sizes[name = 'S'].widths, sizes[1].name",
        'sizes',
        [
          { name: 'S', widths: [] },
          { name: '', widths: [] },
          { name: 'L', widths: [] },
        ],
      ],
      ['CLEAR sizes.name', 'sizes.name', ['', '', '']],
      ['CLEAR size.name', 'size', { name: '', widths: [1] }],
      ['CLEAR plain[0]', 'plain', ['0-0-0-0', reference, reference]],
      ["CLEAR plain[title = 'a']", 'plain', ['0-0-0-0', reference, '0-0-0-0']],
      ['CLEAR tasks[0]', 'tasks.title', ['b', 'c']],
      ["CLEAR tasks[title > 'a']", 'tasks.title', ['a']],
      ['CLEAR tasks[0:2]', 'tasks.title', ['c']],
      ["CLEAR byName['x']", 'byName', { x: '0-0-0-0', y: reference }],
      ["CLEAR byName['none']", 'byName', { x: reference, y: reference }],
      ['CLEAR first.title', 'first.title', ''],
    ])
    await db.rows(`${crew[1] as string}; UPDATE Ship CLEAR tasks[0:2]`)
    expect(await db.rows('FROM Task WHERE IS_NULL(ship) ORDER BY title RETURN title'), 'partners let go').toEqual([
      { title: 'a' },
      { title: 'b' },
    ])
    for (const [action, type, message] of [
      ["CLEAR peers[name = 'Ada']", 'QueryError', /the elements of a set cannot be cleared, only removed/],
      ['CLEAR days[0]', 'QueryError', /'days\[0\]' has no default that it could be cleared to, only removed/],
      ['CLEAR days[0:1]', 'QueryError', /has no default/],
      ['SET names[0:2] TO null', 'MalformedValue', /null is an element of lists of references only/],
    ] as const) {
      const error = await db.failure(`UPDATE Ship ${action}`)
      expect({ action, type: error.type, message: error.message, line: error.extensions.line }).toEqual({
        action,
        type,
        message: expect.stringMatching(message),
        line: 1,
      })
    }
  })

  queryTest(
    'makes 0 and "", which count for unique indexes; null does not',
    [...shop, 'CREATE UNIQUE INDEX byTitle ON Item (title)'],
    async (db) => {
      expect((await db.failure('UPDATE Item CLEAR title')).type).toBe('UniqueViolation')
      await db.rows('UPDATE Item SET title TO null')
      expect(await db.rows('FROM Item WHERE IS_NULL(title) RETURN COUNT() AS n')).toEqual([{ n: 2 }])
    },
  )

  queryTest('SET and CLEAR choose the same elements', schemaOnly, async (db) => {
    for (const place of ['0', '-1', '9', '-9', '0:2', '1:', ':-1', '2:1', '9:', 'null']) {
      await db.rows(`${crew[1] as string}; UPDATE Ship SET names[${place}] TO ''`)
      const set = await shipValue(db, 'names')
      await db.rows(`DELETE Ship; DELETE Task; ${crew[1] as string}; UPDATE Ship CLEAR names[${place}]`)
      expect({ place, names: await shipValue(db, 'names') }).toEqual({ place, names: set })
      await db.rows('DELETE Ship; DELETE Task')
    }
  })
})
