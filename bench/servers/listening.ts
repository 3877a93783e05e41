/** What the servers written by hand have to say: where they listen; and how they end. */
import type { Server } from 'node:http'

/** `close`: what is to be closed after the last connection. */
export function tellAddress(server: Server, close: () => unknown = () => undefined): void {
  const address = server.address()
  process.stdout.write(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`)
  process.once('SIGTERM', () => {
    // Not all drivers let a process end by itself.
    server.close(async () => {
      await close()
      process.exit()
    })
    server.closeAllConnections()
  })
}
