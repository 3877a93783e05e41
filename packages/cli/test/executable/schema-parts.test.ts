/** `ashlar schema` with files of some namespaces only, with plans that cannot be carried out, with inverses of references, and with large schemas. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../server/test/executable/process.ts'
import { served } from './command-line.ts'

const server = served()

async function inEmpty() {
  const directory = temporaryDirectory()
  const client = new AshlarClient({ baseUrl: server.url })
  const names = (await client.listClasses()).map(({ className }) => className)
  for (const { name } of await client.listIndexes()) await client.deleteIndex(name)
  for (const name of names) await client.query(`DELETE ${name}`)
  for (let left = names; left.length > 0; left = (await client.listClasses()).map(({ className }) => className)) {
    for (const name of left) await client.deleteClass(name).catch(() => undefined)
  }
  return {
    client,
    directory,
    write: (file: string, text: string) => writeFileSync(join(directory, file), text),
    run: (...words: string[]) => server.run(['schema', ...words], { directory }),
  }
}

const fleet = `UPDATE SCHEMA {
  CREATE CLASS Fleet.Car {
    model: Reference{Referenced: Fleet.Model}
  }

  CREATE CLASS Fleet.Model {
    name: String
  }
};
`

it('files may be of some namespaces: all others stay as they are, and can be referred to', async () => {
  const { client, directory, run, write } = await inEmpty()
  write('fleet.do', fleet)
  await run('apply', 'fleet.do')
  const todo = `UPDATE SCHEMA {
  CREATE CLASS Todo.Task {
    title: String,
    car: Reference{Referenced: Fleet.Car}
  }
};

CREATE INDEX byTitle ON Todo.Task (title);
`
  write('todo.do', todo)
  expect(await run('check', 'todo.do')).toMatchObject({
    code: 7,
    stderr: expect.stringContaining("no class 'Fleet.Car'"),
  })
  const part = ['--namespace', 'Todo'] as const
  expect(await run('check', 'todo.do', ...part)).toMatchObject({ code: 8 })
  expect((await run('diff', 'todo.do', ...part)).stdout).toMatch(/^\+ CREATE CLASS Todo\.Task \{\n/)
  expect((await run('plan', 'todo.do', ...part)).stdout).toMatch(/^ {2}CREATE CLASS Todo\.Task \{\n/)
  expect(await run('apply', 'todo.do', ...part)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('version 2'),
  })
  expect((await run('check', 'todo.do', ...part)).stdout).toBe('The schema matches todo.do: 1 class and 1 index.\n')
  expect((await run('log', '2')).stdout).toBe(todo)
  expect((await run('pull', ...part)).stdout).toBe(todo)
  write('mine.do', '// of nobody else')
  expect((await run('pull', '.', ...part)).stdout).toBe('Wrote Todo.do to ..\n')
  expect(readdirSync(directory).sort()).toEqual(['Todo.do', 'fleet.do', 'mine.do', 'todo.do'])
  expect(await run('check', 'fleet.do', '--namespace', 'Fleet')).toMatchObject({ code: 0 })

  const refused: readonly (readonly [number, readonly string[], RegExp])[] = [
    [7, ['plan', 'fleet.do', ...part], /fleet\.do/],
    [7, ['plan', 'todo.do', '--namespace', 'Fleet'], /In the federated database: there is no class 'Fleet\.Car'/],
    [7, ['plan', 'new.do', ...part], /new\.do names class Other\.X, which is not in Todo/],
    [2, ['plan', 'todo.do', ...part, '--rename', 'Fleet.Car=Fleet.Auto'], /--rename names class Fleet\.Car/],
  ]
  write('new.do', todo.replace('CREATE CLASS', 'CREATE CLASS Other.X {}\n  CREATE CLASS'))
  for (const [code, words, message] of refused) {
    expect(await run(...words)).toMatchObject({ code, stderr: expect.stringMatching(message) })
  }
  write('todo.do', todo.replaceAll('Todo.Task', 'Todo.Item'))
  const renamed = await run('apply', 'todo.do', ...part, '--rename', 'Todo.Task=Todo.Item')
  expect(renamed).toMatchObject({ code: 0, stdout: expect.stringContaining('RENAME CLASS Todo.Task TO Todo.Item') })
  write('todo.do', 'UPDATE SCHEMA {}')
  expect((await run('plan', 'todo.do', ...part)).stdout).toBe('  DROP INDEX byTitle\n! DROP CLASS Todo.Item\n')
  await run('apply', 'todo.do', ...part, '--allow-loss')
  expect((await client.listClasses()).map(({ className }) => className).sort()).toEqual([
    'Ashlar.SchemaVersion',
    'Fleet.Car',
    'Fleet.Model',
  ])
})

it('a plan is shown also where it cannot be carried out, with the reason at the step', async () => {
  const { client, run, write } = await inEmpty()
  write('fleet.do', fleet)
  await run('apply', 'fleet.do')
  await client.createObject('Fleet.Model', { name: 'x' })
  write('fleet.do', 'UPDATE SCHEMA { CREATE CLASS Fleet.Car {color: String} };')
  const planned = await run('plan', 'fleet.do')
  const reason = 'Class Fleet.Model cannot be deleted: it has objects.'
  expect(planned).toEqual({
    code: 5,
    stdout: `! ALTER CLASS Fleet.Car {DROP model}\n  ALTER CLASS Fleet.Car {ADD color: String}\nx DROP CLASS Fleet.Model\n    cannot be done: ${reason}\n`,
    stderr: `ashlar: ${reason}\n`,
  })
  expect(JSON.parse((await run('plan', 'fleet.do', '--json')).stdout)).toMatchObject({
    steps: [{}, {}, { text: 'DROP CLASS Fleet.Model', refusal: reason }],
  })
  for (const words of [['apply'], ['apply', '--stepwise']]) {
    const applied = await run(...words, 'fleet.do', '--allow-loss')
    expect(applied).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining(`x DROP CLASS Fleet.Model`) })
  }
  // The server finds it in one of several attributes.
  write(
    'fleet.do',
    fleet
      .replace(
        'name: String',
        'name: String, n: Integer,\n    cars: List{Element: Reference{Referenced: Fleet.Car, Inverse: model}}',
      )
      .replace('Fleet.Model}', 'Fleet.Model, Inverse: name}'),
  )
  expect(await run('plan', 'fleet.do')).toMatchObject({ code: 7, stderr: expect.not.stringContaining('operation') })
  write('fleet.do', fleet.replace('CLASS Fleet.Car', 'CLASS Fleet.Car SUPERCLASS Fleet.Model'))
  expect(await run('plan', 'fleet.do')).toMatchObject({
    code: 7,
    stdout: expect.stringMatching(
      /^x CHANGE SUPERCLASS OF Fleet\.Car: none → Fleet\.Model\n {4}cannot be done: The superclass/,
    ),
  })
})

it('a plan shows each constraint that stored objects violate, and how many of them, in all classes', async () => {
  const { client, run, write } = await inEmpty()
  const text = (task: string, ...rest: string[]) => `UPDATE SCHEMA {
  CREATE CLASS Other {n: Integer${rest.join('')}}
  CREATE CLASS Plain {n: Integer}
  CREATE CLASS Task {${task}}
}`
  write('base.do', text('n: Integer, s: String, r: Reference{Referenced: Task}, l: List{Element: Integer}, t: String'))
  expect(await run('apply', 'base.do')).toMatchObject({ code: 0 })
  for (let n = 0; n < 9; n++) await client.createObject('Task', { n, s: `s${n % 3}`, l: [n, n] })
  await client.createObject('Other', { n: 1 })
  const strict = [
    'n: Integer{Minimum: 0, Maximum: 4}',
    's: String{Unique}',
    'r: Reference{Referenced: Task, Required}',
    'l: List{Element: Integer, UniqueItems}',
    't: String{MaxLength: 10}',
    'CHECK k: n < 7',
  ]
  write('strict.do', text(strict.join(', '), '{Minimum: 2}'))
  const planned = await run('plan', 'strict.do')
  expect(planned.code).toBe(5)
  expect(planned.stdout.replaceAll(/\(\d+-\d+-\d+-\d+/g, '(oid')).toBe(
    [
      'x ALTER CLASS Other {ALTER n {Minimum: 2}}',
      '    cannot be done: 1 object violates minimum of attribute n of class Other (oid): nothing was changed.',
      'x ALTER CLASS Task {ALTER n {Minimum: 0, Maximum: 4}}',
      '    cannot be done: 4 objects violate maximum of attribute n of class Task (oid and others).',
      'x ALTER CLASS Task {ALTER s {Unique}}',
      '    cannot be done: 9 objects violate isUnique of attribute s of class Task (oid and others).',
      'x ALTER CLASS Task {ALTER r {Required}}',
      '    cannot be done: 9 objects violate isRequired of attribute r of class Task (oid and others).',
      'x ALTER CLASS Task {ALTER l {UniqueItems}}',
      '    cannot be done: 9 objects violate uniqueItems of attribute l of class Task (oid and others).',
      '  ALTER CLASS Task {ALTER t {MaxLength: 10}}',
      'x ALTER CLASS Task {ADD CHECK k: n < 7}',
      '    cannot be done: 2 objects violate check k of class Task (oid and others).',
      '',
    ].join('\n'),
  )
  expect(planned.stderr).toMatch(
    /^ashlar: 1 object violates minimum of attribute n of class Other .*: nothing was changed\.\n$/,
  )
  const { steps } = JSON.parse((await run('plan', 'strict.do', '--json')).stdout)
  expect(steps.map((step: { refusal?: string }) => step.refusal !== undefined)).toEqual([
    ...[true, true, true, true, true],
    ...[false, true],
  ])
  for (const words of [['apply'], ['apply', '--stepwise']]) {
    const applied = await run(...words, 'strict.do')
    expect(applied).toMatchObject({ code: 5, stderr: expect.stringContaining('9 objects violate isUnique') })
    expect(await run('check', 'base.do')).toMatchObject({ code: 0 })
  }
  // One constraint alone: the message of the server, at its step.
  write(
    'unique.do',
    text(
      'n: Integer{Minimum: 0}, s: String{Unique}, r: Reference{Referenced: Task}, l: List{Element: Integer}, t: String',
    ),
  )
  expect((await run('plan', 'unique.do')).stdout).toMatch(
    /^ {2}ALTER CLASS Task \{ALTER n \{Minimum: 0\}\}\nx ALTER CLASS Task \{ALTER s \{Unique\}\}\n {4}cannot be done: .*"s0" .* 9 objects have values that others have\.\n$/,
  )
})

it('a plan shows the new expression of a computed attribute', async () => {
  const { client, run, write } = await inEmpty()
  const text = (c: string) => `UPDATE SCHEMA { CREATE CLASS Task {n: Integer, c: ${c}} }`
  write('base.do', text('Integer = (n + 1)'))
  expect(await run('apply', 'base.do')).toMatchObject({ code: 0 })
  const changes: readonly (readonly [string, string])[] = [
    ['Integer = (n + 2)', 'Computed: (n + 2)'],
    ['Integer{Stored} = (n + 3)', 'Computed: (n + 3), Stored'],
    ['Integer = (n + 3)', 'Computed: (n + 3)'],
  ]
  for (const [type, shown] of changes) {
    write('next.do', text(type))
    expect((await run('plan', 'next.do')).stdout).toBe(`  ALTER CLASS Task {ALTER c {${shown}}}\n`)
    await client.query(`UPDATE SCHEMA {ALTER CLASS Task {ALTER c {${shown}}}}`)
    expect(await run('check', 'next.do')).toMatchObject({ code: 0 })
  }
})

it('a reference is given an inverse by files, and loses it again, with its references kept', async () => {
  const { client, run, write } = await inEmpty()
  write('fleet.do', fleet)
  await run('apply', 'fleet.do')
  const model = (await client.createObject('Fleet.Model', { name: 'x' })).__identifier__
  const car = (await client.createObject('Fleet.Car', { model })).__identifier__
  write(
    'paired.do',
    fleet
      .replace('Fleet.Model}', 'Fleet.Model, Inverse: cars}')
      .replace(
        'name: String',
        'name: String,\n    cars: List{Element: Reference{Referenced: Fleet.Car, Inverse: model}}',
      ),
  )
  const steps = [
    '  CHANGE Fleet.Car.model: Reference{Referenced: Fleet.Model} → Reference{Referenced: Fleet.Model, Inverse: cars}\n',
    '  ALTER CLASS Fleet.Model {ADD cars: List{Element: Reference{Referenced: Fleet.Car, Inverse: model}}}\n',
  ].join('')
  expect((await run('plan', 'paired.do')).stdout).toBe(steps)
  expect(await run('apply', 'paired.do')).toMatchObject({ code: 0 })
  expect(await client.readObject(model)).toMatchObject({ cars: [car] })
  expect((await run('apply', 'fleet.do', '--allow-loss')).stdout).toContain('! ALTER CLASS Fleet.Model {DROP cars}')
  expect(await client.readObject(car)).toMatchObject({ model })
  expect(await run('check', 'fleet.do')).toMatchObject({ code: 0 })
  const gone = (await client.createObject('Fleet.Model', { name: 'y' })).__identifier__
  const orphan = (await client.createObject('Fleet.Car', { model: gone })).__identifier__
  await client.deleteObject(gone)
  for (const words of [['apply'], ['apply', '--stepwise']]) {
    const refused = await run(...words, 'paired.do')
    expect(refused).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('1 value of Fleet.Car.model would be lost'),
    })
  }
  expect(await run('apply', 'paired.do', '--stepwise', '--allow-loss')).toMatchObject({ code: 0 })
  expect(await client.readObject(orphan)).toMatchObject({ model: '0-0-0-0' })
  expect(await client.readObject(model)).toMatchObject({ cars: [car] })
})

it('a schema may be of any size: more words than a statement of the server may have', async () => {
  const { client, directory, run } = await inEmpty()
  const wide = Array.from({ length: 7 }, (_, i) => ({
    className: `N${i}.Wide`,
    isReferenceable: true,
    attributes: Array.from({ length: 1_000 }, (_, j) => ({ attributeName: `a${j}`, logicalType: 'integer' as const })),
  }))
  const many = Array.from({ length: 1_465 }, (_, i) => ({
    className: `S.C${i}`,
    isReferenceable: true,
    ...(i === 0 ? {} : { superClass: `S.C${Math.floor((i - 1) / 4)}` }),
    attributes: [
      { attributeName: `t${i}`, logicalType: 'string' as const },
      { attributeName: `r${i}`, logicalType: 'reference' as const, referencedClass: `S.C${(i * 7) % 1_465}` },
    ],
  }))
  await client.defineClasses(wide)
  await client.defineClasses(many)
  expect((await run('pull')).stdout.length).toBeGreaterThan(250_000)
  expect(await run('pull', 'files')).toMatchObject({ code: 0 })
  expect(await run('check', 'files')).toMatchObject({ code: 0 })
  const file = join(directory, 'files', 'S.do')
  writeFileSync(file, readFileSync(file, 'utf8').replace('t17: String', 't17: String, more: Integer'))
  expect((await run('diff', 'files')).stdout).toContain('+   more: Integer')
  expect((await run('plan', 'files')).stdout).toBe('  ALTER CLASS S.C17 {ADD more: Integer}\n')
  expect(await run('apply', 'files')).toMatchObject({ code: 0 })
  // All of it, into a federated database that has none of it.
  const other = { directory, environment: { ASHLAR_FD: 'other' } }
  expect(await server.run(['schema', 'apply', 'files'], other)).toMatchObject({ code: 0, stderr: '' })
  expect(await server.run(['schema', 'check', 'files'], other)).toMatchObject({ code: 0 })
})

it('defaults of type json are written in DO, and read again', async () => {
  const { run, write } = await inEmpty()
  const text = `UPDATE SCHEMA {
  CREATE CLASS Task {
    none: Json,
    one: Json{Default: 'x'},
    many: Json{Default: JSON('{"expression":[1,"it\\'s"]}')}
  }
};
`
  write('default.do', text)
  expect(await run('apply', 'default.do')).toMatchObject({ code: 0 })
  expect(await run('check', 'default.do')).toMatchObject({ code: 0 })
  const { stdout } = await run('pull')
  expect(stdout).toBe(text)
})
