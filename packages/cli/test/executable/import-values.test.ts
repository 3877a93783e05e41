/** `ashlar import`: no digit, null, column or record is lost silently, whatever the format; a type that the import chooses holds all values of the file. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Ended, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { exitCodes } from '../../src/errors/exit-codes.ts'
import { parseExactly } from '../../src/output/exact-json.ts'
import { served } from './command-line.ts'

const { run } = served()

function done({ code, stdout, stderr }: Ended): string {
  expect(code, stderr).toBe(0)
  return stdout
}

let classes = 0

interface Loaded {
  readonly className: string
  readonly stderr: string
  readonly types: Readonly<Record<string, string>>
  /** Integers beyond 2^53 as bigints. */
  readonly objects: readonly Readonly<Record<string, unknown>>[]
}

/** Into a class of its own, and what is in it then. */
async function loaded(name: string, content: string, words: readonly string[] = [], mapping?: object): Promise<Loaded> {
  const directory = temporaryDirectory()
  const className = `Values${++classes}`
  writeFileSync(join(directory, name), content)
  if (mapping !== undefined) writeFileSync(join(directory, 'mapping.json'), JSON.stringify({ columns: mapping }))
  const mapped = mapping === undefined ? [] : ['--mapping', 'mapping.json']
  const ended = await run(['import', name, '--class', className, ...words, ...mapped], { directory })
  done(ended)
  return { className, stderr: ended.stderr, types: await typesOf(className), objects: await objectsOf(className) }
}

async function typesOf(className: string): Promise<Record<string, string>> {
  const [shown] = JSON.parse(done(await run(['query', `SHOW CLASS ${className}`, '--json']))) as Record<string, never>[]
  const { attributes } = (shown?.class ?? shown) as unknown as { readonly attributes: Record<string, string>[] }
  return Object.fromEntries(
    attributes.map(({ attributeName, logicalType, encoding, storage }) => {
      const special = [encoding, storage].filter((word) => ['unsigned', 'b64', 'datetimeoffset'].includes(String(word)))
      const isPlain = logicalType === 'real' || special.length === 0
      return [attributeName, isPlain ? String(logicalType) : `${logicalType} ${special.join(' ')}`]
    }),
  )
}

async function objectsOf(className: string): Promise<Record<string, unknown>[]> {
  const lines = done(await run(['export', className]))
    .trimEnd()
    .split('\n')
  return lines.map((line) => {
    const { __class__, __identifier__, ...attributes } = parseExactly(line) as Record<string, unknown>
    return attributes
  })
}

const column = (objects: Loaded['objects'], name: string): unknown[] => objects.map((one) => one[name])

test('what a record of NDJSON or JSON does not have is null, also in embedded objects and for a null of one', async () => {
  const records = [
    { id: 1, n: 5, s: 'a', f: true, x: 1.5, home: { city: 'X', at: { lat: 1 } }, all: [{ k: 1, v: 'a' }] },
    { id: 2, home: { city: 'Y' }, all: [{ k: 2 }] },
    { id: 3, home: null, all: [] },
    { id: 4 },
  ]
  const nothing = { n: null, s: null, f: null, x: null }
  const nowhere = { city: null, at: { lat: null } }
  const expected = [
    records[0],
    { id: 2, ...nothing, home: { city: 'Y', at: { lat: null } }, all: [{ k: 2, v: null }] },
    { id: 3, ...nothing, home: nowhere, all: [] },
    { id: 4, ...nothing, home: nowhere, all: [] },
  ]
  const lines = await loaded('in.ndjson', records.map((one) => JSON.stringify(one)).join('\n'))
  expect(lines.objects).toEqual(expected)
  expect((await loaded('in.json', JSON.stringify(records))).objects).toEqual(expected)
  expect(JSON.parse(done(await run(['query', `FROM ${lines.className} RETURN AVG(n) AS a`, '--json'])))).toEqual([
    { a: 5 },
  ])
})

test('into a class that is there, too; with --upsert-on what a record does not have stays as it is', async () => {
  done(await run(['query', 'UPDATE SCHEMA {CREATE CLASS There {id: Integer, n: Integer, s: String}}']))
  done(await run(['query', 'CREATE UNIQUE INDEX thereById ON There (id)']))
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'in.ndjson'), '{"id":1,"n":7}\n{"id":2,"s":"b"}\n')
  done(await run(['import', 'in.ndjson', '--class', 'There'], { directory }))
  expect(await objectsOf('There')).toEqual([
    { id: 1, n: 7, s: null },
    { id: 2, n: null, s: 'b' },
  ])
  writeFileSync(join(directory, 'in.ndjson'), '{"id":1,"s":"a"}\n')
  done(await run(['import', 'in.ndjson', '--class', 'There', '--upsert-on', 'thereById'], { directory }))
  expect((await objectsOf('There'))[0]).toEqual({ id: 1, n: 7, s: 'a' })
})

test.each([
  [
    '20 digits',
    ['12345678901234567890', '12345678901234567891'],
    'integer unsigned b64',
    [12345678901234567890n, 12345678901234567891n],
  ],
  ['22 digits', ['9400110200881234567890', '9400110200881234567891'], 'string', undefined],
  [
    'the largest of 64 bits',
    ['9223372036854775807', '18446744073709551615'],
    'integer unsigned b64',
    [9223372036854775807n, 18446744073709551615n],
  ],
  ['the least and the largest', ['-9223372036854775808', '18446744073709551615'], 'string', undefined],
  ['an integer that no double holds, beside a real', ['9007199254740993', '0.5'], 'string', undefined],
  ['more digits than a double gives back', ['0.1234567890123456789012', '1'], 'string', undefined],
  [
    '17 digits, as C writes doubles',
    ['0.10000000000000001', '0.30000000000000004'],
    'real',
    [0.1, 0.30000000000000004],
  ],
  ['beyond all doubles', ['1e400', '1'], 'string', undefined],
  ['nearer to 0 than all doubles', ['1e-400', '1'], 'string', undefined],
  [
    'numbers without a digit before or after the point',
    ['.25', '7.', '-.5', '1e3', '2E-2'],
    'real',
    [0.25, 7, -0.5, 1000, 0.02],
  ],
  ['a plus', ['+1', '2'], 'integer b64', [1, 2]],
  ['telephone numbers', ['+4915112345678', '+49301234567'], 'string', undefined],
  ['dates', ['2024-02-29', '2015/1/9'], 'date', ['2024-02-29', '2015-01-09']],
  ['dates that are none', ['2024-02-29', '2023-02-29'], 'string', undefined],
  [
    'datetimes with slashes',
    ['2015/01/01 01:00:00', '2015/01/01 13:00'],
    'datetime',
    ['2015-01-01T01:00:00', '2015-01-01T13:00:00'],
  ],
  [
    'dates and datetimes',
    ['2015-01-01', '2015-01-02T03:04:05'],
    'datetime',
    ['2015-01-01T00:00:00', '2015-01-02T03:04:05'],
  ],
  [
    'instants',
    ['2024-02-29T08:05:09Z', '2024-02-29 08:05:09+0530', '2024-02-29 08:05:09.25-08'],
    'datetime datetimeoffset',
    ['2024-02-29T08:05:09Z', '2024-02-29T08:05:09+05:30', '2024-02-29T08:05:09.25-08:00'],
  ],
  ['instants beside datetimes', ['2024-02-29T08:05:09Z', '2024-02-29T08:05:09'], 'string', undefined],
  ['times', ['6:00:00', '23:59'], 'time', ['06:00:00', '23:59:00']],
  ['times beyond a day, as in timetables', ['6:00:00', '25:10:00'], 'string', undefined],
  ['scores', ['3:45', '2:10'], 'string', undefined],
])('CSV, %s', async (_what, cells, type, values) => {
  const { types, objects } = await loaded('in.csv', `v,k\n${cells.map((cell) => `${cell},x`).join('\n')}\n`)
  expect(types.v).toBe(type)
  expect(column(objects, 'v')).toEqual(values ?? cells)
})

test('what comes after the first thousands of records counts as much: a wider number, a code, a real, a text', async () => {
  const rows = Array.from({ length: 3_000 }, (_, i) => `${i},${i},${i},2024-02-29`)
  const { types, objects } = await loaded('in.csv', `a,b,c,d\n${rows.join('\n')}\n3000000000,0123,0.5,later\n`)
  expect(types).toEqual({ a: 'integer b64', b: 'string', c: 'real', d: 'string' })
  expect(objects.at(-1)).toEqual({ a: 3_000_000_000, b: '0123', c: 0.5, d: 'later' })
  expect(objects[7]).toEqual({ a: 7, b: '7', c: 7, d: '2024-02-29' })
  const lines = rows.map((_, n) => JSON.stringify({ n, m: n }))
  const json = await loaded('in.ndjson', `${lines.join('\n')}\n{"n":2767891499,"m":"x"}\n`)
  expect(json.types).toEqual({ n: 'integer b64', m: 'string' })
  expect(json.objects.at(-1)).toEqual({ n: 2_767_891_499, m: 'x' })
})

test('standard input is read to its end as well, and nothing of it is left', async () => {
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith('ashlar-import-'))
  const input = `n\n${'1\n'.repeat(2_000)}0123\n`
  done(await run(['import', '-', '--format', 'csv', '--class', 'Piped'], { input }))
  expect((await objectsOf('Piped')).at(-1)).toEqual({ n: '0123' })
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('ashlar-import-'))).toEqual(before)
})

test('numbers of JSON keep their digits; what no list or single type holds is its JSON', async () => {
  const records = [
    '{"big":9007199254740993,"long":0.1234567890123456789012,"x":0.30000000000000004,"m":[[1,2],[3]],"l":[1,null],"o":{"a":1}}',
    '{"big":18446744073709551615,"long":1,"x":1e21,"m":[],"l":[2],"o":"text"}',
  ]
  const { types, objects, stderr } = await loaded('in.ndjson', records.join('\n'))
  expect(types).toEqual({
    big: 'integer unsigned b64',
    long: 'string',
    x: 'real',
    m: 'string',
    l: 'string',
    o: 'string',
  })
  expect(objects).toEqual([
    {
      big: 9007199254740993n,
      long: '0.1234567890123456789012',
      x: 0.30000000000000004,
      m: '[[1,2],[3]]',
      l: '[1,null]',
      o: '{"a":1}',
    },
    { big: 18446744073709551615n, long: '1', x: 1e21, m: '[]', l: '[2]', o: 'text' },
  ])
  expect(stderr).toContain('Attribute l is a string with the JSON of each value, since its arrays have nulls')
})

test('a column of mostly numbers that becomes text is told, with the first such value and its line', async () => {
  const table = 'code,Unit price,rate,paid,Größe\n01,5,1%,$5,1\n02,"1,234",2%,$6,NA\n03,7,3%,$7,3\n'
  const { types, stderr } = await loaded('in.csv', table)
  expect(types).toEqual({ code: 'string', Unit_price: 'string', rate: 'string', paid: 'string', Grosse: 'string' })
  const notes = stderr.split('\n').filter((line) => line.startsWith('Attribute '))
  expect(
    notes.map((line) =>
      /^Attribute (\w+) is a string, since no numeric type holds '(.*?)' in line (\d+)/.exec(line)?.slice(1),
    ),
  ).toEqual([
    ['Unit_price', '1,234', '3'],
    ['rate', '1%', '2'],
    ['paid', '$5', '2'],
    ['Grosse', 'NA', '3'],
  ])
  const mapping = { 'Unit price': { decimal: '.' }, Größe: { nulls: ['NA'] } }
  for (const [name, rule] of Object.entries(mapping))
    expect(stderr).toContain(JSON.stringify({ columns: { [name]: rule } }))
  const again = await loaded('in.csv', table, [], mapping)
  expect(column(again.objects, 'Unit_price')).toEqual([5, 1234, 7])
  expect(column(again.objects, 'Grosse')).toEqual([1, null, 3])
})

test('digits of a second beyond 100 µs are truncated, which is told', async () => {
  const { objects, stderr } = await loaded('in.csv', 'at,k\n2024-02-29T08:05:09.123456,a\n2024-02-29T08:05:09.1,b\n')
  expect(column(objects, 'at')).toEqual(['2024-02-29T08:05:09.1234', '2024-02-29T08:05:09.1'])
  expect(stderr).toMatch(/Attribute at: 1 value was truncated to 100 µs, such as '2024-02-29T08:05:09\.123456'/)
})

test('a type that the mapping gives takes numbers as files have them, and a value that it refuses leaves nothing', async () => {
  const { objects } = await loaded('in.csv', 'rate,n\n.097,+1\n1.,007\n', [], {
    rate: { type: 'real' },
    n: { type: 'integer' },
  })
  expect(objects).toEqual([
    { rate: 0.097, n: 1 },
    { rate: 1, n: 7 },
  ])
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'in.csv'), 'n\n1\nx\n')
  writeFileSync(join(directory, 'mapping.json'), '{"columns":{"n":{"type":"integer"}}}')
  const ended = await run(['import', 'in.csv', '--class', 'Refused', '--mapping', 'mapping.json'], { directory })
  expect(ended).toEqual({
    code: exitCodes.invalid,
    stdout: '',
    stderr:
      'ashlar: Line 3: Class Refused, attribute n: "x" is not an integer. Correct the file, or skip such records with --rejects <file>. Nothing was imported.\n',
  })
  expect((await run(['export', 'Refused'])).code).toBe(exitCodes.notFound)
})

test('names beyond ASCII become letters without marks, other characters _; where two are one, a mapping parts them', async () => {
  const { objects } = await loaded('in.csv', 'Straße,Número de orden,größe m²,Łódź,Имя\n1,2,3,4,x\n')
  expect(objects).toEqual([{ Strasse: 1, Numero_de_orden: 2, grosse_m2: 3, Lodz: 4, _: 'x' }])
  const json = await loaded('in.ndjson', '{"größe":{"länge":1}}')
  expect(json.objects).toEqual([{ grosse: { lange: 1 } }])
  const parted = await loaded('in.csv', 'unit price $,unit price %\n9,8\n', [], {
    'unit price $': 'unit_price__1',
    'unit price %': 'unit_price__2',
  })
  expect(parted.objects).toEqual([{ unit_price__1: 9, unit_price__2: 8 }])
})

test('a record that replaces the header says nothing of the types', async () => {
  const { objects } = await loaded('in.csv', 'A,B\n1,2\n', ['--columns', 'a,b', '--skip', '1'])
  expect(objects).toEqual([{ a: 1, b: 2 }])
})

test('a column that is a string because of one value is reported, whatever the type of the others', async () => {
  const rows = ['2024-01-01,true,08:00,1', '2024-02-30,no,08:10,2', '2024-01-03,false,NA,x', '2024-01-04,true,08:30,4']
  const { types, stderr } = await loaded('in.csv', `day,ok,at,n\n${rows.join('\n')}\n`)
  expect(types).toEqual({ day: 'string', ok: 'string', at: 'string', n: 'string' })
  expect(stderr.split('\n').slice(0, 4)).toEqual([
    "Attribute day is a string, since '2024-02-30' in line 3 is not a date.",
    "Attribute ok is a string, since 'no' in line 3 is not a boolean.",
    `Attribute at is a string, since 'NA' in line 4 is not a time. To import such values as null, give --mapping a file with {"columns":{"at":{"nulls":["NA"]}}}.`,
    `Attribute n is a string, since no numeric type holds 'x' in line 4 as it is written. To import numbers, give --mapping a file with {"columns":{"n":{"nulls":["x"]}}}.`,
  ])
})

test('values of types json and bytes keep their order, their digits and their bytes', async () => {
  const className = `Values${++classes}`
  const schema = `UPDATE SCHEMA { CREATE CLASS ${className} {n: Integer, j: Json, data: Bytes} }`
  done(await run(['query', schema]))
  const directory = temporaryDirectory()
  const json = ['{"2": 1.50, "1": [1e3, "x"]}', '"5"', '5.0', '12345678901234567890123']
  const lines = json.map((j, n) => `{"n":${n},"j":${j},"data":" -_8 "}`)
  writeFileSync(join(directory, 'a.ndjson'), lines.join('\n'))
  const cells = ['"{""2"": 1.50, ""1"": [1e3, ""x""]}"', 'text', '5.0', '']
  writeFileSync(join(directory, 'b.csv'), `n,j,data\n${cells.map((cell, n) => `${n + 10},${cell},AA`).join('\n')}\n`)
  for (const file of ['a.ndjson', 'b.csv']) done(await run(['import', file, '--class', className], { directory }))
  const shown = done(await run(['export', className]))
    .trimEnd()
    .split('\n')
  expect(shown.map((line) => line.slice(line.indexOf('"n":')))).toEqual([
    '"n":0,"j":{"2":1.50,"1":[1e3,"x"]},"data":"+/8="}',
    '"n":1,"j":"5","data":"+/8="}',
    '"n":2,"j":5.0,"data":"+/8="}',
    '"n":3,"j":12345678901234567890123,"data":"+/8="}',
    '"n":10,"j":{"2":1.50,"1":[1e3,"x"]},"data":"AA=="}',
    '"n":11,"j":"text","data":"AA=="}',
    '"n":12,"j":5.0,"data":"AA=="}',
    '"n":13,"j":null,"data":"AA=="}',
  ])
})

test('a cell that begins like JSON and is none is refused, by line and column', async () => {
  const className = `Own${++classes}`
  const schema = `UPDATE SCHEMA { CREATE CLASS ${className}Part EMBEDDABLE {j: Json}
    CREATE CLASS ${className} {n: Integer, j: Json, part: Object{Class: ${className}Part}} }`
  done(await run(['query', schema]))
  const directory = temporaryDirectory()
  const cells = ['{bad json', '" [1,"', '""""', '{bad} json', '-', '2024-02-29', 'true story']
  const rows = cells.map((cell, n) => `${n},${cell},`)
  writeFileSync(join(directory, 'in.csv'), `n,j,part.j\n${[...rows, '7,,{'].join('\n')}\n`)
  for (const words of [['--dry-run'], []]) {
    const { code, stderr } = await run(['import', 'in.csv', '--class', className, ...words], { directory })
    expect(code).not.toBe(0)
    expect(stderr).toContain(`Line 2: Column j: '{bad json' begins like JSON, but is none`)
  }
  done(await run(['import', 'in.csv', '--class', className, '--rejects', 'bad.ndjson'], { directory }))
  const rejected = readFileSync(join(directory, 'bad.ndjson'), 'utf8').trimEnd().split('\n')
  expect(rejected.map((line) => JSON.parse(line).line)).toEqual([2, 3, 4, 5, 9])
  expect(rejected[4]).toContain('Column part.j')
  const rest = JSON.parse(done(await run(['query', `FROM ${className} ORDER BY n RETURN j`, '--json'])))
  expect(rest.map((row: { j: unknown }) => row.j)).toEqual(['-', '2024-02-29', 'true story'])
})

const withDefaults = (own: string): string => `CREATE SEQUENCE ${own}Numbers;
  UPDATE SCHEMA {
    CREATE CLASS ${own}Place EMBEDDABLE {city: String{Default: 'Ulm'}, zip: Integer}
    CREATE CLASS ${own} {code: String, number: Integer{Required: TRUE, Default: (NEXT('${own}Numbers'))},
      state: String{Required: TRUE, Default: 'new'}, note: String{Default: 'none'}, weight: Real, twice: String = (code),
      home: Object{Class: ${own}Place}, tags: List{Element: String}}
  };
  CREATE UNIQUE INDEX ${own}ByCode ON ${own} (code)`
const given = { number: 1, state: 'new', note: 'none', weight: null, home: { city: 'Ulm', zip: null } }

test.each([
  ['in.csv', 'code\nA\n', given],
  ['in.csv', 'code,note\nA,\n', { ...given, note: null }],
  ['in.csv', 'code,home.zip\nA,7\n', { ...given, home: { city: 'Ulm', zip: 7 } }],
  ['in.csv', 'code,home.city\nA,\n', { ...given, home: { city: null, zip: null } }],
  ['in.csv', 'code,home\nA,\n', { ...given, home: { city: null, zip: null } }],
  ['in.ndjson', '{"code":"A"}\n', given],
  ['in.ndjson', '{"code":"A","note":null,"home":{"zip":1}}\n', { ...given, note: null, home: { city: 'Ulm', zip: 1 } }],
  ['in.json', '[{"code":"A","home":null}]', { ...given, home: { city: null, zip: null } }],
])(
  'what a record of %s does not have gets the default of the class, and null without one: %j',
  async (name, content, expected) => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, name), content)
    const own = `Own${++classes}`
    done(await run(['query', withDefaults(own)]))
    for (const words of [['--dry-run'], [], ['--upsert-on', `${own}ByCode`]]) {
      done(await run(['import', name, '--class', own, ...words], { directory }))
      if (words.length > 0) continue
      const query = `FROM ${own} RETURN number, state, note, weight, home, code, twice, tags`
      const [object] = JSON.parse(done(await run(['query', query, '--json'])))
      expect(object).toEqual({
        ...expected,
        code: 'A',
        twice: 'A',
        tags: [],
        home: expect.objectContaining(expected.home),
      })
    }
  },
)
