/** Decides which reads share a snapshot: the ones of requests that arrived within one iteration of the event loop. */

/** Reads with the same object may share a snapshot. */
export type SharedIteration = object

/** Limit of one poll of the event loop: if more sockets are readable, Node polls again within the same iteration. */
const connectionsMax = 1_000

let shared: SharedIteration | undefined
/** Number of the current event loop turn, counting only those with requests. */
let iteration = 0
/** Whether a request has arrived in it. */
let hasRequests = false

const lastIteration = Symbol('the last iteration in which a request arrived on a connection')

/** Stored on the connection, since a set per iteration would be allocated and grown each time. */
interface Connection {
  [lastIteration]?: number
}

/**
 * Must be called for each request, before anything is read for it. Until the event loop turn ends, reads may then show the state of the first one,
 * which began in this turn: beginning a snapshot and checking the schema version takes as long as the rest of a short read. This is unobservable: the
 * first request in a turn on an unencrypted connection was sent, at least in part, before the turn began, since only sockets that were readable then
 * are read in it. So it shows whatever its client knew to be committed, by any process. A further request on the connection may have been sent since:
 * for it, and later ones, reads begin again. `connections`: number of open connections.
 */
export function shareReads(connection: object, connections: number): void {
  const isFurther = noteIteration(connection)
  if (isFurther || connections > connectionsMax) shared = undefined
  else shared ??= {}
}

/** Must be called when the rest of a request arrives, maybe in a later iteration: the next request on its connection is not a first one. */
export function noteRest(connection: object): void {
  noteIteration(connection)
}

/**
 * Must be called before a commit of this process is reported, since reads that follow have to see it; and for each
 * request on an encrypted connection, which may be readable without a request, so that the request may have been sent
 * in this iteration.
 */
export function readAnew(): void {
  shared = undefined
}

/** Undefined if each read needs a fresh snapshot. */
export function sharedIteration(): SharedIteration | undefined {
  return shared
}

/** Whether the connection was already noted in this iteration. */
function noteIteration(connection: Connection): boolean {
  if (!hasRequests) {
    hasRequests = true
    setImmediate(endIteration)
  }
  const isNoted = connection[lastIteration] === iteration
  connection[lastIteration] = iteration
  return isNoted
}

function endIteration(): void {
  shared = undefined
  hasRequests = false
  iteration++
}
