/** A listening server, and the steps of closing it. */
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'

/** A step of closing the server; the steps are awaited in order. */
type ClosingStep = () => unknown

export class HttpServer {
  readonly server: Server
  /** Handles a request, for tests without a connection. */
  readonly handle: RequestListener
  private readonly steps: readonly ClosingStep[]
  private closed: Promise<void> | undefined

  constructor(server: Server, handle: RequestListener, steps: readonly ClosingStep[]) {
    this.server = server
    this.handle = handle
    this.steps = steps
  }

  /** Resolves with the address, such as http://127.0.0.1:8185. Rejects with Node's error if it cannot listen. */
  listen(options: ListenOptions): Promise<string> {
    const { server } = this
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(options, () => {
        server.off('error', reject)
        const { address, family, port } = server.address() as AddressInfo
        resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${port}`)
      })
    })
  }

  /** Idempotent. */
  close(): Promise<void> {
    this.closed ??= this.runSteps()
    return this.closed
  }

  private async runSteps(): Promise<void> {
    for (const step of this.steps) await step()
  }
}
