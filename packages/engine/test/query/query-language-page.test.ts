/** docs/query-language.md: its examples are run in order, on an empty database, and reply what it says. */
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { type QueryDatabase, queryTest } from './query-database.ts'

const page = readFileSync(new URL('../../../../docs/query-language.md', import.meta.url), 'utf8')

interface Example {
  readonly text: string
  readonly reply: { readonly kind: string; readonly text: string } | undefined
}

function examples(): Example[] {
  const block = /^```(\w*)\n([\s\S]*?)^```$/gm
  const found: Example[] = []
  for (const [, kind = '', text = ''] of page.matchAll(block)) {
    if (kind === 'do') found.push({ text, reply: undefined })
    const last = found.at(-1)
    if ((kind === 'json' || kind === 'text') && last !== undefined) {
      found[found.length - 1] = { text: last.text, reply: { kind, text: text.trim() } }
    }
  }
  return found
}

async function run(db: QueryDatabase, { text, reply }: Example): Promise<unknown> {
  if (reply?.kind === 'text') return (await db.failure(text)).message
  return db.rows(text)
}

queryTest('the page of the language says what is so', [], async (db) => {
  const all = examples()
  expect(all.length).toBeGreaterThan(15)
  for (const example of all) {
    const got = await run(db, example)
    const { reply, text } = example
    if (reply === undefined) continue
    expect({ text, got }).toEqual({ text, got: reply.kind === 'json' ? JSON.parse(reply.text) : reply.text })
  }
})
