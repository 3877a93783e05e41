/**
 * Replies that are made in one turn of the event loop, written a few at a time. A write to a client that waits wakes it, and where that is a process
 * of the same machine, as a proxy often is, to wake it takes as long as the rest of the write. One that was woken a moment ago takes more at once.
 */
import type { ServerResponse } from 'node:http'
import { type TextEncoding, writeEnd } from './write-end.ts'

interface HeldReply {
  readonly response: ServerResponse
  /** None: the head alone. */
  readonly text: string | undefined
  readonly encoding: TextEncoding
}

/** A reply waits for so many others at most, and while they take so long. */
const heldMax = 8
const heldMsMax = 0.5

let held: HeldReply[] = []
let heldSinceMs = 0
let isEndAwaited = false

/** Ends a response over HTTP/1.1 with the text, when the turn ends at the latest: before anything else is read of any connection. */
export function writeTogether(response: ServerResponse, text: string | undefined, encoding: TextEncoding): void {
  const nowMs = performance.now()
  if (held.length === 0) heldSinceMs = nowMs
  held.push({ response, text, encoding })
  if (held.length >= heldMax || nowMs - heldSinceMs >= heldMsMax) writeHeld()
  else if (!isEndAwaited) {
    isEndAwaited = true
    setImmediate(endTurn)
  }
}

/** To be called before a request is worked on: a reply waits for one that takes long, and not for several. */
export function writeOverdue(): void {
  if (held.length > 0 && performance.now() - heldSinceMs >= heldMsMax) writeHeld()
}

function endTurn(): void {
  isEndAwaited = false
  writeHeld()
}

function writeHeld(): void {
  const replies = held
  held = []
  for (const { response, text, encoding } of replies) writeEnd(response, text, encoding)
}
