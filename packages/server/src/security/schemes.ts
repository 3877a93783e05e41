/** The authentication schemes that use the security database: tokens, passwords and sessions (contract 9.1). */
import { credentialCharactersMax, sessionIdleMsMax, unknownTokenMsMax, unknownTokensMax } from '../limits.ts'
import { clientAddressOf } from '../shares/client-address.ts'
import { type ArrivedRequest, type AuthenticationScheme, unauthenticated } from './authenticator.ts'
import type { Caller } from './caller.ts'
import type { CachedCallers } from './known-callers.ts'
import type { PasswordChecks } from './password-checks.ts'
import type { CachedSecret } from './read-callers.ts'
import { isSecretOf, readSession, readToken, type Secret } from './secrets.ts'

const bearer = 'bearer '
const basic = 'basic '
const invalidToken =
  'The token is not valid: there is none such, it has expired or been revoked, or its owner is disabled.'
const wrongPassword = 'The user name or the password is not right, or the user is disabled.'

/** Returns the rest of `Authorization` after the scheme name; undefined for another scheme. */
function afterScheme(scheme: string, authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length < scheme.length) return undefined
  if (authorization.slice(0, scheme.length).toLowerCase() !== scheme) return undefined
  return authorization.slice(scheme.length)
}

export function bearerText(authorization: string | undefined): string | undefined {
  return afterScheme(bearer, authorization)
}

/** `Authorization: Bearer ash_…`. */
export class TokenScheme implements AuthenticationScheme {
  private readonly callers: CachedCallers
  /** IDs that do not exist in the database, with the time until which they are not looked up again. */
  private readonly unknown = new Map<string, number>()
  private unknownAtEpoch = 0

  constructor(callers: CachedCallers) {
    this.callers = callers
  }

  async authenticate(request: ArrivedRequest): Promise<Caller | undefined> {
    const text = afterScheme(bearer, request.headers.authorization)
    if (text === undefined || !text.startsWith('ash_')) return undefined
    const secret = readToken(text)
    if (secret === undefined) throw unauthenticated(request, invalidToken)
    if (this.unknown.size > 0 && this.isUnknown(secret.id)) {
      this.callers.checkReadable()
      throw unauthenticated(request, invalidToken)
    }
    const { epoch } = this.callers
    const cached = await this.callers.token(secret.id)
    if (cached === undefined && epoch === this.callers.epoch) this.noteUnknown(secret.id)
    return this.check(cached, secret, request)
  }

  /** Caches unknown tokens, so that a client that keeps using a revoked token does not cause a read per request. */
  private isUnknown(id: string): boolean {
    // Cleared with each revision, like cached callers: an owner may be enabled again.
    if (this.unknownAtEpoch !== this.callers.epoch) this.unknown.clear()
    return Date.now() < (this.unknown.get(id) ?? 0)
  }

  private noteUnknown(id: string): void {
    const { epoch } = this.callers
    if (this.unknownAtEpoch !== epoch || this.unknown.size >= unknownTokensMax) this.unknown.clear()
    this.unknownAtEpoch = epoch
    this.unknown.set(id, Date.now() + unknownTokenMsMax)
  }

  private check(cached: CachedSecret | undefined, { secret }: Secret, request: ArrivedRequest): Caller {
    const nowMs = Date.now()
    if (cached === undefined || !isSecretOf(cached.digest, secret) || nowMs >= cached.caller.expiresAtMs) {
      throw unauthenticated(request, invalidToken)
    }
    this.callers.noteTokenUse(cached, nowMs)
    return cached.caller
  }
}

/** `Authorization: Basic …`. */
export class PasswordScheme implements AuthenticationScheme {
  private readonly checks: PasswordChecks

  constructor(checks: PasswordChecks) {
    this.checks = checks
  }

  async authenticate(request: ArrivedRequest): Promise<Caller | undefined> {
    const text = afterScheme(basic, request.headers.authorization)
    if (text === undefined) return undefined
    const decoded = text.length > credentialCharactersMax ? '' : Buffer.from(text, 'base64').toString()
    const colon = decoded.indexOf(':')
    if (colon < 0) throw unauthenticated(request, 'The Authorization header is no Basic credential.')
    const [name, password] = [decoded.slice(0, colon), decoded.slice(colon + 1)]
    const user = await this.checks.check(name, password, clientAddressOf(request))
    if (user === undefined) throw unauthenticated(request, wrongPassword)
    return user.caller
  }
}

/** The `__Host-` prefix prevents other hosts from setting the cookie; it requires TLS. */
export const cookieName = (isEncrypted: boolean): string => (isEncrypted ? '__Host-ashlar-session' : 'ashlar-session')

/** Authenticates by session cookie. `Origins` has already refused requests from pages whose origins are not listed in `cors`. */
export class SessionScheme implements AuthenticationScheme {
  private readonly callers: CachedCallers

  constructor(callers: CachedCallers) {
    this.callers = callers
  }

  async authenticate(request: ArrivedRequest): Promise<Caller | undefined> {
    const { headers, socket } = request
    if (headers.authorization !== undefined || headers.cookie === undefined) return undefined
    const text = cookieOf(headers.cookie, cookieName('encrypted' in socket && socket.encrypted === true))
    if (text === undefined) return undefined
    const secret = readSession(text)
    if (secret === undefined) throw unauthenticated(request, sessionEnded)
    const cached = await this.callers.session(secret.id)
    const mustReread = cached !== undefined && isIdle(cached) && isSecretOf(cached.digest, secret.secret)
    // Another process may have handled a later request, and recorded its time in the database.
    const session = mustReread ? await this.callers.rereadSession(cached) : cached
    const nowMs = Date.now()
    const hasEnded = session === undefined || nowMs >= session.caller.expiresAtMs || isIdle(session)
    if (hasEnded || !isSecretOf(session.digest, secret.secret)) throw unauthenticated(request, sessionEnded)
    this.callers.noteSessionUse(session, nowMs)
    return session.caller
  }
}

function isIdle({ lastUsedAtMs }: CachedSecret): boolean {
  return Date.now() >= lastUsedAtMs + sessionIdleMsMax
}

const sessionEnded = 'The session is over: sign in again.'

/** Returns the value of a cookie; undefined if the header does not have it. */
export function cookieOf(header: string, name: string): string | undefined {
  if (header.length > credentialCharactersMax) return undefined
  for (const part of header.split(';')) {
    const equals = part.indexOf('=')
    if (equals >= 0 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim()
  }
  return undefined
}
