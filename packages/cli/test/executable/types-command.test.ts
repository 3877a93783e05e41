/** `ashlar types`: the same declarations of a server, of a store and of files, and whether a file still has them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../server/test/executable/process.ts'
import { served } from './command-line.ts'

const server = served()

const schema = 'UPDATE SCHEMA { CREATE CLASS Todo.Task {title: String{Required}, isDone: Boolean} };\n'

it('writes and checks the classes of files, of a server, and of a store', async () => {
  const directory = temporaryDirectory()
  const run = (...words: string[]) => server.run(['types', ...words], { directory })
  writeFileSync(join(directory, 'schema.do'), schema)
  expect(await run('schema.do', '-o', 'schema.d.ts')).toMatchObject({ code: 0, stdout: '' })
  const written = readFileSync(join(directory, 'schema.d.ts'), 'utf8')
  expect(written).toContain(
    "export interface Todo$Task {\n\t$id: Id<'Todo.Task'>\n\t[is]: Fields<'title'>\n\tisDone: boolean|null\n",
  )
  expect((await run('schema.do')).stdout).toBe(written)

  const client = new AshlarClient({ baseUrl: server.url })
  await client.query(schema)
  expect((await run()).stdout).toBe(written)
  expect(await run('--check', 'schema.d.ts')).toMatchObject({
    code: 0,
    stdout: 'schema.d.ts has the types of the schema.\n',
  })

  const address = `lmdb:${join(directory, 'store')}`
  const fd = await FederatedDatabase.open({ alias: 'store', store: await openStore(address) })
  for await (const _ of (await fd.query({ text: schema })).chunks);
  expect((await run('--data', address)).stdout).toBe(written)
  await fd.close()

  await client.query('UPDATE SCHEMA { ALTER CLASS Todo.Task {ADD due: Date} }')
  const stale = await run('--check', 'schema.d.ts')
  expect(stale).toMatchObject({ code: 8, stderr: expect.stringContaining('write it again with ashlar types') })
  expect(readFileSync(join(directory, 'schema.d.ts'), 'utf8')).toBe(written)
})

it('refuses two sources, and places where there is nothing', async () => {
  const directory = temporaryDirectory()
  const run = (...words: string[]) => server.run(['types', ...words], { directory })
  expect(await run('schema.do', '--data', 'memory:')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('not both'),
  })
  expect(await run('--data', 'lmdb:none')).toMatchObject({ code: 2, stderr: expect.stringContaining('no store at') })
  expect(await run('--data', './none')).toMatchObject({ code: 2 })
  expect(await run('none.do')).toMatchObject({ stderr: expect.stringContaining('none.do') })
  expect(await run('--check', 'none.d.ts')).toMatchObject({ stderr: expect.stringContaining('none.d.ts') })
})
