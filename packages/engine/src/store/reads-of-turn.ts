/** Decides which reads share a snapshot: those of requests that arrived within one turn of the event loop. */

/** While it is the same, reads may share what was begun with it. */
export type SharedTurn = object

/** Of a poll of the event loop: where more sockets are readable, Node asks for further ones within the same turn. */
const connectionsMax = 1_000

let shared: SharedTurn | undefined
/** The number of the present turn, of those in which requests have come. */
let turn = 0
/** Whether any have come in it yet. */
let isBegun = false

const lastTurn = Symbol('the last turn in which a request has come on a connection')

/** Kept with the connection: a set of those of one turn would be made, and grow, in each. */
interface Connection {
  [lastTurn]?: number
}

/**
 * To be called for each request, before anything is read for it. Until the turn ends, reads may then show what the first of them does, which
 * was begun in this turn: to begin a snapshot and to look whether the schema has changed takes as long as the rest of a short read. Nobody can
 * tell: the first request that a connection without encryption has in a turn was sent, at least in part, before the turn began, since the sockets that are read in a turn
 * are those that were readable at its beginning. So whatever its client knew to be committed, by whatever process, is shown. A further one may
 * have been sent since: for it, and those that follow, reads begin anew. `connections`: how many there are.
 */
export function shareReads(connection: object, connections: number): void {
  const isFurther = noteTurn(connection)
  if (isFurther || connections > connectionsMax) shared = undefined
  else shared ??= {}
}

/** To be called where the rest of a request has come, maybe in a later turn than its beginning: what follows on its connection is no first one. */
export function noteRest(connection: object): void {
  noteTurn(connection)
}

/**
 * To be called before anybody is told of a commit of this process, since what follows from it is to see it; and for each request on an encrypted
 * connection, which may be readable for what is no part of a request, so that the request may have been sent in this very turn.
 */
export function readAnew(): void {
  shared = undefined
}

/** Undefined where each read is to begin anew. */
export function sharedTurn(): SharedTurn | undefined {
  return shared
}

/** Whether it has been noted for this turn before. */
function noteTurn(connection: Connection): boolean {
  if (!isBegun) {
    isBegun = true
    setImmediate(endTurn)
  }
  const isNoted = connection[lastTurn] === turn
  connection[lastTurn] = turn
  return isNoted
}

function endTurn(): void {
  shared = undefined
  isBegun = false
  turn++
}
