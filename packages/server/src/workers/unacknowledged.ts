/** Closes connections handed to a worker that exited without acknowledging them, which node:cluster would keep open forever. */
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

/** Call before the worker listens. Relies on undocumented parts of Node 20, tested in `workers.test.ts`; SCHED_NONE distributes unevenly. */
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

  /** Its last messages may arrive after its exit: connections it refused are handed to another worker and must stay open. */
  function closeOnceRead(): void {
    if (child.connected) {
      setTimeout(closeOnceRead, pollMs)
      return
    }
    for (const handle of unacknowledged.values()) handle.close()
    unacknowledged.clear()
    // Node keeps the channel open until the handle has arrived; until then, the worker counts as a holder of the port.
    if (child.channel) child.emit('internalMessage', { cmd: 'NODE_HANDLE_ACK' })
  }
}
