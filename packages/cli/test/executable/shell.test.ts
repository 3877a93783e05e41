/** `ashlar shell` in a real pseudo-terminal: prompts, completion, pages, failures, Ctrl-C, and the session of docs/shell.md. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AshlarClient } from '@ashlar/client'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../server/test/executable/process.ts'
import { commandLines } from '../../src/shell/commands.ts'
import { served } from './command-line.ts'
import { noTerminal, PseudoTerminal, type TerminalOptions } from './pseudo-terminal.ts'

const server = served()
const page = fileURLToPath(new URL('../../../../docs/shell.md', import.meta.url))

const schema = `UPDATE SCHEMA {
  CREATE CLASS Shop.Client {name: String, orders: List{Element: Reference{Referenced: Shop.Order, Inverse: client}}}
  CREATE CLASS Shop.Order {number: Integer, note: String, client: Reference{Referenced: Shop.Client, Inverse: orders}}
  CREATE CLASS Road {name: String, to: List{Element: Reference{Referenced: Road}}}
};
LET ann = CREATE Client {name: 'Ann'};
FOR EACH n IN LIST{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20} =>
  (CREATE Order {number: $n, note: 'a note that takes its place', client: $ann});
LET a = CREATE Road {name: 'a'}; LET b = CREATE Road {name: 'b'}; LET c = CREATE Road {name: 'c'};
UPDATE Road ADD {$a, $b, $c} TO to`
/** Goes through more walks than anybody could wait for. */
const endless = 'MATCH WALK (p:Road)-[:to*1..30]->(q) ORDER BY q.name RETURN q.name;'

beforeAll(async () => {
  expect(await server.run(['query', '--fd', 'other', schema], { directory: '/' })).toMatchObject({ code: 0 })
})

/** At its first prompt. */
async function shell(options: TerminalOptions & { readonly words?: readonly string[] } = {}): Promise<PseudoTerminal> {
  const environment = { ASHLAR_URL: server.url, ...options.environment }
  const terminal = new PseudoTerminal(['shell', '--fd', 'other', ...(options.words ?? [])], { ...options, environment })
  await terminal.shows('other=> ')
  return terminal
}

/** What a line shows, up to the next prompt. */
async function enter(terminal: PseudoTerminal, line: string): Promise<string> {
  terminal.type(`${line}\r`)
  const shown = await terminal.shows(/\n\w+\*?[=({'"`*-]> $/)
  return shown.slice(shown.indexOf('\n') + 1, shown.lastIndexOf('\n') + 1)
}

describe.skipIf(noTerminal !== undefined)(
  `on a terminal${noTerminal === undefined ? '' : ` (skipped: ${noTerminal})`}`,
  () => {
    it('shows what docs/shell.md says', async () => {
      const environment = { ASHLAR_URL: server.url }
      const terminal = new PseudoTerminal(['shell'], { columns: 100, environment })
      const greeting = await terminal.shows('default=> ')
      let recorded = greeting.replace(server.url, 'http://127.0.0.1:8185')
      const lines = [
        'UPDATE SCHEMA {',
        '  CREATE CLASS Fleet.Model {name: String,',
        '    vehicles: List{Element: Reference{Referenced: Fleet.Vehicle, Inverse: model}}}',
        '  CREATE CLASS Fleet.Vehicle {license: String, mileage: Integer,',
        '    model: Reference{Referenced: Fleet.Model, Inverse: vehicles}}',
        '};',
        'CREATE UNIQUE INDEX byLicense ON Fleet.Vehicle (license);',
        "LET tipo = CREATE Model {name: 'Tipo'};",
        "CREATE Vehicle {license: 'AB 123', mileage: 40, model: $tipo};",
        "CREATE Vehicle {license: 'AB 124', mileage: 70};",
        '\\d Vehicle',
        'FROM Vehicle',
        'WHERE mileage > $least',
        'RETURN license, model.name AS model;',
        '\\set least 50',
        '\\g',
        'FROM Vehicle WHERE milage > 50 RETURN license;',
        "\\plan FROM Vehicle WHERE license = 'AB 123' RETURN *",
        '\\x',
        "FROM Vehicle WHERE license = 'AB 123' RETURN *;",
        '\\begin',
        'UPDATE Vehicle SET mileage TO 0;',
        '\\rollback',
        '\\help lookup',
      ]
      for (const line of lines) {
        terminal.type(`${line}\r`)
        recorded += await terminal.shows(/\n\w+\*?[=({'"`*-]> $/)
      }
      terminal.type('\x04')
      expect(await terminal.ended).toBe(0)
      const text = readFileSync(page, 'utf8')
      // What the terminal echoes of a typed line ends with the carriage return that was typed.
      recorded = recorded.replaceAll('\r', '')
      const session = `<!-- recorded -->\n\n\`\`\`text\n${recorded}\n\`\`\`\n`
      const commands = `<!-- commands -->\n\n\`\`\`text\n${commandLines().join('\n')}\n\`\`\`\n`
      const expected = text
        .replace(/<!-- recorded -->\n\n```text\n[\s\S]*?\n```\n/, () => session)
        .replace(/<!-- commands -->\n\n```text\n[\s\S]*?\n```\n/, () => commands)
      // `npx vitest run -u` on this file writes the page.
      await expect(expected).toMatchFileSnapshot(page)
    })

    it('completes keywords, classes, attributes behind references, parameters, commands and files', async () => {
      const directory = temporaryDirectory()
      writeFileSync(join(directory, 'some statements.do'), 'FROM Client RETURN name')
      const terminal = await shell({ directory, words: ['-p', 'threshold:=3'] })
      const completes = async (typed: string, shown: string): Promise<void> => {
        terminal.type(typed)
        await terminal.shows(typed)
        terminal.type('\t')
        await terminal.shows(shown)
      }
      await completes('FRO', 'M ')
      await completes('Ord', 'er ')
      await completes('wher', 'e ')
      await completes('clie', 'nt ')
      terminal.type('\x7f')
      await completes('.na', 'me ')
      await completes('> $thr', 'eshold ')
      terminal.type('\x03')
      await terminal.shows('other=> ')
      await completes('MATCH (c:Shop.Cl', 'ient ')
      await completes(')-[:ord', 'ers ')
      await completes(']->(o) WHERE c.na', 'me ')
      terminal.type('\x03')
      await terminal.shows('other=> ')
      await completes('\\d Shop.O', 'rder')
      terminal.type('\x03')
      await terminal.shows('other=> ')
      await completes('\\timi', 'ng')
      terminal.type('\x03')
      await terminal.shows('other=> ')
      await completes('\\i som', 'e statements.do')
      expect(await enter(terminal, '')).toBe('name\nAnn\n(1 row)\n')
      terminal.type('FROM Order WHERE \t\t')
      expect(await enter(terminal, ';')).toContain('does not fit here')
    })

    it('lists what could stand at the second Tab', async () => {
      const terminal = await shell()
      terminal.type('FROM Shop.\t')
      await terminal.shows('FROM Shop.')
      terminal.type('\t')
      expect(await terminal.shows(/Shop\.Order/)).toMatch(/Shop\.Client +Shop\.Order/)
    })

    it('ends a statement on the server at Ctrl-C, and goes on', async () => {
      const client = new AshlarClient({ baseUrl: server.url })
      const terminal = await shell()
      const running = async (): Promise<readonly string[]> => {
        return (await client.listStatements()).map(({ text }) => text ?? '').filter((text) => text === endless)
      }
      terminal.type(`${endless}\r`)
      await expect.poll(running).toHaveLength(1)
      terminal.type('\x03')
      expect(await terminal.shows('other=> ')).toContain('Stopped.')
      await expect.poll(running).toEqual([])
      expect(await enter(terminal, 'FROM Client RETURN name;')).toBe('name\nAnn\n(1 row)\n')
      terminal.type(`\\explain ${endless}\r`)
      await expect.poll(running).toHaveLength(1)
      terminal.type('\x03')
      expect(await terminal.shows('other=> ')).toContain('Stopped.')
      await expect.poll(running).toEqual([])
      terminal.type('\\watch 0.1\r')
      await expect.poll(running).toHaveLength(1)
      terminal.type('\x03')
      expect(await terminal.shows('other=> ')).toContain('Stopped.')
      terminal.type('\x04')
      expect(await terminal.ended).toBe(0)
    })

    it('stops at each page, which keys turn', async () => {
      const terminal = await shell({ rows: 10 })
      terminal.type('FROM Order ORDER BY number RETURN number;\r')
      expect(await terminal.shows('to end --')).toContain(
        'number\n     1\n     2\n     3\n     4\n     5\n     6\n     7\n     8\n-- more',
      )
      terminal.type('\r')
      expect(await terminal.shows('to end --')).toMatch(/^\r? {5}9\n-- more/)
      terminal.type(' ')
      expect(await terminal.shows('to end --')).toMatch(/^\r? {4}10\n[\s\S]* {4}18\n-- more/)
      terminal.type('q')
      expect(await terminal.shows('other=> ')).not.toContain('19')
      expect(await enter(terminal, '\\pager off')).toBe('Paging is off.\n')
      expect(await enter(terminal, 'FROM Order ORDER BY number RETURN number;')).toContain('    20\n(20 rows)\n')
    })

    it('makes tables as wide as the terminal, also once that is another', async () => {
      const terminal = await shell({ columns: 80 })
      const query = 'FROM Order TAKE 1 RETURN note, note AS other;'
      expect(await enter(terminal, query)).toContain('a note that takes its place  a note that takes its place\n')
      terminal.resize(40, 24)
      // The prompt is drawn anew.
      await terminal.shows('other=> ')
      expect(await enter(terminal, query)).toMatch(/^a note that take\S*…? .*…\n/m)
      const lines = (await enter(terminal, query)).split('\n')
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40)
    })

    it('has 80 columns and 24 rows where nobody has set its size', async () => {
      const terminal = await shell({ columns: 0, rows: 0 })
      const shown = await enter(terminal, "SHOW LIST{'one value', 'and another one'};")
      expect(shown).toContain('one value')
      const lines = (await enter(terminal, 'FROM Order WHERE number < 4 RETURN number, note;')).split('\n')
      expect(lines).toContain('     1  a note that takes its place')
    })

    it('takes help, quit and exit for what they mean, where no statement has begun', async () => {
      const terminal = await shell({ rows: 60 })
      expect(await enter(terminal, 'help')).toContain('\\q                    end the shell (or Ctrl-D)')
      terminal.type('FROM Order\r')
      await terminal.shows('other-> ')
      terminal.type('quit\r')
      await terminal.shows('other-> ')
      terminal.type('\x03')
      await terminal.shows('other=> ')
      terminal.type('quit;\r')
      expect(await terminal.ended).toBe(0)
      const other = await shell()
      other.type('Exit\r')
      expect(await other.ended).toBe(0)
    })

    it('shows a failure below its place, and goes on', async () => {
      const terminal = await shell()
      await enter(terminal, 'FROM Order')
      expect(await enter(terminal, "WHERE numbr = 1 AND note = 'x' RETURN *;")).toBe(
        "error: Line 2, column 7: class Shop.Order has no attribute 'numbr'. Did you mean number?\n  WHERE numbr = 1 AND note = 'x' RETURN *;\n        ^\n",
      )
      expect(await enter(terminal, '\\frobnicate')).toBe('error: There is no command \\frobnicate. See \\?.\n')
      expect(await enter(terminal, '\\i nowhere.do')).toContain('error: The file nowhere.do cannot be read')
      expect(await enter(terminal, '\\fd nowhere')).toContain('error: ')
      expect(await enter(terminal, '\\d Clint')).toBe('error: There is no class Clint. Did you mean Client?\n')
      expect(await enter(terminal, 'FROM Client RETURN name;')).toContain('Ann')
    })

    it('takes statements over several lines, and what was typed ahead', async () => {
      const terminal = await shell()
      expect(await enter(terminal, 'FROM Client RETURN (')).toBe('')
      terminal.type('\x03')
      await terminal.shows('other=> ')
      expect(await enter(terminal, 'FROM Client')).toBe('')
      expect(await enter(terminal, "WHERE name = 'An")).toBe('')
      terminal.type("' RETURN name;\r")
      await terminal.shows(/\(no rows\)\nother=> $/)
      await enter(terminal, 'FROM Client RETURN name')
      expect(await enter(terminal, '')).toBe('name\nAnn\n(1 row)\n')
      terminal.type('LET x = 1;\rFROM Client RETURN $x AS one;\rSHOW 2;\rSHOW 3;\r')
      expect(await terminal.shows(/value\n +3\n\(1 row\)\nother=> $/)).toMatch(
        /one\n +1\n[\s\S]*SHOW 2;\s+value\n +2\n/,
      )
    })

    it('keeps what was typed for the next time, for nobody else, and no secrets', async () => {
      const directory = temporaryDirectory()
      const first = await shell({ directory })
      await enter(first, 'FROM Client')
      await enter(first, 'RETURN name;')
      await enter(first, '\\set password "x y"')
      await enter(first, ' SHOW 7;')
      first.type('\\q\r')
      expect(await first.ended).toBe(0)
      const file = join(directory, 'ashlar', 'history')
      expect(readFileSync(file, 'utf8')).toBe('FROM Client RETURN name;\n\\q\n')
      expect(statSync(file).mode & 0o777).toBe(0o600)
      const second = await shell({ directory })
      second.type('\x1b[A\x1b[A')
      await second.shows('FROM Client RETURN name;')
      expect(await enter(second, '')).toContain('Ann')
    })

    it('shows control characters of values and errors, and is not steered by them', async () => {
      const terminal = await shell()
      const before = terminal.output.length
      for (const format of ['table', 'json', 'ndjson', 'csv', 'x']) {
        await enter(terminal, `\\${format}`)
        expect(await enter(terminal, `SHOW 'a\\x1b[31m\\x9b31mb\\x07';`)).toMatch(/31m/)
      }
      const shown = terminal.output.slice(before)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
      expect(shown).not.toMatch(/\x1b\[31mb|\x9b|\x07/)
    })

    it('has colours on a terminal alone, and without NO_COLOR', async () => {
      const terminal = await shell()
      await enter(terminal, 'FROM Client RETURN name;')
      expect(terminal.output).toContain('\x1b[1mname')
      const plain = await shell({ environment: { NO_COLOR: '1' } })
      await enter(plain, 'FROM Client RETURN name;')
      await enter(plain, 'FROM Nothing RETURN name;')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
      expect(plain.output).not.toMatch(/\x1b\[(?:1|31)m/)
    })
  },
)
