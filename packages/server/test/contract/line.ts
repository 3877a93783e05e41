/** A connection on which a request can be sent in pieces, and what comes back is seen as it is. */
import { connect } from 'node:net'

export interface Line {
  write(text: string | Buffer): void
  /** Resolves once the text has arrived. */
  received(text: string): Promise<void>
  /** All that arrived, once the server has closed the connection. */
  readonly closed: Promise<string>
}

export async function dial(port: string, text: string): Promise<Line> {
  const socket = connect(Number(port), '127.0.0.1')
  let arrived = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    arrived += piece
  })
  const closed = new Promise<string>((resolve) =>
    socket.on('error', () => undefined).once('close', () => resolve(arrived)),
  )
  socket.write(text)
  return {
    write: (more) => void socket.write(more),
    closed,
    async received(expected) {
      while (!arrived.includes(expected)) {
        await new Promise((resolve) => socket.once('data', resolve).once('close', resolve))
        if (socket.closed && !arrived.includes(expected)) throw new Error(`closed after: ${arrived}`)
      }
    },
  }
}
