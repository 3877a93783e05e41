/** Reads replies while they arrive: rows of NDJSON, lines, bytes. */
import { AshlarRequestError } from './errors.ts'
import type { FetchBody } from './options.ts'
import type { Problem } from './wire.ts'

/** Leaving the loop ends the reply. Throws AshlarRequestError if the last line is the error of the query, and the errors of the body. */
export async function* readRows<Row>(
  body: FetchBody,
  parseJson: (text: string) => unknown = JSON.parse,
): AsyncGenerator<Row, void, undefined> {
  // A row may look like an error, which only the last line can be.
  let suspect: { readonly row: unknown; readonly problem: Problem } | undefined
  for await (const line of readLines(body)) {
    if (suspect !== undefined) yield suspect.row as Row
    const row: unknown = parseJson(line)
    const problem = problemOf(row)
    suspect = problem === undefined ? undefined : { row, problem }
    if (suspect === undefined) yield row as Row
  }
  if (suspect !== undefined) throw new AshlarRequestError(suspect.problem.status, suspect.problem)
}

/** Leaving the loop ends the reply. */
export async function* readBytes(body: FetchBody): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (next.value !== undefined) yield next.value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

export async function* readLines(body: FetchBody): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  // Joins the pieces of a line only once.
  let parts: string[] = []
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const [end = '', ...starts] = (done ? decoder.decode() : decoder.decode(value, { stream: true })).split('\n')
      parts.push(end)
      for (const start of starts) {
        const line = parts.join('')
        parts = [start]
        if (line !== '') yield line
      }
      if (done) break
    }
    const last = parts.join('')
    if (last !== '') yield last
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Matches `{"error": <problem>}` without other fields. */
function problemOf(row: unknown): Problem | undefined {
  if (typeof row !== 'object' || row === null || !('error' in row) || Object.keys(row).length !== 1) return undefined
  const { error } = row
  if (typeof error !== 'object' || error === null) return undefined
  const { type, title, status, message } = error as Partial<Record<keyof Problem, unknown>>
  const isProblem = [type, title, message].every((member) => typeof member === 'string') && typeof status === 'number'
  return isProblem ? (error as Problem) : undefined
}
