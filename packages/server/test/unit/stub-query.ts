/** Rows of our own making in place of the engine's, so that a test holds the pace and the failures in its hands. */
import type { FederatedDatabase, QueryReply, QueryRequest, RowChunk } from '@ashlar/engine'

/** Returns what was asked, request by request. */
export function stubQuery(
  fd: FederatedDatabase | undefined,
  rows: (request: QueryRequest) => AsyncIterable<RowChunk> | Promise<AsyncIterable<RowChunk>>,
): QueryRequest[] {
  const asked: QueryRequest[] = []
  const query = async (request: QueryRequest): Promise<QueryReply> => {
    asked.push(request)
    return { chunks: await rows(request) }
  }
  Object.assign(fd as object, { query })
  return asked
}

export function rowChunk(...rows: string[]): RowChunk {
  const starts: number[] = []
  let text = ''
  for (const row of rows) {
    text += '\n'
    starts.push(Buffer.byteLength(text))
    text += row
  }
  return { bytes: Buffer.from(text), starts }
}

/** Each with its rows. */
export async function* chunksOf(...chunks: (string | readonly string[])[]): AsyncGenerator<RowChunk> {
  for (const rows of chunks) yield rowChunk(...[rows].flat())
}

/** A promise, and what fulfils it. */
export interface Gate {
  readonly opened: Promise<void>
  open(): void
}

export function makeGate(): Gate {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
