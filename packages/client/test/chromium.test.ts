/** The client in a real browser: every kind of call over HTTP/1.1 from a page of another origin, and sessions. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ChromiumUnavailable, launchChromium } from '../../../tools/chromium-for-tests.ts'
import { openSecureServer, passwordOf } from '../../server/test/unit/open-secure-server.ts'
import { openServer } from '../../server/test/unit/open-server.ts'
import type * as clientPackage from '../src/index.ts'

/** What the page has of the bundle. */
declare const ashlar: typeof clientPackage

let browser: Browser | undefined
let unavailable = ''
let bundle = ''
const pages = createServer(({ url }, reply) => {
  reply.setHeader('content-type', url === '/ashlar.js' ? 'text/javascript' : 'text/html')
  reply.end(url === '/ashlar.js' ? bundle : '<title>Test</title><script src="/ashlar.js"></script>')
})

/** The page and the server are of one site, and of two origins. */
let origin = ''

beforeAll(async () => {
  try {
    browser = await launchChromium()
  } catch (error) {
    if (!(error instanceof ChromiumUnavailable) || process.env.CI) throw error
    unavailable = `The client was not tested in a browser: ${error.message}`
    process.stderr.write(`${unavailable}\n`)
  }
  const entryPoints = [fileURLToPath(new URL('../src/index.ts', import.meta.url))]
  const built = await build({ entryPoints, bundle: true, write: false, format: 'iife', globalName: 'ashlar' })
  bundle = built.outputFiles[0]?.text ?? ''
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
  origin = `http://localhost:${(pages.address() as AddressInfo).port}`
})
afterAll(async () => {
  await browser?.close()
  pages.closeAllConnections()
  pages.close()
})
beforeEach(({ skip }) => {
  if (unavailable !== '') skip(unavailable)
})

/** A page of its own cookies. */
async function openPage(url = origin): Promise<Page> {
  const context = await (browser as Browser).newContext()
  const page = await context.newPage()
  await page.goto(url)
  return page
}

async function serve(cors: readonly string[] = [origin]): Promise<string> {
  const { app } = await openServer({ browsers: { host: '127.0.0.1', hosts: undefined, cors } })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return `http://localhost:${(app.server.address() as AddressInfo).port}`
}

describe('from a page of another origin', () => {
  it('objects are created, read, changed and queried', async () => {
    const page = await openPage()
    const result = await page.evaluate(
      async (baseUrl) => {
        const client = new ashlar.AshlarClient({ baseUrl, integers: 'bigint', dates: true })
        await client.createClasses([
          {
            className: 'Car',
            isReferenceable: true,
            attributes: [
              { attributeName: 'n', logicalType: 'integer', storage: 'b64' },
              { attributeName: 'at', logicalType: 'datetime', storage: 'datetimeoffset' },
            ],
          },
        ])
        const at = new Date('2026-07-01T12:00:00Z')
        const { __identifier__: oid } = await client.createObject('Car', { n: 9_007_199_254_740_993n, at })
        const { etag } = await client.readObjectWithEtag(oid)
        await client.updateObject(oid, { n: 9_007_199_254_740_995n }, { ifMatch: etag })
        const refused = await client.updateObject(oid, { n: 1 }, { ifMatch: etag }).catch((error: unknown) => error)
        const [row] = await client.query<{ n: bigint; at: Date }>('FROM Car RETURN n, at')
        const streamed: unknown[] = []
        for await (const { n } of client.queryStream<{ n: bigint }>('FROM Car RETURN n')) streamed.push(String(n))
        const decoder = new TextDecoder()
        let exported = ''
        for await (const bytes of client.export({ class: 'Car', format: 'csv', columns: ['n'] })) {
          exported += decoder.decode(bytes, { stream: true })
        }
        // As a page passes it on: it refuses to be called as a method of the client.
        const given = new ashlar.AshlarClient({ baseUrl, fetch: globalThis.fetch as never })
        await given.deleteObject(oid)
        return {
          row: [String(row?.n), row?.at.toISOString()],
          refused: (refused as clientPackage.AshlarRequestError).type,
          streamed,
          exported,
          left: await given.query('FROM Car RETURN COUNT() AS n'),
        }
      },
      await serve(),
    )
    expect(result).toEqual({
      row: ['9007199254740995', '2026-07-01T12:00:00.000Z'],
      refused: 'PreconditionFailed',
      streamed: ['9007199254740995'],
      exported: 'n\n9007199254740995\n',
      left: [{ n: 0 }],
    })
  })

  it('queries and changes are followed, until they are aborted', async () => {
    const page = await openPage()
    const result = await page.evaluate(
      async (baseUrl) => {
        const client = new ashlar.AshlarClient({ baseUrl })
        await client.query('UPDATE SCHEMA { CREATE CLASS Car { year: Integer } }')
        const ending = new AbortController()
        const { signal } = ending
        const live = new ashlar.LiveRows<{ year: number }>()
        const seen: number[][] = []
        const following = async (): Promise<void> => {
          for await (const event of client.followQuery<{ year: number }>(
            'FROM Car ORDER BY year RETURN year',
            {},
            { signal },
          )) {
            live.apply(event)
            if (event.event !== 'position') continue
            seen.push(live.rows.map(({ row }) => row.year))
            if (seen.length > 2) ending.abort(new Error('enough'))
            else await client.createObject('Car', { year: 10 - seen.length })
          }
        }
        const ended = await following().catch((error: Error) => error.message)
        const changes: unknown[] = []
        for await (const { after } of client.followChanges({ className: 'Car' })) {
          if (after === undefined) continue
          changes.push(after.year)
          if (changes.length === 2) break
        }
        return { seen, ended, changes }
      },
      await serve(),
    )
    expect(result).toEqual({ seen: [[], [9], [8, 9]], ended: 'enough', changes: [9, 8] })
  })

  it('lines are loaded in chunks, with their order, numbers, names and summary', async () => {
    const page = await openPage()
    const result = await page.evaluate(
      async (baseUrl) => {
        const client = new ashlar.AshlarClient({ baseUrl })
        await client.query(
          'UPDATE SCHEMA { CREATE CLASS Car { year: Integer, note: String, next: Reference{Referenced: Car} } }',
        )
        const note = 'x'.repeat(1_000)
        let requested = 0
        function* lines(): Generator<clientPackage.BulkLine> {
          yield { class: 'Car', id: 'first', attributes: { year: -1, note } }
          for (; requested < 10_000; requested++) {
            yield { class: 'Car', attributes: { year: requested, note, next: `$` + '{first}' } }
          }
        }
        const numbers: number[] = []
        let requestedFirst = 0
        let summary: unknown
        for await (const reply of client.loadObjects(lines())) {
          if ('summary' in reply) summary = reply.summary
          else numbers.push(reply.line)
          requestedFirst ||= requested
        }
        const text = 'FROM Car WHERE next.year = -1 RETURN COUNT() AS n'
        const isOrdered = numbers.every((number, i) => number === i + 1)
        return { isOrdered, lines: numbers.length, requestedFirst, summary, linked: await client.query(text) }
      },
      await serve(),
    )
    expect(result).toMatchObject({
      isOrdered: true,
      lines: 10_001,
      summary: { created: 10_001, updated: 0, failed: 0 },
      linked: [{ n: 10_000 }],
    })
    // Replies come while lines are still to be given.
    expect(result.requestedFirst).toBeLessThan(5_000)
  })

  it('a server that is missing, or does not list the origin, is named at once', async () => {
    const page = await openPage()
    for (const url of ['http://localhost:1', await serve(['http://localhost:1'])]) {
      const failed = await page.evaluate(async (baseUrl) => {
        let attempts = 0
        const client = new ashlar.AshlarClient({
          baseUrl,
          fetch: (address, init) => {
            attempts++
            return fetch(address, init as never)
          },
        })
        const error = await client.listClasses().catch((error: unknown) => error)
        return { ...(error as object), message: String(error), attempts }
      }, url)
      expect(failed).toMatchObject({ name: 'AshlarConnectionError', url, attempts: 1 })
      expect(failed.message).toContain(`${url} (Failed to fetch)`)
    }
  })

  it('calls end by their time limit', async () => {
    const silent = createServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const page = await openPage()
    const failed = await page.evaluate(
      async (baseUrl) => {
        const client = new ashlar.AshlarClient({ baseUrl, timeoutMs: 50 })
        return client.query('SHOW 1').catch((error: Error) => error.name)
      },
      `http://localhost:${(silent.address() as AddressInfo).port}`,
    )
    silent.closeAllConnections()
    silent.close()
    expect(failed).toBe('AshlarTimeoutError')
  })
})

describe('a session', () => {
  async function serveSecurely(): Promise<number> {
    const { app, user } = await openSecureServer({ browsers: { host: '127.0.0.1', hosts: undefined, cors: [origin] } })
    await user('bob', ['admin'])
    await app.listen({ host: '127.0.0.1', port: 0 })
    return (app.server.address() as AddressInfo).port
  }

  /** Signs in, asks who that is, signs out, and asks again. */
  async function signInAndOut(page: Page, url: string): Promise<unknown[]> {
    return page.evaluate(
      async ([baseUrl = '', password = '']) => {
        const client = new ashlar.AshlarClient({ baseUrl })
        const who = async (): Promise<unknown> =>
          client.query('SHOW $$USER.name').catch((error: clientPackage.AshlarRequestError) => error.type)
        const before = await who()
        const { name } = await client.security.signIn({ name: 'bob', password })
        const during = await who()
        await client.security.signOut().catch(() => undefined)
        const { document } = globalThis as unknown as { readonly document: { readonly cookie: string } }
        return [before, name, during, await who(), document.cookie]
      },
      [url, passwordOf('bob')],
    )
  }

  it('is kept for a page of the same site, whose scripts do not see it', async () => {
    const port = await serveSecurely()
    const result = await signInAndOut(await openPage(), `http://localhost:${port}`)
    expect(result).toEqual(['Unauthenticated', 'bob', ['bob'], 'Unauthenticated', ''])
  })

  it('is not kept for a page of another site', async () => {
    const port = await serveSecurely()
    const result = await signInAndOut(await openPage(), `http://127.0.0.1:${port}`)
    expect(result).toEqual(['Unauthenticated', 'bob', 'Unauthenticated', 'Unauthenticated', ''])
  })
})
