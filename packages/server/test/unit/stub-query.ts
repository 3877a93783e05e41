/** Rows of our own making in place of the engine's, so that a test holds the pace and the failures in its hands. */
import type { FederatedDatabase, QueryReply, QueryRequest } from '@ashlar/engine'

/** Returns what was asked, request by request. */
export function stubQuery(
  fd: FederatedDatabase | undefined,
  rows: (request: QueryRequest) => AsyncIterable<Buffer> | Promise<AsyncIterable<Buffer>>,
): QueryRequest[] {
  const asked: QueryRequest[] = []
  const query = async (request: QueryRequest): Promise<QueryReply> => {
    asked.push(request)
    return { chunks: await rows(request) }
  }
  Object.assign(fd as object, { query })
  return asked
}

export async function* chunksOf(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text)
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
