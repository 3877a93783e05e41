/** `ashlar schema` with sequences, which belong to no namespace. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../server/test/executable/process.ts'
import { served } from './command-line.ts'

const server = served()

it('makes, pulls, compares and removes them', async () => {
  const directory = temporaryDirectory()
  const client = new AshlarClient({ baseUrl: server.url, fdAlias: 'default' })
  const write = (file: string, content: string) => writeFileSync(join(directory, file), content)
  const run = (...words: string[]) =>
    server.run(['schema', ...words], { directory, environment: { ASHLAR_FD: 'default' } })
  const text = "CREATE SEQUENCE 'a-b' START -9223372036854775808 STEP 2;\nCREATE SEQUENCE s;\n\nUPDATE SCHEMA {\n};\n"
  write('sequences.do', text)
  expect(await run('apply', 'sequences.do')).toMatchObject({ code: 0 })
  expect((await run('pull')).stdout).toBe(text)
  expect(await run('check', 'sequences.do')).toMatchObject({ code: 0 })
  expect(await client.query("SHOW NEXT('s')")).toEqual([1])
  write('sequences.do', 'UPDATE SCHEMA {}; CREATE SEQUENCE s START 5')
  expect((await run('diff', 'sequences.do')).stdout).toBe(
    "- CREATE SEQUENCE 'a-b' START -9223372036854775808 STEP 2\n- CREATE SEQUENCE s\n+ CREATE SEQUENCE s START 5\n",
  )
  expect(await run('apply', 'sequences.do')).toMatchObject({ code: 5 })
  expect(await run('apply', 'sequences.do', '--allow-loss')).toMatchObject({ code: 0 })
  expect(await client.query('SHOW SEQUENCES')).toEqual([{ name: 's', start: 5, step: 1, next: 5 }])
  expect(await run('apply', 'sequences.do')).toMatchObject({ stdout: 'The schema is up to date.\n' })
  await client.query('DROP SEQUENCE s')
  expect(await run('check', 'sequences.do', '--namespace', 'Fleet')).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('the sequence s, which is in no namespace'),
  })
})
