/** Hooks for React in a real browser, in StrictMode, and rendered by a server. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ChromiumUnavailable, launchChromium } from '../../../tools/chromium-for-tests.ts'
import { openServer } from '../../server/test/unit/open-server.ts'
import { AshlarClient } from '../src/client.ts'
import { App, Lost, open } from './react-page.ts'

const schema = readFileSync(new URL('typed-schema.do', import.meta.url), 'utf8')
const rendered = renderToString(createElement(App, { live: open('http://127.0.0.1:1'), points: 1, copies: 2 }))

let browser: Browser | undefined
let unavailable = ''
let bundle = ''
const pages = createServer(({ url }, reply) => {
  reply.setHeader('content-type', url === '/page.js' ? 'text/javascript' : 'text/html')
  reply.end(
    url === '/page.js' ? bundle : `<script src="/page.js"></script><div id="root">${url === '/' ? '' : rendered}</div>`,
  )
})

beforeAll(async () => {
  try {
    browser = await launchChromium()
  } catch (error) {
    if (!(error instanceof ChromiumUnavailable) || process.env.CI) throw error
    unavailable = `The hooks were not tested in a browser: ${error.message}`
    process.stderr.write(`${unavailable}\n`)
  }
  const built = await build({
    entryPoints: [fileURLToPath(new URL('react-page.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'page',
    define: { 'process.env.NODE_ENV': '"development"' },
  })
  bundle = built.outputFiles[0]?.text ?? ''
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  await browser?.close()
  pages.closeAllConnections()
  pages.close()
})

async function serve(path: string): Promise<{ client: AshlarClient; page: Page }> {
  const origin = `http://localhost:${(pages.address() as AddressInfo).port}`
  const { app } = await openServer({ browsers: { host: '127.0.0.1', hosts: undefined, cors: [origin] } })
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  const client = new AshlarClient({ baseUrl })
  await client.query(schema)
  for (const points of [1, 2]) await client.createObject('Work.Task', { title: `of ${points}`, points })
  const page = await (await (browser as Browser).newContext()).newPage()
  await page.goto(origin + path)
  const url = baseUrl.replace('127.0.0.1', 'localhost')
  await page.evaluate(`globalThis.shown = page.show('${url}', document.getElementById('root'), ${path !== '/'})`)
  return { client, page }
}

const shows = (page: Page, id: string, text: string): Promise<void> =>
  page.locator(`#${id}:text-is("${text}")`).waitFor()
const queriesOf = (page: Page): Promise<unknown> => page.evaluate('({ ...page.queries })')

it('useWatch has one live query for equal options, as long as a component shows it', async ({ skip }) => {
  if (unavailable !== '') skip(unavailable)
  const { client, page } = await serve('/')
  await page.evaluate('shown.render(1, 2)')
  for (const id of ['watched0', 'watched1']) await shows(page, id, 'ready: of 1')
  await page.evaluate('shown.render(1, 3)')
  await shows(page, 'watched2', 'ready: of 1')
  expect(await queriesOf(page)).toEqual({ begun: 1, ended: 0, found: 1 })

  await client.createObject('Work.Task', { title: 'later', points: 1 })
  await shows(page, 'watched0', 'ready: of 1,later')
  await page.evaluate('shown.render(2, 1)')
  await shows(page, 'watched0', 'ready: of 2')
  expect(await queriesOf(page)).toEqual({ begun: 2, ended: 1, found: 1 })

  await page.locator('#watched0').click()
  await shows(page, 'watched0', 'ready: watched0 was here')
  await expect
    .poll(() => client.query('FROM Work.Task WHERE points = 2 RETURN title'))
    .toEqual([{ title: 'watched0 was here' }])
  await page.evaluate('shown.unmount()')
  await expect.poll(() => queriesOf(page)).toMatchObject({ begun: 2, ended: 2 })
})

it('useFind reads once, and again by refresh', async ({ skip }) => {
  if (unavailable !== '') skip(unavailable)
  const { client, page } = await serve('/')
  await page.evaluate('shown.render(1, 0)')
  await shows(page, 'found', 'ready: of 1')
  await client.query("UPDATE Work.Task SET title TO 'new'")
  await page.evaluate('shown.render(1, 0)')
  await page.locator('#found').click()
  await shows(page, 'found', 'ready: new')
  expect(await queriesOf(page)).toEqual({ begun: 0, ended: 0, found: 2 })
})

it('a page that a server has rendered is taken over as it is, and then has its rows', async ({ skip }) => {
  expect(rendered.match(/loading: /g)).toHaveLength(3)
  if (unavailable !== '') skip(unavailable)
  const { page } = await serve('/rendered')
  await shows(page, 'watched1', 'ready: of 1')
  expect(await page.evaluate('shown.mistakes')).toEqual([])
})

it('without a database around them, hooks say so', () => {
  expect(() => renderToString(createElement(Lost))).toThrow(
    'There is no database: put a <LiveProvider live={liveOf(db)}> around',
  )
})
