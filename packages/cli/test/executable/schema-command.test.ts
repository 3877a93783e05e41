/** `ashlar schema`: a schema as files, what would change and be lost, the log, and what is refused with nothing done. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../server/test/executable/process.ts'
import { served } from './command-line.ts'

const server = served()

const fleet = `UPDATE SCHEMA {
  CREATE CLASS Fleet.Model {
    name: String,
    vehicles: List{Element: Reference{Referenced: Fleet.Vehicle, Inverse: model}}
  }

  CREATE CLASS Fleet.Vehicle {
    license: String,
    mileage: Integer,
    model: Reference{Referenced: Fleet.Model, Inverse: vehicles}
  }
};

CREATE UNIQUE INDEX byLicense ON Fleet.Vehicle (license);
`

/** Each of them in a federated database of its own. */
let used = 0
function fresh() {
  const fd = ['default', 'other'][used++] ?? ''
  const directory = temporaryDirectory()
  const client = new AshlarClient({ baseUrl: server.url, fdAlias: fd })
  return {
    client,
    directory,
    write: (file: string, text: string) => writeFileSync(join(directory, file), text),
    run: (...words: string[]) => server.run(['schema', ...words], { directory, environment: { ASHLAR_FD: fd } }),
  }
}

describe('a schema as files', () => {
  it('is applied, pulled, compared, changed with renames that are asked for, and noted', async () => {
    const { client, directory, run, write } = fresh()
    write('fleet.do', fleet)
    expect(await run('check', 'fleet.do')).toMatchObject({ code: 8, stdout: '' })
    expect((await run('plan', 'fleet.do')).stdout).toMatch(
      /^ {2}CREATE CLASS Fleet\.Model \{\n[\s\S]*\n {2}CREATE UNIQUE INDEX byLicense/,
    )
    expect(await client.listClasses()).toEqual([])
    expect(await run('apply', 'fleet.do', '-m', 'first')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\nApplied as version 1\.\n$/),
    })
    expect(await run('check', 'fleet.do')).toMatchObject({
      code: 0,
      stdout: 'The schema matches fleet.do: 2 classes and 1 index.\n',
    })
    expect((await run('pull')).stdout).toBe(fleet)
    await client.createObject('Fleet.Vehicle', { license: 'A', mileage: 7 })

    const next = fleet
      .replace('mileage: Integer', 'distance: Integer,\n    color: String')
      .replace('license: String', 'license: Integer')
    write('fleet.do', next)
    const diff = await run('diff', 'fleet.do')
    expect(diff).toMatchObject({ code: 8, stderr: 'ashlar: The schema differs from fleet.do.\n' })
    expect(diff.stdout).toBe(
      '  CREATE CLASS Fleet.Vehicle {\n-   license: String\n-   mileage: Integer\n+   color: String\n+   distance: Integer\n+   license: Integer\n',
    )
    const guessless = await run('plan', 'fleet.do')
    expect(guessless.stdout).toContain('! ALTER CLASS Fleet.Vehicle {DROP mileage}')
    expect(guessless.stdout).toContain('say so: --rename Fleet.Vehicle.mileage=distance')
    const rename = ['--rename', 'Fleet.Vehicle.mileage=distance'] as const
    expect(JSON.parse((await run('plan', 'fleet.do', ...rename, '--json')).stdout)).toEqual({
      steps: [
        { text: 'ALTER CLASS Fleet.Vehicle {RENAME mileage TO distance}', isLoss: false },
        { text: 'ALTER CLASS Fleet.Vehicle {ADD color: String}', isLoss: false },
        { text: 'CHANGE Fleet.Vehicle.license: String → Integer', isLoss: false },
      ],
      valuesLost: [{ className: 'Fleet.Vehicle', attributeName: 'license', values: 1 }],
      hints: [],
    })
    const refused = await run('apply', 'fleet.do', ...rename)
    expect(refused).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('add --allow-loss') })
    expect(await run('check', 'fleet.do')).toMatchObject({ code: 8 })
    expect(await run('apply', 'fleet.do', ...rename, '--allow-loss')).toMatchObject({ code: 0 })
    expect(await client.query('FROM Fleet.Vehicle RETURN license, distance, color')).toEqual([
      { license: 0, distance: 7, color: '' },
    ])
    expect((await run('log')).stdout).toMatch(/^Version .*\n +1 .* first\n +2 .*\n$/)
    expect((await run('log', '1')).stdout).toBe(fleet)
    expect(await run('apply', 'fleet.do')).toMatchObject({ code: 0, stdout: 'The schema is up to date.\n' })

    await run('pull', 'files')
    expect(readdirSync(join(directory, 'files'))).toEqual(['Fleet.do'])
    expect(await run('check', 'files')).toMatchObject({ code: 0 })
    expect((await run('diagram')).stdout).toContain('c0 "1" -- "*" c1 : vehicles / model')
    expect((await run('diagram', 'fleet.do', '--format', 'svg')).stdout).toMatch(
      /^<svg [\s\S]*vehicles \/ model[\s\S]*<\/svg>\n$/,
    )

    write('fleet.do', 'UPDATE SCHEMA {}')
    expect(await run('apply', 'fleet.do', '--allow-loss')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('Fleet.Vehicle'),
    })
    await client.query('DELETE Fleet.Vehicle')
    expect(await run('apply', 'fleet.do', '--allow-loss')).toMatchObject({ code: 0 })
    expect((await client.listClasses()).map(({ className }) => className)).toEqual(['Ashlar.SchemaVersion'])
  })

  it('has every type, names that are keywords, several files, and faults by their place', async () => {
    const { client, directory, run, write } = fresh()
    mkdirSync(join(directory, 'schema'))
    write(
      'schema/a.do',
      '// the first { file\nUPDATE SCHEMA { CREATE CLASS A.Base { `order`: Integer, z: List{Element: Object{Class: B.Part}} } } CREATE INDEX byOrder ON A.Base (`order`)',
    )
    write(
      'schema/b.do',
      `UPDATE SCHEMA {
        CREATE CLASS B.Part EMBEDDABLE {z: String}
        CREATE CLASS B.All SUPERCLASS A.Base { a: Boolean, b: Character, d: Real, f: Guid, g: Date, h: Time, i: DateTime, j: Interval, q: Float,
          k: Reference{Referenced: ooObj}, m: List{Element: Integer{Encoding: Unsigned, Storage: B8}}, n: Set{Element: Reference{Referenced: B.All}},
          o: Map{Key: String, Element: Reference{Referenced: B.All}}, p: String{Encoding: Byte, Storage: Fixed, FixedLength: 7},
          t: List{Element: Reference{Referenced: B.All}, CollectionTypeName: TreeListOfReferences} }
        CREATE CLASS Empty {}
      };`,
    )
    expect(await run('apply', 'schema')).toMatchObject({ code: 0, stderr: '' })
    const pulled = await run('pull', 'again')
    expect(pulled).toMatchObject({ stdout: 'Wrote A.do, B.do, default.do to again.\n' })
    expect(await run('check', 'again')).toMatchObject({ code: 0 })
    const before = await client.listClasses()

    write('schema/b.do', 'UPDATE SCHEMA {\n  CREATE CLASS B.Part EMBEDDABLE {z: Strin}\n};')
    expect(await run('plan', 'schema')).toMatchObject({
      code: 7,
      stderr: expect.stringMatching(
        /^ashlar: schema[/\\]b\.do:2: there is no type 'Strin'\. Did you mean String\?\n {4}CREATE CLASS .*\n +\^\n$/,
      ),
    })
    const wrong: readonly (readonly [number, readonly string[], RegExp, string?])[] = [
      [2, ['check', 'none'], /cannot be read/],
      [7, ['plan', '-'], /Standard input is empty\. A schema without classes is UPDATE SCHEMA \{\}/],
      [2, ['check', '.'], /no files that end in \.do/],
      [3, ['log', '9'], /no version 9/],
      [7, ['apply', 'x.do'], /superclass of B\.All cannot be changed/, 'UPDATE SCHEMA {CREATE CLASS B.All {}}'],
      [7, ['apply', 'x.do'], /B\.Part is embeddable/, 'UPDATE SCHEMA {CREATE CLASS B.Part {z: String}}'],
      [2, ['plan', 'x.do', '--rename', 'A'], /A is not a rename/, 'UPDATE SCHEMA {}'],
      [
        2,
        ['plan', 'x.do', '--rename', 'A.Base.nothing=x'],
        /no class or attribute A\.Base\.nothing/,
        'UPDATE SCHEMA {}',
      ],
      [7, ['apply', 'x.do'], /x\.do:1/, 'UPDATE SCHEMA {CREATE CLASS X {a: List}}'],
      [
        7,
        ['plan', 'x.do'],
        /^ashlar: x\.do:1: .*\n {2}UPDATE SCHEMA {CREATE CLASS X {a: Strin}}\n {36}\^\n$/,
        'UPDATE SCHEMA {CREATE CLASS X {a: Strin}}',
      ],
      [7, ['apply', 'x.do'], /^ashlar: x\.do:1: .* JSON is the body of PUT \/v1\/schema/, '[{"className": "A.Base"}]'],
      [7, ['apply', 'x.do'], /^ashlar: x\.do:2: .* and nothing else/, 'UPDATE SCHEMA {};\nCREATE X {}'],
    ]
    for (const [code, words, message, text] of wrong) {
      if (text !== undefined) write('x.do', text)
      const ended = await run(...words)
      expect([words, ended.code, ended.stdout]).toEqual([words, code, ''])
      expect(ended.stderr).toMatch(message)
      expect(ended.stderr).toMatch(/^ashlar: [^\n]+\n/)
    }
    expect(await client.listClasses()).toEqual(before)
    expect(existsSync(join(directory, 'none'))).toBe(false)
    expect(readFileSync(join(directory, 'again', 'default.do'), 'utf8')).toBe(
      'UPDATE SCHEMA {\n  CREATE CLASS Empty {}\n};\n',
    )

    write(
      'x.do',
      readFileSync(join(directory, 'again', 'B.do'), 'utf8')
        .replaceAll('B.All', 'C.Every')
        .replaceAll('A.Base', 'Root'),
    )
    write('again/B.do', readFileSync(join(directory, 'x.do'), 'utf8'))
    write(
      'again/A.do',
      readFileSync(join(directory, 'again', 'A.do'), 'utf8')
        .replaceAll('A.Base', 'Root')
        .replaceAll('order', 'rank'),
    )
    const renames = ['B.All=C.Every', 'A.Base=Root', 'A.Base.order=rank'].flatMap((rename) => ['--rename', rename])
    const applied = await run('apply', 'again', ...renames)
    expect(applied.stdout.split('\n').slice(0, -2)).toEqual([
      '  RENAME CLASS B.All TO C.Every',
      '  RENAME CLASS A.Base TO Root',
      '  ALTER CLASS Root {RENAME order TO rank}',
    ])
  })
})
