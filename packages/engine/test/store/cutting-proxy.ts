/** Stands between a store and PostgreSQL: cuts the connection of the next commit where a test says, or swallows what is sent, as a host that has vanished does. */
import { connect, createServer, type Socket } from 'node:net'

/**
 * `request`: before PostgreSQL sees the commit. `reply`: after it has answered. `silently`: the commit goes on its way,
 * and only the store's side is cut: PostgreSQL does not learn of it.
 */
export type Cut = 'request' | 'reply' | 'silently'

export interface CuttingProxy {
  readonly address: string
  /** Commits cut so far. */
  readonly cuts: number
  /** `isLasting`: it cuts all other connections too, and refuses new ones from then on. */
  cutNextCommit(at: Cut, isLasting?: boolean): void
  /** Whether all connections are cut, and further ones refused. */
  refuse(isRefusing: boolean): void
  /** Cuts every connection there is. */
  cutAll(): void
  /**
   * While true, nothing gets through, in either direction, and no connection is closed. Those that there are then, or are made meanwhile, never
   * carry another byte.
   */
  swallow(isSwallowing: boolean): void
  close(): Promise<void>
}

export async function openCuttingProxy(address: string): Promise<CuttingProxy> {
  const url = new URL(address)
  const target = { host: url.hostname, port: Number(url.port) }
  const sockets = new Set<Socket>()
  let next: Cut | undefined
  let cuts = 0
  let isLastCut = false
  let isRefusing = false
  let isSwallowing = false
  let swallowed = 0
  const server = createServer((near) => {
    if (isRefusing) return void near.destroy()
    const far = connect(target)
    const known = swallowed
    const isDead = (): boolean => isSwallowing || known !== swallowed
    let isReplyCut = false
    const cutBoth = (): void => {
      for (const socket of isLastCut ? sockets : [near, far]) socket.destroy()
    }
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    }
    near.on('data', (bytes) => {
      if (isDead()) return
      if (next === undefined || !holdsCommit(bytes)) return void far.write(bytes)
      const cut = next
      next = undefined
      cuts++
      isRefusing = isLastCut
      if (cut === 'request') return cutBoth()
      isReplyCut = cut === 'reply'
      far.write(bytes)
      if (cut === 'silently') near.destroy()
    })
    far.on('data', (bytes) => {
      if (isDead()) return
      if (isReplyCut) cutBoth()
      else near.write(bytes)
    })
    far.on('close', () => {
      if (!isDead()) near.destroy()
    })
    near.on('close', () => {
      if (near.readableEnded && !isDead()) far.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url.port = String((server.address() as { port: number }).port)
  return {
    address: url.href,
    get cuts() {
      return cuts
    },
    cutNextCommit(at, isLasting = false) {
      next = at
      isLastCut = isLasting
    },
    refuse(isRefused) {
      isRefusing = isRefused
      if (isRefused) for (const socket of sockets) socket.destroy()
    },
    cutAll() {
      for (const socket of sockets) socket.destroy()
    },
    swallow(isSwallowed) {
      if (isSwallowed) swallowed++
      isSwallowing = isSwallowed
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A connection's first commit names the function, later ones only the statement that was prepared then. */
function holdsCommit(bytes: Buffer): boolean {
  return bytes.includes('.commit(') || bytes.includes('\0commit\0')
}
