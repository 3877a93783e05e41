/** examples/tasks in a real browser: people see each other's changes, refused ones disappear, roles hold, and a server that restarts is waited for. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { ChromiumUnavailable, launchChromium } from '../../../../tools/chromium-for-tests.ts'
import { schemaOfSource } from '../../../cli/src/schema/scratch-schema.ts'
import { declarationsOf } from '../../../cli/src/types/declarations.ts'
import { ashlar, freePort, type Started, start, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { AshlarClient } from '../../src/client.ts'

const example = fileURLToPath(new URL('../../../../examples/tasks', import.meta.url))
const schema = readFileSync(join(example, 'schema.do'), 'utf8')
const timeout = 60_000

let browser: Browser | undefined
let unavailable = ''

beforeAll(async () => {
  try {
    browser = await launchChromium()
  } catch (error) {
    if (!(error instanceof ChromiumUnavailable) || process.env.CI) throw error
    unavailable = `The example was not tested in a browser: ${error.message}`
    process.stderr.write(`${unavailable}\n`)
  }
})
afterAll(() => browser?.close())

it('has the declarations of its schema', async () => {
  const { classes } = await schemaOfSource({ text: schema, placeOf: () => ({ place: 'schema.do', line: '' }) })
  expect(readFileSync(join(example, 'schema.d.ts'), 'utf8')).toBe(declarationsOf(classes))
})

/** The page of the example, as `npm start` serves it. */
async function servePage(): Promise<string> {
  const child = spawn(process.execPath, ['serve.mjs', '0'], { cwd: example, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill())
  for await (const text of child.stdout.setEncoding('utf8')) {
    const origin = /http:\/\/\S+/.exec(text as string)?.[0]
    if (origin !== undefined) return origin
  }
  throw new Error('serve.mjs has ended before it served the page.')
}

interface Served {
  readonly client: AshlarClient
  readonly url: string
  readonly origin: string
  readonly tokens: Readonly<Record<string, string>>
  /** Ends the server; `start` starts it again. */
  stop(): Promise<void>
  start(): Promise<void>
}

/** A server with the schema, a project, and what the README says of users and tokens. */
async function serveTasks(): Promise<Served> {
  const directory = temporaryDirectory()
  const [origin, port] = [await servePage(), await freePort()]
  let server: Started | undefined
  const run = async (): Promise<string> => {
    server = start(['serve', '--auth', '--port', String(port), '--cors', origin], {}, directory)
    return (await server.url).replace('127.0.0.1', 'localhost')
  }
  const url = await run()
  const tokenOf = async (...words: string[]): Promise<string> => {
    const { stdout, stderr } = await ashlar(['token', 'create', ...words, '--json'], { directory })
    const token = /ash_[\w-]+/.exec(stdout)?.[0]
    if (token === undefined) throw new Error(`There is no token in ${stdout}${stderr}`)
    return token
  }
  const tokens: Record<string, string> = {}
  for (const [name, role] of [
    ['ann', 'writer'],
    ['bob', 'writer'],
    ['eve', 'reader'],
  ] as const) {
    await ashlar(['user', 'add', name, '--no-password', '--role', role], { directory })
    tokens[name] = await tokenOf('--name', 'page', '--owner', name)
  }
  const client = new AshlarClient({ baseUrl: url, token: await tokenOf('--name', 'set-up', '--role', 'admin') })
  await client.query(schema)
  for (const name of ['Ann', 'Bob']) await client.createObject('Person', { user: name.toLowerCase(), name })
  const { __identifier__: project } = await client.createObject('Project', { name: 'House' })
  await client.createObject('Task', { title: 'Paint the door', project })
  const stop = async (): Promise<void> => {
    server?.child.kill('SIGTERM')
    await server?.ended
  }
  return { client, url, origin, tokens, stop, start: async () => void (await run()) }
}

async function openPage({ url, origin, tokens }: Served, user: string): Promise<Page> {
  const page = await (await (browser as Browser).newContext()).newPage()
  page.setDefaultTimeout(timeout)
  await page.goto(origin)
  await page.getByLabel('Server').fill(url)
  await page.getByLabel('Token').fill(tokens[user] ?? '')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await task(page, 'Paint the door').waitFor()
  return page
}

const task = (page: Page, title: string): Locator => page.locator(`[data-task="${title}"]`)
const alert = (page: Page): Locator => page.getByRole('alert')
const status = (page: Page, text: string): Promise<void> =>
  page
    .getByTestId('status')
    .and(page.getByText(text, { exact: true }))
    .waitFor()

async function add(page: Page | Locator, label: string, text: string): Promise<void> {
  await page.getByLabel(label).fill(text)
  await page.getByLabel(label).press('Enter')
}

/** Counts what the page has shown, also between two looks: each text that its list of tasks has had. */
async function recordTasks(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(`{
    const titles = () => [...document.querySelectorAll('[data-task]')].map((item) => item.dataset.task).join(', ')
    globalThis.shownTasks = [titles()]
    new MutationObserver(() => shownTasks.at(-1) === titles() || shownTasks.push(titles()))
      .observe(document.body, { subtree: true, childList: true, attributes: true })
  }`)
  return () => page.evaluate('shownTasks')
}

it('two people see each other’s changes, also those of a server that has restarted', async ({ skip }) => {
  if (unavailable !== '') skip(unavailable)
  const served = await serveTasks()
  const [ann, bob] = [await openPage(served, 'ann'), await openPage(served, 'bob')]
  await add(ann, 'New task', 'Buy paint')
  await task(bob, 'Buy paint').waitFor()
  await task(bob, 'Buy paint').getByLabel('Owner').selectOption('Bob')
  await task(ann, 'Buy paint').locator('option:checked', { hasText: 'Bob' }).waitFor({ state: 'attached' })
  await task(ann, 'Paint the door').getByLabel('Done').check()
  await bob.locator('.done[data-task="Paint the door"]').waitFor()
  for (const page of [ann, bob]) await task(page, 'Buy paint').getByRole('button', { name: 'Comments' }).click()
  await add(task(ann, 'Buy paint'), 'New comment', 'Blue, please')
  await task(bob, 'Buy paint').getByText('Ann Blue, please').waitFor()
  await add(bob, 'New project', 'Garden')
  await ann.getByRole('button', { name: 'Garden' }).waitFor()

  const shown = await recordTasks(ann)
  await served.stop()
  for (const page of [ann, bob]) await status(page, 'reconnecting')
  await served.start()
  for (const page of [ann, bob]) await status(page, 'ready')
  await bob.getByRole('button', { name: 'House' }).click()
  await add(bob, 'New task', 'Clean up')
  await task(ann, 'Clean up').waitFor()
  await task(ann, 'Clean up').getByRole('button', { name: 'Delete' }).click()
  await task(bob, 'Clean up').waitFor({ state: 'detached' })
  const tasks = 'Buy paint, Paint the door'
  expect(await shown()).toEqual([tasks, 'Buy paint, Clean up, Paint the door', tasks])
}, 300_000)

it('a change that is refused is shown, reported, and rolled back', async ({ skip }) => {
  if (unavailable !== '') skip(unavailable)
  const served = await serveTasks()
  const page = await openPage(served, 'ann')
  const long = 'x'.repeat(81)
  const shown = await recordTasks(page)
  await add(page, 'New task', long)
  await alert(page)
    .getByText(/title .*at most 80 characters/)
    .waitFor()
  const title = task(page, 'Paint the door').getByLabel('Title')
  await title.fill(long)
  await title.press('Enter')
  await task(page, 'Paint the door').waitFor()
  await alert(page)
    .getByText(/title .*at most 80 characters/)
    .waitFor()
  await add(page, 'New project', 'House')
  await alert(page)
    .getByText(/"House" is already held by/)
    .waitFor()
  const before = 'Paint the door'
  await expect.poll(shown).toEqual([before, `${before}, ${long}`, before, long, before])
  expect(await page.getByRole('button', { name: 'House' }).count()).toBe(1)
  expect(await served.client.query('FROM Task RETURN title')).toEqual([{ title: before }])
}, 300_000)

it('who only reads sees the changes of others, and can make none', async ({ skip }) => {
  if (unavailable !== '') skip(unavailable)
  const served = await serveTasks()
  const [ann, eve] = [await openPage(served, 'ann'), await openPage(served, 'eve')]
  await eve.getByText('You only read').waitFor()
  await eve.getByLabel('Done').click()
  await alert(eve).waitFor()
  expect(await alert(eve).textContent()).toContain('write')
  await eve.locator('.open[data-task="Paint the door"]').waitFor()
  await task(ann, 'Paint the door').getByLabel('Done').check()
  await eve.locator('.done[data-task="Paint the door"]').waitFor()
  await eve.getByRole('button', { name: 'Delete' }).click()
  await task(eve, 'Paint the door').waitFor()
  expect(await served.client.query('FROM Task RETURN status')).toEqual([{ status: 'done' }])

  await eve.getByRole('button', { name: 'Sign out' }).click()
  await eve.getByLabel('Token').fill('ash_0123456789abcdef_wrong')
  await eve.getByRole('button', { name: 'Sign in' }).click()
  await alert(eve).waitFor()
}, 300_000)
