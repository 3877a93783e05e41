/** docs/react.md: its examples are type-checked with the declarations of their schema, and run in a real browser. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { expect, it, onTestFinished } from 'vitest'
import { ChromiumUnavailable, launchChromium } from '../../../tools/chromium-for-tests.ts'
import { schemaOfSource } from '../../cli/src/schema/scratch-schema.ts'
import { declarationsOf } from '../../cli/src/types/declarations.ts'
import { openServer } from '../../server/test/unit/open-server.ts'
import { connect, type Id, liveOf } from '../src/index.ts'
import { clientSource, compileProject, reactSource } from './typed-project.ts'

function blocks(page: string, kind: string): string[] {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block)
}

/** Shows what the page only defines. */
const shown = `
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
function Titles() {
  const { data = [] } = useLiveQuery(live.watch('Task', { select: { title: true }, orderBy: { title: 'asc' } }))
  return <p>{data.map(({ title }) => title).join(', ')}</p>
}
createRoot(document.getElementById('titles')!).render(
  <QueryClientProvider client={new QueryClient()}><Titles /></QueryClientProvider>)
`

interface Example {
  readonly url: string
  readonly page: string
  /** `useRows` of the page. */
  readonly vue: string
}

async function bundled(origin: string): Promise<Example> {
  const [schema = ''] = blocks('typescript.md', 'do')
  const { classes } = await schemaOfSource({ text: schema, placeOf: () => ({ place: 'the page', line: '' }) })
  const { app } = await openServer({ browsers: { host: '127.0.0.1', hosts: undefined, cors: [origin] } })
  const url = (await app.listen({ host: '127.0.0.1', port: 0 })).replace('127.0.0.1', 'localhost')
  await connect(url).client.query(schema)
  const { folder, errors } = compileProject({
    'schema.d.ts': declarationsOf(classes),
    'page.tsx': (blocks('react.md', 'tsx').join('') + shown).replace('http://127.0.0.1:8185', url),
    'vue.ts': `${blocks('react.md', 'ts').join('')}export { effectScope } from 'vue'\n`,
  })
  expect(errors).toBe('')
  const common = { bundle: true, format: 'esm' } as const
  const alias = { '@ashlar/client/react': reactSource, '@ashlar/client': clientSource, vue: '@vue/reactivity' }
  const vue = join(folder, 'vue.mjs')
  await build({ ...common, alias, platform: 'node', entryPoints: [join(folder, 'vue.ts')], outfile: vue })
  const define = { 'process.env.NODE_ENV': '"production"' }
  const page = await build({
    ...common,
    alias,
    define,
    jsx: 'automatic',
    entryPoints: [join(folder, 'page.tsx')],
    write: false,
  })
  return { url, vue, page: page.outputFiles[0]?.text ?? '' }
}

interface Schema {
  Task: { $id: Id<'Task'>; title: string }
}

/** In a component of Vue, and no longer once it is gone. */
async function vueShows({ url, vue }: Example, titles: readonly string[]): Promise<void> {
  const store = liveOf(connect<Schema>(url)).watch('Task', { select: { title: true } })
  const { useRows, effectScope } = (await import(pathToFileURL(vue).href)) as {
    useRows(from: typeof store): { readonly value: ReturnType<typeof store.get> }
    effectScope(): { run<T>(inner: () => T): T; stop(): void }
  }
  const scope = effectScope()
  const reference = scope.run(() => useRows(store))
  await expect.poll(() => reference.value.rows.map(({ title }) => title)).toEqual(titles)
  scope.stop()
  await expect.poll(() => store.get().status).toBe('loading')
}

it('the examples compile, and show the rows of the database', async ({ skip }) => {
  let script = ''
  const pages = createServer(({ url }, reply) => {
    reply.setHeader('content-type', url === '/page.js' ? 'text/javascript' : 'text/html')
    const html = '<div id="root"></div><div id="titles"></div><script type="module" src="/page.js"></script>'
    reply.end(url === '/page.js' ? script : html)
  })
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    pages.closeAllConnections()
    pages.close()
  })
  const origin = `http://localhost:${(pages.address() as AddressInfo).port}`
  const example = await bundled(origin)
  script = example.page
  const { client } = connect(example.url)
  const { __identifier__: project } = await client.createObject('Project', { code: 'H', name: 'House' })
  const { __identifier__: owner } = await client.createObject('Person', { name: 'Ann' })
  await client.createObject('Task', { title: 'Paint', project, owner })

  await vueShows(example, ['Paint'])
  const browser = await launchChromium().catch((error: unknown) => {
    if (!(error instanceof ChromiumUnavailable) || process.env.CI) throw error
    return skip(error.message)
  })
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  await page.goto(origin)
  await page.getByText('Paint Ann').waitFor()
  await page.getByRole('button', { name: 'Ann', exact: true }).waitFor()
  await client.createObject('Task', { title: 'Rest', project })
  await page.locator('#titles').getByText('Paint, Rest', { exact: true }).waitFor()
  await page.getByText('Paint Ann').getByRole('button').click()
  await page.getByText('Paint Ann').waitFor({ state: 'detached' })
  await expect.poll(() => client.query("FROM Task WHERE status = 'done' RETURN title")).toEqual([{ title: 'Paint' }])
})
