/** Connections handed to a worker that never acknowledged them: closed when the worker is gone, since node:cluster would keep them open forever. */
import type { Worker as Child } from 'node:cluster'

const pollMs = 10

/** A handle sent by node:cluster. It is undocumented, as are `seq` and `ack`, by which a worker acknowledges a connection. */
interface Handle {
  close(): void
}

interface ClusterMessage {
  readonly seq?: number
  readonly ack?: number
}

/**
 * To be called before the worker listens. It relies on undocumented parts of Node, as of Node 20; `workers.test.ts` fails if they change. The
 * alternative, `cluster.SCHED_NONE`, often leaves all connections to one worker.
 */
export function closeUnacknowledged(worker: Child): void {
  const { process: child } = worker
  const unacknowledged = new Map<number, Handle>()
  const send = child.send.bind(child) as (...sent: unknown[]) => boolean
  child.send = (...sent: unknown[]): boolean => {
    const [message, handle] = sent as [ClusterMessage | undefined, Handle | undefined]
    if (message?.seq !== undefined && typeof handle?.close === 'function') unacknowledged.set(message.seq, handle)
    return send(...sent)
  }
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) unacknowledged.delete(ack)
  })
  child.once('exit', () => {
    // A failed message to a worker shows in its exit.
    worker.on('error', () => undefined)
    closeOnceRead()
  })

  /** Its last messages may be read after its exit: what it had refused is handed to another, and has to stay open. */
  function closeOnceRead(): void {
    if (child.connected) {
      setTimeout(closeOnceRead, pollMs)
      return
    }
    for (const handle of unacknowledged.values()) handle.close()
    unacknowledged.clear()
    // Node keeps the channel open until the handle has arrived, and until then the worker counts as one that holds the port.
    if (child.channel) child.emit('internalMessage', { cmd: 'NODE_HANDLE_ACK' })
  }
}
