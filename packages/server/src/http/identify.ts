/** Identifies the caller of a request, before its body is read. */
import { AshlarError } from '@ashlar/engine'
import { requiresCaller } from '../dispatch/authorize.ts'
import { type Authenticator, unauthenticated } from '../security/authenticator.ts'
import { type Caller, nobody } from '../security/caller.ts'
import type { Handle, HttpRequest } from './http-request.ts'
import type { WithBody } from './read-body.ts'

/** Calls back when the caller is authenticated, or with Unauthenticated if authentication is required. */
export function identify(request: HttpRequest, authenticator: Authenticator, done: (error?: Error) => void): void {
  const { needsCaller, mayHaveCaller } = request.route ?? {}
  // The reference and unknown paths expose no data.
  if (needsCaller !== true && mayHaveCaller !== true) {
    request.caller = nobody
    done()
    return
  }
  const { epoch } = authenticator
  const refuse = (error: unknown): void => {
    if (hasBody(request)) request.endConnection()
    done(error as Error)
  }
  const take = (caller: Caller): void => {
    note(request, caller, epoch)
    // The browser must not store pages of a session.
    if (caller.credential.kind === 'session') request.response.setHeader('cache-control', 'no-store')
    if (caller.kind === 'nobody' && needsCaller === true) refuse(unauthenticated(request.raw, requiresCaller))
    else done()
  }
  try {
    checkCredentials(request)
    authenticator.authenticate(request.raw).then(take, refuse)
  } catch (error) {
    refuse(error)
  }
}

function note(request: HttpRequest, caller: Caller, epoch: number): void {
  request.caller = caller
  request.callerEpoch = epoch
}

/** Checks the caller again after the body has arrived, which may take minutes, during which permissions may be revoked. */
export function identified(withBody: WithBody, authenticator: Authenticator | undefined): WithBody {
  if (authenticator === undefined) return withBody
  return (handle, bytesMax) =>
    withBody((request) => {
      const { caller, callerEpoch, body } = request
      const isAsBefore = callerEpoch === undefined || callerEpoch === authenticator.epoch
      if (isAsBefore && (body === undefined || caller === undefined || Date.now() < caller.expiresAtMs))
        return handle(request)
      return again(request, authenticator, handle)
    }, bytesMax)
}

async function again(request: HttpRequest, authenticator: Authenticator, handle: Handle): Promise<void> {
  const { epoch } = authenticator
  const caller = await authenticator.authenticate(request.raw)
  if (caller.kind === 'nobody') throw unauthenticated(request.raw, requiresCaller)
  note(request, caller, epoch)
  await handle(request)
}

/** A proxy may have checked a different header. Throws MalformedRequest. */
function checkCredentials({ headers, raw: { rawHeaders } }: HttpRequest): void {
  if (headers.authorization === undefined) return
  const names = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'authorization')
  if (names.length <= 1) return
  throw new AshlarError('MalformedRequest', 'A request can have only one Authorization header.')
}

/** Returns true if the request has a body, which need not be sent if the request is refused. */
export function hasBody({ headers }: HttpRequest): boolean {
  const { 'content-length': length, 'transfer-encoding': transfer } = headers
  return transfer !== undefined || (length !== undefined && length !== '0')
}
