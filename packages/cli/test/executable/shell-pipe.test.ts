/** `ashlar shell` in a pipe: what it prints, where it ends, and by which exit code. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type CommandOptions, type Ended, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { served } from './command-line.ts'

const server = served()

beforeAll(async () => {
  const schema = 'UPDATE SCHEMA { CREATE CLASS Car {plate: String, doors: Integer} };'
  const cars = "CREATE Car {plate: 'A', doors: 3};\nCREATE Car {plate: 'B', doors: 5};\n"
  const ended = await server.run(['shell', '--quiet'], { input: `${schema}\n${cars}`, directory: '/' })
  expect(ended).toMatchObject({ code: 0, stderr: '' })
})

function piped(input: string, words: readonly string[] = [], options: CommandOptions = {}): Promise<Ended> {
  return server.run(['shell', '--quiet', ...words], { ...options, input })
}

describe('in a pipe', () => {
  it('rows alone are printed, and the last statement needs no semicolon', async () => {
    expect(await piped('FROM Car WHERE doors = 3\n\nRETURN plate, doors')).toEqual({
      code: 0,
      stdout: 'plate  doors\nA          3\n',
      stderr: '',
    })
    expect(await piped('FROM Car ORDER BY plate RETURN plate', ['--json'])).toMatchObject({
      code: 0,
      stdout: '[\n{"plate":"A"},\n{"plate":"B"}\n]\n',
    })
    expect(await piped('\\csv\nFROM Car ORDER BY plate RETURN plate;\n\\ndjson\nSHOW 1;')).toMatchObject({
      code: 0,
      stdout: 'plate\nA\nB\n1\n',
    })
    expect(await piped('\n // nothing\n;\n')).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it('statements are transactions of their own, and the first that fails ends it', async () => {
    const ended = await piped("CREATE Car {plate: 'C'};\nFROM Car\nRETURN colour;\nCREATE Car {plate: 'D'};\n")
    expect(ended).toMatchObject({ code: 7 })
    expect(ended.stderr).toBe(
      "ashlar: Line 2, column 8: class Car has no attribute 'colour'.\n  RETURN colour;\n         ^\n",
    )
    const { stdout } = await piped("FROM Car WHERE plate IN LIST{'C', 'D'} RETURN plate;", ['--format', 'csv'])
    expect(stdout).toBe('plate\nC\n')
    const loud = await server.run(['shell'], { input: '\n\nFROM Nothing RETURN 1;' })
    expect(loud.stderr).toMatch(/^Standard input, line 3:\nashlar: Line 1, column 6: there is no class 'Nothing'/)
    const asJson = await piped('FROM Nothing RETURN 1;', ['--json'])
    expect(JSON.parse(asJson.stderr)).toMatchObject({ error: { exitCode: 7, type: 'QueryError', line: 1, column: 6 } })
  })

  it('what \\begin keeps is one transaction', async () => {
    const input = "\\begin\nCREATE Car {plate: 'X1'};\nCREATE Car {plate: 'X2', doors: 'many'};\n\\commit\n"
    expect(await piped(input)).toMatchObject({ code: 7 })
    expect(await piped("FROM Car WHERE plate =~ '^X' RETURN plate;")).toMatchObject({ stdout: '' })
    await piped(input.replace("'many'", '2'))
    expect(await piped("\\csv\nFROM Car WHERE plate =~ '^X' RETURN COUNT() AS n;")).toMatchObject({ stdout: 'n\n2\n' })
    await piped("\\begin\nDELETE Car WHERE plate =~ '^X';\n")
    expect(await piped("\\csv\nFROM Car WHERE plate =~ '^X' RETURN COUNT() AS n;")).toMatchObject({ stdout: 'n\n2\n' })
  })

  it('parameters are set by options and by \\set', async () => {
    const text = 'FROM Car WHERE plate = $p RETURN doors;'
    expect(await piped(`\\csv\n${text}\n\\set p B\n${text}`, ['-p', 'p=A'])).toMatchObject({
      stdout: 'doors\n3\ndoors\n5\n',
    })
    expect(await piped('\\set n 9007199254740993\n\\set t "5"\n\\set', [])).toMatchObject({
      stdout: 'n = 9007199254740993\nt = "5"\n',
    })
  })

  it('files are run by \\i, and written by \\o', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'inner.do'), "FROM Car WHERE plate = 'A'\nRETURN plate;\n")
    writeFileSync(join(directory, 'outer.do'), '\\i inner.do\n')
    expect(await piped('\\csv\n\\o rows.csv\n\\i outer.do\n\\o\nSHOW 1;', [], { directory })).toMatchObject({
      code: 0,
      stdout: 'value\n1\n',
    })
    expect(readFileSync(join(directory, 'rows.csv'), 'utf8')).toBe('plate\nA\n')
    writeFileSync(join(directory, 'loop.do'), '\\i loop.do\n')
    expect(await piped('\\i loop.do', [], { directory })).toMatchObject({
      code: 2,
      stderr: 'ashlar: \\i is nested more than 16 deep.\n',
    })
    expect(await piped('\\o nowhere/rows.csv\nSHOW 1;', [], { directory })).toMatchObject({ code: 2 })
  })
})

describe('bad input', () => {
  it.each([
    ['\\frob', 2, 'There is no command \\frob. See \\?.'],
    ['\\timming', 2, 'There is no command \\timming. Did you mean timing? See \\?.'],
    ['\\q now', 2, '\\q has no operand: now is too much.'],
    ['\\x maybe', 2, '\\x is on or off, not maybe.'],
    ['\\commit', 2, 'There is nothing to commit: start with \\begin.'],
    ['\\rollback', 2, 'There is nothing to roll back: start with \\begin.'],
    ['\\begin\n\\begin', 2, '\\begin was given already: \\commit, or \\rollback.'],
    ['\\unset p', 2, '$p is not set.'],
    ['\\set 1p x', 2, '1p is not a parameter name, which has letters, digits and _.'],
    ['\\watch never', 2, 'never is not a number of seconds from 0.1 to 86400.'],
    ['\\explain', 2, 'There is no statement yet.'],
    ['\\i', 2, '\\i needs a file.'],
    ['\\i /', 2, 'The file / cannot be read: it is a directory; name a file.'],
    ['\\pager on', 2, 'Paging needs a terminal.'],
    ['\\d Cra', 3, 'There is no class Cra. Did you mean Car?'],
    ['\\help frob', 2, 'There is no help on frob, but on FROM, '],
    ["SHOW 'a", 7, 'a text that begins here does not end'],
    ['\x1b[31mFROM', 7, "'\\x1b' means nothing here"],
  ])('%j is told in a sentence', async (input, code, message) => {
    const ended = await piped(input)
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toContain(message)
    expect(ended.stderr).toMatch(/^ashlar: .*\n/)
    expect(ended.stderr).not.toContain('\x1b')
  })

  it('is also a federated database that is not there, and a file that is no text', async () => {
    expect(await piped('SHOW 1;', ['--fd', 'nowhere'])).toMatchObject({ code: 3 })
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'latin.do'), Buffer.from('SHOW "\xe4";', 'latin1'))
    const ended = await piped('\\i latin.do', [], { directory })
    expect(ended).toMatchObject({ code: 7, stderr: 'ashlar: latin.do is not UTF-8.\n' })
  })
})
