/** A pooler in transaction mode, as small as can be: it assigns its connections to clients for one transaction at a time. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { connectedClient } from './database-client.ts'

export interface TransactionPooler {
  readonly address: string
  close(): Promise<void>
}

const sslRequest = 80_877_103
/** Authentication is done; ready for a query, in no transaction. */
const welcome = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])
const noTransaction = 'I'

export async function startTransactionPooler(address: string, size: number): Promise<TransactionPooler> {
  const backends = await Promise.all(Array.from({ length: size }, () => backendAt(address)))
  const free = [...backends]
  const waiting: ((backend: Socket) => void)[] = []
  const clients = new Set<Socket>()

  function serve(client: Socket): void {
    clients.add(client)
    client.on('error', () => undefined)
    let isWelcome = false
    let unread: Buffer = Buffer.alloc(0)
    let held: Socket | undefined
    let work: Promise<unknown> = Promise.resolve()
    const run = async (request: Buffer): Promise<void> => {
      held ??= free.shift() ?? (await new Promise<Socket>((resolve) => waiting.push(resolve)))
      const backend = held
      backend.write(request)
      if ((await answer(backend, client)) !== noTransaction) return
      held = undefined
      const next = waiting.shift()
      if (next === undefined) free.push(backend)
      else next(backend)
    }
    client.on('data', (bytes) => {
      unread = Buffer.concat([unread, bytes])
      while (!isWelcome) {
        if (unread.length < 8 || unread.length < unread.readInt32BE(0)) return
        isWelcome = unread.readInt32BE(4) !== sslRequest
        unread = unread.subarray(unread.readInt32BE(0))
        client.write(isWelcome ? welcome : 'N')
      }
      for (;;) {
        const end = requestEnd(unread)
        if (end === undefined) return
        const request = unread.subarray(0, end)
        unread = unread.subarray(end)
        work = work.then(() => run(request))
      }
    })
  }

  const server = createServer(serve)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(address)
  url.port = String((server.address() as { port: number }).port)
  return {
    address: url.href,
    async close() {
      for (const socket of [...clients, ...backends]) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The socket of a connection that is logged in. */
async function backendAt(address: string): Promise<Socket> {
  const client = await connectedClient(address)
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  stream.removeAllListeners('data')
  return stream
}

/** What a client sends is complete with a query, or with a synchronization point. */
function requestEnd(bytes: Buffer): number | undefined {
  for (let at = 0; at + 5 <= bytes.length; ) {
    const end = at + 1 + bytes.readInt32BE(at + 1)
    if (end > bytes.length) return undefined
    const kind = String.fromCharCode(bytes[at] as number)
    if (kind === 'Q' || kind === 'S') return end
    at = end
  }
  return undefined
}

/** Passes on what the backend says until it is ready again; whether it is in a transaction then. */
function answer(backend: Socket, client: Socket): Promise<string> {
  return new Promise((resolve) => {
    let unread: Buffer = Buffer.alloc(0)
    const take = (bytes: Buffer): void => {
      unread = Buffer.concat([unread, bytes])
      while (unread.length >= 5 && unread.length >= 1 + unread.readInt32BE(1)) {
        const end = 1 + unread.readInt32BE(1)
        const message = unread.subarray(0, end)
        unread = unread.subarray(end)
        client.write(message)
        if (message[0] !== 0x5a) continue
        backend.off('data', take)
        resolve(String.fromCharCode(message[5] as number))
      }
    }
    backend.on('data', take)
  })
}
