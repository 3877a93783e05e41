/** `ashlar dev`: the schema of its server follows a file, and so do the declarations. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { expect, it, vi } from 'vitest'
import { ashlar, start, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { noTerminal, PseudoTerminal } from './pseudo-terminal.ts'

const withAttributes = (attributes: string): string => `UPDATE SCHEMA { CREATE CLASS Task {${attributes}} };\n`
const waiting = { timeout: 40_000 }

function project(attributes: string): { readonly directory: string; save(text: string): void; types(): string } {
  const directory = temporaryDirectory()
  const save = (text: string): void => writeFileSync(join(directory, 'schema.do'), text)
  save(withAttributes(attributes))
  return { directory, save, types: () => readFileSync(join(directory, 'schema.d.ts'), 'utf8') }
}

it('applies each saved schema that loses nothing, reports mistakes in it, and writes the types', async () => {
  const { directory, save, types } = project('title: String{Required}')
  const server = start(['dev', '--port', '0'], {}, directory)
  const shows = (text: string) => vi.waitFor(() => expect(server.output() + server.log()).toContain(text), waiting)
  await shows('Wrote schema.d.ts.')
  expect(types()).toContain('title: string')

  save(withAttributes('title: String{Required}, due: Date'))
  await shows('Applied as version 2.')
  await vi.waitFor(() => expect(types()).toContain('due: string|null'), waiting)
  const client = new AshlarClient({ baseUrl: await server.url })
  await client.createObject('Task', { title: 'a', due: '2026-01-01' })

  save(withAttributes('title: Strin{Required}'))
  await shows("schema.do:1: there is no type 'Strin'")
  save(withAttributes('title: String{Required}'))
  await shows('! ALTER CLASS Task {DROP due}')
  expect(await client.query('FROM Task RETURN due')).toEqual([{ due: '2026-01-01' }])
  expect(types()).toContain('due: string|null')

  save(withAttributes('title: String{Required}, due: Date, points: Integer'))
  await shows('Applied as version 3.')
  server.child.kill('SIGINT')
  expect((await server.ended).code).toBe(0)
})

it.skipIf(noTerminal !== undefined)('asks on a terminal before it loses values', async () => {
  const { directory, save } = project('title: String, due: Date')
  const terminal = new PseudoTerminal(['dev', '--port', '0'], { directory })
  await terminal.shows('Wrote schema.d.ts.')
  save(withAttributes('title: String'))
  await terminal.shows('Apply? [y/N]')
  terminal.type('n\r')
  await terminal.shows('Nothing was changed')
  save(withAttributes('due: Date'))
  await terminal.shows('Apply? [y/N]')
  terminal.type('y\r')
  await terminal.shows('Applied as version 2.')
  save(withAttributes('points: Integer'))
  await terminal.shows('Apply? [y/N]')
  terminal.type('\x03')
  expect(await terminal.ended).toBe(0)
})

it('prints JSON with --json, also of mistakes', async () => {
  const { directory, save } = project('title: String')
  const server = start(['dev', '--port', '0', '--json'], {}, directory)
  await vi.waitFor(() => expect(server.output()).toMatch(/"version": "?1"?[\s\S]*"types": "schema.d.ts"/), waiting)
  save('UPDATE SCHEMA {')
  const failure = /^\{"error".*$/m
  await vi.waitFor(() => expect(server.log()).toMatch(failure), waiting)
  expect(JSON.parse(failure.exec(server.log())?.[0] ?? '')).toMatchObject({ error: { exitCode: 7 } })
})

it('refuses a file that does not exist, and a port that is none', async () => {
  const { directory } = project('title: String')
  expect(await ashlar(['dev', 'none.do'], { directory })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no none.do'),
  })
  expect(await ashlar(['dev', '--port', 'x'], { directory })).toMatchObject({ code: 2 })
})
