/** docs/typescript.md: its example is type-checked with the declarations of its schema, is run, and prints what the page says. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { schemaOfSource } from '../../cli/src/schema/scratch-schema.ts'
import { declarationsOf } from '../../cli/src/types/declarations.ts'
import { openServer } from '../../server/test/unit/open-server.ts'
import { AshlarClient } from '../src/client.ts'
import { clientSource, compileProject } from './typed-project.ts'

const page = readFileSync(new URL('../../../docs/typescript.md', import.meta.url), 'utf8')

function blocks(kind: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text = '']) => text)
}

it('the example compiles, and prints what the page says', async () => {
  const [schema = ''] = blocks('do')
  const { classes } = await schemaOfSource({ text: schema, placeOf: () => ({ place: 'the page', line: '' }) })
  const { app } = await openServer()
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  await new AshlarClient({ baseUrl: url }).query(schema)

  const { folder, errors } = compileProject({
    'schema.d.ts': declarationsOf(classes),
    'example.ts': blocks('ts').join('').replace('http://127.0.0.1:8185', url),
  })
  expect(errors).toBe('')

  const outfile = join(folder, 'example.mjs')
  const alias = { '@ashlar/client': clientSource }
  await build({
    entryPoints: [join(folder, 'example.ts')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    alias,
    outfile,
  })
  const { stdout } = await promisify(execFile)(process.execPath, [outfile])
  expect(stdout).toBe(blocks('text').join(''))
})
