/** Finds out who sends a request, before its body is read. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { mustBeKnown } from '../dispatch/authorize.ts'
import { type ArrivedRequest, type Authenticator, unauthenticated } from '../security/authenticator.ts'
import { type Caller, nobody } from '../security/caller.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Where authentication is on: who sends it. */
    caller?: Caller
  }
}

/** Unauthenticated for whoever has to be known and is not; at once for callers who are remembered. */
export function identify(
  request: FastifyRequest,
  reply: FastifyReply,
  authenticator: Authenticator,
  done: (error?: Error) => void,
): void {
  // Health, the reference and what is not there show nothing of the data.
  if (request.is404 || request.routeOptions.config.needsCaller !== true) {
    request.caller = nobody
    done()
    return
  }
  const refuse = (error: unknown): void => {
    if (hasBody(request)) reply.raw.setHeader('connection', 'close')
    done(error as Error)
  }
  const take = (caller: Caller): void => {
    request.caller = caller
    if (caller.kind === 'nobody') refuse(unauthenticated(request.raw, mustBeKnown))
    else done()
  }
  try {
    const caller = authenticator.authenticate(request.raw as ArrivedRequest)
    if (caller instanceof Promise) caller.then(take, refuse)
    else take(caller)
  } catch (error) {
    refuse(error)
  }
}

/** It was not read, and need not be sent. */
function hasBody({ headers }: FastifyRequest): boolean {
  const { 'content-length': length, 'transfer-encoding': transfer } = headers
  return transfer !== undefined || (length !== undefined && length !== '0')
}
