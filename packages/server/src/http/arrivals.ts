/** Accepts new connections before it serves them, and serves them round-robin by address, so that no address delays another. */
import type { Server, Socket } from 'node:net'
import { FairQueues, noteArrival } from '@ashlar/engine'
import { arrivalIterationsPerOther, servedOnArrivalMax, servedPerIterationMax } from '../limits.ts'

/**
 * Call before other connection listeners are added, which are called for each connection once it is served. Node accepts connections in their order,
 * one per event loop iteration, which takes a tenth of the time of a first request. While connections keep arriving, one per iteration is served of
 * addresses with few connections, and one of the rest every few iterations; afterwards several per iteration, round-robin by address.
 */
export function scheduleByAddress(server: Server): void {
  const serving = server.listeners('connection')
  server.removeAllListeners('connection')
  /** Connections by address since the last iteration without arrivals, while any of the address wait. */
  const arrivals = new Map<string, number>()
  /** The first few connections of each address. */
  const first = new FairQueues<Socket>()
  const others = new FairQueues<Socket>()
  let hasAccepted = false
  let isScheduled = false
  let arrivalIterations = 0
  let isFewestNext = false
  server.on('connection', (socket: Socket) => {
    noteArrival()
    // Otherwise Node would read data before a request handler is attached.
    socket.pause()
    const { remoteAddress = '' } = socket
    const addressCount = (arrivals.get(remoteAddress) ?? 0) + 1
    arrivals.set(remoteAddress, addressCount)
    const waiting = addressCount <= servedOnArrivalMax ? first : others
    waiting.add(remoteAddress, socket)
    hasAccepted = true
    if (isScheduled) return
    isScheduled = true
    setImmediate(runIteration)
  })

  function runIteration(): void {
    if (hasAccepted) serveOneOnArrival()
    else serveSome()
    const isWaiting = first.size + others.size > 0
    // Yield to other work while more connections wait.
    if (!isWaiting) noteArrival()
    // Repeated until no connection has arrived in an iteration, and none waits.
    isScheduled = hasAccepted || isWaiting
    hasAccepted = false
    if (isScheduled) setImmediate(runIteration)
    else arrivals.clear()
  }

  function serveOneOnArrival(): void {
    // Otherwise connections that keep arriving would starve the waiting ones.
    const servesOther = ++arrivalIterations % arrivalIterationsPerOther === 0
    serveOne(servesOther ? (nextOther() ?? first.next()) : first.next())
  }

  function serveSome(): void {
    for (let left = servedPerIterationMax; left > 0; left--) serveOne(first.next() ?? nextOther())
  }

  /** Alternates between the address with the fewest connections and round-robin, so that new clients do not starve an address. */
  function nextOther(): Socket | undefined {
    isFewestNext = !isFewestNext
    const socket = isFewestNext ? others.nextOfFewest() : others.next()
    if (socket === undefined) return undefined
    const { remoteAddress = '' } = socket
    if (!others.has(remoteAddress)) arrivals.delete(remoteAddress)
    return socket
  }

  function serveOne(socket: Socket | undefined): void {
    // Closed meanwhile, if the server stops.
    if (socket === undefined || socket.destroyed) return
    for (const listener of serving) listener.call(server, socket)
    socket.resume()
  }
}
