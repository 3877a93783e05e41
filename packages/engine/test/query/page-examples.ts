/** The examples of a page of docs: statements in fenced blocks, and what they reply in the block below them. */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { QueryDatabase } from './query-database.ts'

export interface Example {
  readonly text: string
  readonly reply: { readonly kind: string; readonly text: string } | undefined
}

/** `page`: the name of a file in docs. */
export function examplesOf(page: string): Example[] {
  const written = readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), 'utf8')
  const block = /^```(\w*)\n([\s\S]*?)^```$/gm
  const found: Example[] = []
  for (const [, kind = '', text = ''] of written.matchAll(block)) {
    if (kind === 'do') found.push({ text, reply: undefined })
    const last = found.at(-1)
    if ((kind === 'json' || kind === 'text') && last !== undefined) {
      found[found.length - 1] = { text: last.text, reply: { kind, text: text.trim() } }
    }
  }
  return found
}

/** Runs them in order. Returns those that reply something else than the page says. */
export async function untrueExamples(db: QueryDatabase, examples: readonly Example[]): Promise<unknown[]> {
  const untrue: unknown[] = []
  for (const { text, reply } of examples) {
    const got = await (reply?.kind === 'text' ? db.failure(text).then(({ message }) => message) : db.rows(text))
    if (reply === undefined) continue
    const said: unknown = reply.kind === 'json' ? JSON.parse(reply.text) : reply.text
    if (!isDeepStrictEqual(got, said)) untrue.push({ text, got, said })
  }
  return untrue
}
