/** Joins the lines of a load into pieces, which are sent one at a time. */

export interface LineChunk {
  /** Complete lines, each with its newline. */
  readonly text: string
  /** There are no further lines. */
  readonly isLast: boolean
}

export interface PieceSizes {
  /** A piece ends with the line that reaches this length. */
  readonly charactersMax: number
  /** How long a piece with a line waits for the next one: the caller may need the reply to a line before it yields the next. */
  readonly waitMs: number
}

export class LinePieces<T> {
  private readonly iterator: AsyncIterator<T> | Iterator<T>
  private readonly toLine: (value: T) => string
  private readonly sizes: PieceSizes
  /** A requested value that has not arrived. */
  private pending: Promise<IteratorResult<T>> | undefined
  private isEnded = false

  constructor(values: AsyncIterable<T> | Iterable<T>, toLine: (value: T) => string, sizes: PieceSizes) {
    this.iterator = Symbol.asyncIterator in values ? values[Symbol.asyncIterator]() : values[Symbol.iterator]()
    this.toLine = toLine
    this.sizes = sizes
  }

  /** Call again only after the previous promise has resolved. Rejects with the errors of the values. */
  next(): Promise<LineChunk> {
    return new Promise((resolve, reject) => {
      let text = ''
      let timer: ReturnType<typeof setTimeout> | undefined
      let isSent = false
      const send = (): void => {
        isSent = true
        clearTimeout(timer)
        resolve({ text, isLast: this.isEnded })
      }
      const collect = async (): Promise<void> => {
        while (text.length < this.sizes.charactersMax && !this.isEnded) {
          this.pending ??= Promise.resolve(this.iterator.next())
          const next = await this.pending
          // A value that arrives late belongs to the following piece.
          if (isSent) return
          this.pending = undefined
          if (next.done === true) this.isEnded = true
          else {
            text += `${this.toLine(next.value)}\n`
            timer ??= setTimeout(send, this.sizes.waitMs)
          }
        }
        send()
      }
      collect().catch((error: unknown) => {
        clearTimeout(timer)
        reject(error)
      })
    })
  }

  /** Stops requesting values. */
  async end(): Promise<void> {
    if (this.isEnded) return
    this.isEnded = true
    await this.iterator.return?.()
  }
}

const streamed: PieceSizes = { charactersMax: 65_536, waitMs: 5 }

/**
 * A request body of the lines, until `ended`: fetch may continue to read it after the reply was abandoned, without canceling it. `onFailure` gets the
 * errors of the values, since not every fetch rejects with them.
 */
export function streamOfLines<T>(
  values: AsyncIterable<T> | Iterable<T>,
  toLine: (value: T) => string,
  ended?: AbortSignal,
  onFailure: (error: unknown) => void = () => undefined,
): ReadableStream<Uint8Array> {
  const pieces = new LinePieces(values, toLine, streamed)
  const encoder = new TextEncoder()
  let isClosed = false
  const close = (controller: ReadableStreamDefaultController): void => {
    if (!isClosed) controller.close()
    isClosed = true
  }
  return new ReadableStream<Uint8Array>({
    start(controller) {
      ended?.addEventListener('abort', () => {
        close(controller)
        // The load is over, so a failure of the values cannot be reported.
        pieces.end().catch(() => undefined)
      })
    },
    async pull(controller) {
      const { text, isLast } = await pieces.next().catch((error: unknown) => {
        isClosed = true
        onFailure(error)
        throw error
      })
      if (isClosed) return
      if (text !== '') controller.enqueue(encoder.encode(text))
      if (isLast) close(controller)
    },
    cancel() {
      isClosed = true
      return pieces.end()
    },
  })
}
