/** `ashlar import --mapping`: references by unique keys, types, dates and numbers as others write them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Ended, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { exitCodes } from '../../src/errors/exit-codes.ts'
import { served } from './command-line.ts'

const { run } = served()

function done({ code, stdout, stderr }: Ended): string {
  expect(code, stderr).toBe(0)
  return stdout
}

const rows = async (query: string) => JSON.parse(done(await run(['query', query, '--json'])))

async function imported(className: string, name: string, content: string, columns: object, words: string[] = []) {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, name), content)
  writeFileSync(join(directory, 'mapping.json'), JSON.stringify({ columns }))
  return run(['import', name, '--class', className, '--mapping', 'mapping.json', ...words], { directory })
}

test('a class to refer to, with its unique key', async () => {
  const schema = `UPDATE SCHEMA {
    CREATE CLASS Port { code: String, flights: List{Element: Reference{Referenced: Flight, Inverse: origin}} }
    CREATE CLASS Flight { carrier: String, number: Integer, day: Date, stops: List{Element: Reference{Referenced: Port}},
      origin: Reference{Referenced: Port, Inverse: flights}, destination: Reference{Referenced: Port} } };
    CREATE UNIQUE INDEX portByCode ON Port (code);
    CREATE UNIQUE INDEX flightByNumber ON Flight (carrier, number, day)`
  done(await run(['query', schema]))
  done(await imported('Port', 'in.csv', 'code\nGUM\nHNL\nSFO\n', {}))
})

const flightColumns = {
  From: { attribute: 'origin', reference: 'portByCode' },
  To: { attribute: 'destination', nulls: ['-'], reference: 'portByCode' },
  Via: { attribute: 'stops', separator: '|', reference: 'portByCode' },
  Carrier: 'carrier',
  No: 'number',
  On: { attribute: 'day', format: 'dd/MM/yyyy' },
}

test('references by a unique key, lists of them, and dates of another format', async () => {
  const lines = ['Carrier,No,On,From,To,Via', 'UA,1,31/12/2023,GUM,HNL,', 'UA,2,01/01/2024,HNL,-,SFO | GUM', '']
  const told = done(await imported('Flight', 'in.csv', lines.join('\n'), flightColumns))
  expect(told).toBe('2 created, 0 updated, 0 rejected.\n')
  expect(
    await rows(
      'FROM Flight ORDER BY number RETURN number, day, origin.code AS o, destination.code AS d, stops{code} AS via',
    ),
  ).toEqual([
    { number: 1, day: '2023-12-31', o: 'GUM', d: 'HNL', via: [] },
    { number: 2, day: '2024-01-01', o: 'HNL', d: null, via: [{ code: 'SFO' }, { code: 'GUM' }] },
  ])
  expect(await rows("FROM Port WHERE code = 'GUM' RETURN COUNT(flights) AS n")).toEqual([{ n: 1 }])
})

test('a class that is made refers to the class of the index; keys of several attributes, of any type', async () => {
  const columns = {
    Flight: {
      attribute: 'flight',
      reference: { index: 'flightByNumber', key: { carrier: 'Airline', number: 'Flight', day: 'Day' } },
    },
    Airline: null,
    Day: { attribute: null },
    Paid: { attribute: 'price', decimal: ',' },
    Code: { type: 'string' },
  }
  const lines = [
    'Airline;Flight;Day;Paid;Code',
    'UA;1;2023-12-31;1.234,5;7',
    'UA;1;2024-01-01;1;8',
    'UA;;2024-01-01;,25;9',
    'UA;2;2024-01-01;1.23,4;10',
    '',
  ]
  const words = ['--delimiter', ';', '--rejects', 'bad.ndjson', '--json']
  const ended = await imported('Booking', 'in.csv', lines.join('\n'), columns, words)
  expect(JSON.parse(done(ended))).toEqual({ created: 2, updated: 0, rejected: 2 })
  expect(await rows('FROM Booking ORDER BY price RETURN flight.number AS no, price, Code')).toEqual([
    { no: null, price: 0.25, Code: '9' },
    { no: 1, price: 1234.5, Code: '7' },
  ])
  const [attribute] = await rows('SHOW CLASS Booking')
  expect(JSON.stringify(attribute)).toMatch(/"referencedClass":"Flight"/)
})

test('what is not there ends the import with its line, and nothing of it is lost', async () => {
  const text = 'Carrier,No,On,From,To,Via\nUA,3,01/01/2024,GUM,-,\nUA,4,01/01/2024,XXX,-,\n'
  const ended = await imported('Flight', 'in.csv', text, flightColumns)
  expect(ended.code).toBe(exitCodes.invalid)
  expect(ended.stderr).toMatch(
    /^ashlar: Line 3: Column From: there is no Port with code = 'XXX'\. .* At least 1 record is done/,
  )
  const date = await imported(
    'Flight',
    'in.csv',
    text.replace('XXX', 'GUM').replaceAll('01/01', '31/02'),
    flightColumns,
  )
  expect(date.stderr).toMatch(/^ashlar: Line 2: Column On: '31\/02\/2024' is not of the format dd\/MM\/yyyy\./)
  const tried = await imported('Flight', 'in.csv', text, flightColumns, ['--dry-run'])
  expect(tried.code).toBe(ended.code)
  expect(tried.stderr).toMatch(
    /^ashlar: Line 3: Column From: there is no Port .* This was a dry run: nothing was imported\.\n$/,
  )
  const planned = await imported('Flight', 'in.csv', text.replace('XXX', 'GUM'), flightColumns, ['--dry-run', '--json'])
  expect(JSON.parse(done(planned)).objects.slice(0, 1)).toEqual([
    {
      carrier: 'UA',
      number: 3,
      day: '2024-01-01',
      origin: expect.stringMatching(/^\d+-/),
      destination: null,
      stops: null,
    },
  ])
})

test('instants: with an offset, in a time zone, and as seconds', async () => {
  const columns = {
    a: { format: 'dd LLL yyyy HH:mm ZZ' },
    b: { format: 'M/d/yyyy h:mm a', zone: 'America/New_York' },
    c: { format: 'epoch-seconds' },
    d: { format: 'HHmm' },
    e: { format: 'yyyyMMddHHmm' },
  }
  const line = '1,"03 Feb 2024 04:05 +02:00",2/3/2024 4:05 PM,1700000000.5,0930,202402030405'
  done(await imported('Moment', 'in.csv', `k,a,b,c,d,e\n${line}\n`, columns))
  expect(await rows('FROM Moment RETURN a, b, c, d, e')).toEqual([
    {
      a: '2024-02-03T02:05:00Z',
      b: '2024-02-03T21:05:00Z',
      c: '2023-11-14T22:13:20.5Z',
      d: '09:30:00',
      e: '2024-02-03T04:05:00',
    },
  ])
})

test.each([
  [{ a: { format: 'zz?' } }, "Column a of the mapping: 'zz?' is not a date format."],
  [{ a: { format: 'HH:mm', zone: 'Mars' } }, "Column a of the mapping: 'Mars' is not a time zone."],
  [{ a: { format: 'HH:mm', decimal: ',' } }, 'Column a of the mapping: format is for dates and decimal for numbers'],
  [{ a: { decimal: ';' } }, "Column a of the mapping: decimal is ',' or '.'."],
  [{ a: { separator: '' } }, 'Column a of the mapping: separator must be a string.'],
  [{ a: { type: 7 } }, 'type of Column a of the mapping is not a JSON object.'],
  [
    { a: { reference: { index: 'portByCode' } } },
    'key of the reference of Column a of the mapping is not a JSON object.',
  ],
  [{ a: { reference: 'flightByNumber' } }, 'whose key is carrier, number, day: .number. has no column'],
  [{ a: { reference: 'nope' } }, "There is no index 'nope'."],
  [{ a: '__proto__.b' }, "Column a of the mapping: '__proto__.b' is not an attribute name."],
  [{ a: 'b..c' }, "'b..c' is not an attribute name."],
  [{ z: 'a' }, 'The mapping names the column z; the file has a.'],
  [{ a: { kind: 'x' } }, 'Column a of the mapping has the field kind, which does not exist.'],
])('a mapping that cannot be: %j', async (columns, message) => {
  const { code, stderr } = await imported('Nobody', 'in.csv', 'a\n1\n', columns)
  expect(stderr).toContain('ashlar: ')
  expect(stderr).toMatch(new RegExp(message.replaceAll(/[?.()]/g, '.')))
  expect([exitCodes.usage, exitCodes.notFound]).toContain(code)
  expect((await run(['export', 'Nobody'])).code).toBe(exitCodes.notFound)
})

test('records of JSON: what is missing, null at first, of several types, or nested', async () => {
  const records = [
    { id: 1, name: null, home: { city: 'X', at: { lat: 1 } }, tags: [] },
    { id: 2.5, name: '007', more: true, lines: [{ n: 1 }, { n: 2, note: 'b' }], mixed: 1 },
    { name: '8', home: null, tags: ['a'], mixed: 'x', big: 9007199254740993n },
  ]
  const text = records.map((one) =>
    JSON.stringify(one, (_, value) => (typeof value === 'bigint' ? `#${value}#` : value)).replaceAll(/"#|#"/g, ''),
  )
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'in.ndjson'), text.join('\n'))
  done(await run(['import', 'in.ndjson', '--class', 'Mixed'], { directory }))
  const line = done(await run(['query', 'FROM Mixed RETURN id, name, home, tags, more, lines, mixed, big', '--json']))
  expect(line).toContain('9007199254740993')
  expect(JSON.parse(line)).toEqual([
    expect.objectContaining({ id: 1, name: null, tags: [], home: expect.objectContaining({ city: 'X' }) }),
    expect.objectContaining({ id: 2.5, name: '007', more: true, mixed: '1' }),
    expect.objectContaining({
      id: null,
      more: null,
      name: '8',
      tags: ['a'],
      mixed: 'x',
      home: { city: null, at: { lat: null } },
    }),
  ])
  expect(await rows('FROM Mixed WHERE name IS NULL RETURN home.at.lat AS lat, COUNT(lines) AS n')).toContainEqual({
    lat: 1,
    n: 0,
  })
})

test('columns that are called as what every object of JavaScript has', async () => {
  const records = [{ id: 1 }, { id: 2, constructor: 'x', toString: 1 }, JSON.parse('{"id": 3, "__proto__": {"id": 4}}')]
  const ended = await imported('Odd', 'in.ndjson', records.map((one) => JSON.stringify(one)).join('\n'), {
    constructor: { default: 'none' },
  })
  done(ended)
  expect(await rows('FROM Odd ORDER BY id RETURN id, constructor, toString')).toEqual([
    { id: 1, constructor: 'none', toString: null },
    { id: 2, constructor: 'x', toString: 1 },
    { id: 3, constructor: 'none', toString: null },
  ])
})

test('a class that was made is deleted again where no record is stored, and stays where one is', async () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'in.csv'), `n,o\n1,${'x'.repeat(17 * 2 ** 20)}\n`)
  const refused = await run(['import', 'in.csv', '--class', 'Left'], { directory })
  expect(refused.stderr).toMatch(
    /Nothing was imported\. The class Left, which this import had created, is deleted again\.\n$/,
  )
  expect((await run(['export', 'Left'])).code).toBe(exitCodes.notFound)
  writeFileSync(join(directory, 'in.csv'), `n,o\n1,y\n2,${'x'.repeat(17 * 2 ** 20)}\n`)
  const ended = await run(['import', 'in.csv', '--class', 'Left'], { directory })
  expect(ended.stderr).toMatch(
    /At least 1 record is done: resume with --skip 1, .*The class Left, which this import has created, is kept\.\n$/,
  )
  expect(await rows('FROM Left RETURN n, o')).toEqual([{ n: 1, o: 'y' }])
})

test('a mapping that is not UTF-8, or has an unknown type, is refused whether or not the class is there', async () => {
  for (const className of ['Port', 'Unmade']) {
    const { code, stderr } = await imported(className, 'in.csv', 'code\nA\n', { code: { type: 'varchar' } })
    expect([code, stderr]).toEqual([
      exitCodes.usage,
      expect.stringMatching(/^ashlar: Column code of the mapping: type is one of boolean, .*; not 'varchar'\.\n$/),
    ])
  }
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'in.csv'), 'code\nA\n')
  writeFileSync(join(directory, 'latin.json'), Buffer.from('{"columns":{"M\xfcller":null}}', 'latin1'))
  const ended = await run(['import', 'in.csv', '--class', 'Port', '--mapping', 'latin.json'], { directory })
  expect(ended).toMatchObject({ code: exitCodes.usage, stderr: 'ashlar: The file latin.json is not UTF-8.\n' })
})
