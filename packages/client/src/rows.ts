/** Rows of a reply in NDJSON, one a line, as they arrive. */
import { AshlarRequestError } from './errors.ts'
import type { FetchBody } from './options.ts'
import type { Problem } from './wire.ts'

/**
 * Ends the reply where the loop is left. Throws AshlarRequestError where the last line tells that the query failed, and
 * whatever the body throws where the connection breaks off.
 */
export async function* readRows<Row>(
  body: FetchBody,
  parseJson: (text: string) => unknown = JSON.parse,
): AsyncGenerator<Row, void, undefined> {
  // A row may look like a failure: only the last line can be one.
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

/** What is sent at a time. */
const pieceCharacters = 65_536
const pieceMsMax = 5

/**
 * Each value as a line, asked for as the lines are taken, until `ended`: whoever sends them may go on to ask for them after the reply was let go of,
 * and no longer cancels what it does not send.
 */
export function streamOfLines<T>(
  values: AsyncIterable<T> | Iterable<T>,
  toJson: (value: T) => string,
  ended?: AbortSignal,
): ReadableStream<Uint8Array> {
  const iterator = Symbol.asyncIterator in values ? values[Symbol.asyncIterator]() : values[Symbol.iterator]()
  const encoder = new TextEncoder()
  /** Asked for, and not there yet. */
  let asked: Promise<IteratorResult<T>> | undefined
  let isEnded = false
  /** Takes values until a piece is full, or the next one is late: what is there is not held back by it, since it may be waiting for the reply. */
  const takePiece = (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> =>
    new Promise((resolve, reject) => {
      let text = ''
      let timer: ReturnType<typeof setTimeout> | undefined
      let isSent = false
      const send = (): void => {
        isSent = true
        clearTimeout(timer)
        if (text !== '' && !isEnded) controller.enqueue(encoder.encode(text))
        resolve()
      }
      const take = async (): Promise<void> => {
        while (text.length < pieceCharacters && !isEnded) {
          asked ??= Promise.resolve(iterator.next())
          const next = await asked
          // Whoever takes the next piece has it.
          if (isSent) return
          asked = undefined
          if (next.done === true) {
            send()
            if (!isEnded) controller.close()
            isEnded = true
            return
          }
          text += `${toJson(next.value)}\n`
          timer ??= setTimeout(send, pieceMsMax)
        }
        send()
      }
      take().catch((error: unknown) => {
        clearTimeout(timer)
        reject(error)
      })
    })
  const end = async (): Promise<void> => {
    if (isEnded) return
    isEnded = true
    await iterator.return?.()
  }
  return new ReadableStream<Uint8Array>({
    start(controller) {
      ended?.addEventListener('abort', () => {
        if (isEnded) return
        controller.close()
        // The load is over: what fails as its lines end can no longer be told.
        end().catch(() => undefined)
      })
    },
    pull: takePiece,
    cancel: end,
  })
}

/** Ends the reply where the loop is left. */
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
  // A line may come in many pieces: they are joined once.
  let begun: string[] = []
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const [end = '', ...starts] = (done ? decoder.decode() : decoder.decode(value, { stream: true })).split('\n')
      begun.push(end)
      for (const start of starts) {
        const line = begun.join('')
        begun = [start]
        if (line !== '') yield line
      }
      if (done) break
    }
    const last = begun.join('')
    if (last !== '') yield last
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** `{"error": <problem>}` and nothing beside. */
function problemOf(row: unknown): Problem | undefined {
  if (typeof row !== 'object' || row === null || !('error' in row) || Object.keys(row).length !== 1) return undefined
  const { error } = row
  if (typeof error !== 'object' || error === null) return undefined
  const { type, title, status, message } = error as Partial<Record<keyof Problem, unknown>>
  const isProblem = [type, title, message].every((member) => typeof member === 'string') && typeof status === 'number'
  return isProblem ? (error as Problem) : undefined
}
