/** New connections: those that arrive together are accepted before they are served, and no address has others wait for its own. */
import type { Server, Socket } from 'node:net'
import { noteArrival } from '@ashlar/engine'
import { servedInATurnMax, waitingPerServed } from '../limits.ts'
import { AddressQueues } from './address-queues.ts'

/** Of `net.createServer`, which http.Server passes on though it has no option for it: nothing is read before `resume`. */
interface PausingServer extends Server {
  pauseOnConnect: boolean
}

/**
 * To be called before others listen for connections of the server; these are told of each as soon as it is accepted. The operating system
 * hands connections over in the order in which they came, and Node accepts one in a turn of the event loop. That takes a tenth of what the
 * first request takes: so while more arrive, few of those that wait are served, of addresses that have fewest of them; then as many in a turn
 * as others can wait for, one address after the other.
 */
export function serveByAddress(server: Server): void {
  const serving = server.listeners('connection')
  server.removeAllListeners('connection')
  ;(server as PausingServer).pauseOnConnect = true
  const waiting = new AddressQueues<Socket>()
  let hasAccepted = false
  let isScheduled = false
  server.on('connection', (socket: Socket) => {
    noteArrival()
    waiting.add(socket.remoteAddress ?? '', socket)
    hasAccepted = true
    if (isScheduled) return
    isScheduled = true
    setImmediate(takeTurn)
  })

  function takeTurn(): void {
    if (hasAccepted) {
      // At least one in each: a turn may be long, and connections may never cease to arrive.
      const most = Math.min(servedInATurnMax, Math.ceil(waiting.size / waitingPerServed))
      serveOne(waiting.nextOfFewest())
      serve(most - 1)
    } else serve(servedInATurnMax)
    hasAccepted = false
    // While more wait, other work alternates with them.
    if (waiting.size === 0) noteArrival()
    isScheduled = waiting.size > 0
    if (isScheduled) setImmediate(takeTurn)
  }

  function serve(most: number): void {
    for (let left = most; left > 0 && waiting.size > 0; left--) serveOne(waiting.next())
  }

  function serveOne(socket: Socket | undefined): void {
    // Closed meanwhile where the server stops.
    if (socket === undefined || socket.destroyed) return
    for (const listener of serving) listener.call(server, socket)
    socket.resume()
  }
}
