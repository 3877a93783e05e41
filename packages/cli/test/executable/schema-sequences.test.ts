/** `ashlar schema` with sequences, which belong to no namespace, and constraints that are not validated. */
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

it('shows what stored objects may violate as a comment, which is ignored where the text is read', async () => {
  const directory = temporaryDirectory()
  const client = new AshlarClient({ baseUrl: server.url, fdAlias: 'default' })
  const run = (...words: string[]) =>
    server.run(['schema', ...words], { directory, environment: { ASHLAR_FD: 'default' } })
  await client.query('UPDATE SCHEMA { CREATE CLASS Note { n: Integer, text: String } }; CREATE Note {n: 1}')
  const change = {
    attributesToConstrain: [{ attributeName: 'n', minimum: 2 }],
    classFields: { checks: [{ name: 'long', expression: 'LENGTH(text) > 2' }] },
  }
  await client.alterClass('Note', change, { validate: false })
  const lines = [
    '    n: Integer{Minimum: 2}, // not validated',
    '    text: String,',
    '    CHECK long: LENGTH(text) > 2, // not validated',
  ]
  const { stdout } = await run('pull')
  expect(stdout).toContain(`${lines.join('\n')}\n`)
  writeFileSync(join(directory, 'schema.do'), stdout)
  expect(await run('apply', 'schema.do')).toMatchObject({ stdout: 'The schema is up to date.\n' })
  await client.query('DELETE Note')
  await client.runTool('ValidateConstraints')
  expect(await run('apply', 'schema.do')).toMatchObject({ stdout: 'The schema is up to date.\n' })
  const validated = stdout.replace('> 2, //', '> 2 //').replaceAll(' // not validated', '')
  expect((await run('pull')).stdout).toBe(validated)
})
