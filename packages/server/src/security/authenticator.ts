/** Authentication: determines the caller of a request from its credentials (contract 9.1). */
import type { IncomingHttpHeaders } from 'node:http'
import { ServerError } from '../errors/server-errors.ts'
import type { ArrivedMessage } from '../shares/client-address.ts'
import { type Caller, nobody } from './caller.ts'

/** A request whose headers have arrived, and whose body has not been read. */
export type ArrivedRequest = ArrivedMessage

/** An authentication method: token, password, session, JWT or client certificate. */
export interface AuthenticationScheme {
  /** Returns undefined if the request has no credential of this kind. Throws Unauthenticated if the credential is invalid. */
  authenticate(request: ArrivedRequest): Promise<Caller | undefined>
}

export class Authenticator {
  private readonly schemes: readonly AuthenticationScheme[]
  private readonly epochOf: () => number

  /** `schemes`: readers of `Authorization` first. `epochOf`: returns a new number after a caller may have lost a permission. */
  constructor(schemes: readonly AuthenticationScheme[], epochOf: () => number = () => 0) {
    this.schemes = schemes
    this.epochOf = epochOf
  }

  /** Callers authenticated in another epoch have to be authenticated again. */
  get epoch(): number {
    return this.epochOf()
  }

  /** Throws Unauthenticated. */
  async authenticate(request: ArrivedRequest): Promise<Caller> {
    for (const scheme of this.schemes) {
      const caller = await scheme.authenticate(request)
      if (caller !== undefined) return caller
    }
    if (request.headers.authorization === undefined) return nobody
    throw unauthenticated(request, refusalOf(request.headers.authorization))
  }
}

function refusalOf(authorization: string): string {
  return /^bearer(?: |$)/i.test(authorization)
    ? 'The bearer token is not accepted: tokens of the server begin with ash_, and JWTs must be of the configured issuer, if any.'
    : 'This kind of Authorization header is not supported: use Bearer with a token, or Basic with a user name and a password.'
}

/** Returns the error for a request without a valid credential, if it needs one. */
export function unauthenticated({ headers }: Pick<ArrivedRequest, 'headers'>, message: string): ServerError {
  return new ServerError('Unauthenticated', message, { 'www-authenticate': challengeTo(headers) })
}

const bearer = 'Bearer realm="ashlar"'
const basic = 'Basic realm="ashlar", charset="UTF-8"'

/** Scripts are not offered Basic: the browser would prompt for a password. */
function challengeTo({ 'sec-fetch-dest': destination }: IncomingHttpHeaders): string {
  return destination === 'empty' ? bearer : `${bearer}, ${basic}`
}
