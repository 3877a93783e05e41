/** The rows of a query, one by one. */
import type { QueryReply } from '../src/query/query-request.ts'

export async function rowTexts({ chunks }: QueryReply): Promise<string[]> {
  const rows: string[] = []
  for await (const { bytes, starts } of chunks) {
    for (const [i, start] of starts.entries())
      rows.push(bytes.toString('utf8', start, (starts[i + 1] ?? bytes.length + 1) - 1))
  }
  return rows
}

export async function rowValues(reply: QueryReply): Promise<unknown[]> {
  return (await rowTexts(reply)).map((row) => JSON.parse(row) as unknown)
}
