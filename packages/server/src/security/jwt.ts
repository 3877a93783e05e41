/** `Authorization: Bearer` with a JWT of a configured issuer (contract 9.1). */
import { hash } from 'node:crypto'
import { errors, type JWTPayload, jwtVerify } from 'jose'
import { ServerError } from '../errors/server-errors.ts'
import { jwtCachedMax, jwtCachedMsMax, jwtCharactersMax, jwtClaimCharactersMax } from '../limits.ts'
import { type ArrivedRequest, type AuthenticationScheme, unauthenticated } from './authenticator.ts'
import { type Caller, type CallerFacts, withRoles } from './caller.ts'
import type { KeySource } from './jwt-keys.ts'
import type { CachedCallers } from './known-callers.ts'
import type { RoleGrant } from './roles.ts'
import { setYoungest } from './set-youngest.ts'

export interface JwtSettings {
  readonly issuer: string
  readonly audience: string
  /** Algorithms with public keys: verifiers of a token cannot create one. */
  readonly algorithms: readonly string[]
  readonly clockToleranceSeconds: number
  /** Values of the header `typ`, in any case and without `application/` (RFC 9068, 2.1). */
  readonly types: readonly string[]
  readonly requiredClaims: Readonly<Record<string, string | number | boolean>>
  readonly nameClaim: string
  /** The claim whose values are roles; dots lead into objects (`realm_access.roles`). */
  readonly rolesClaim: string
  readonly roles: Readonly<Record<string, readonly RoleGrant[]>>
  /** Claims that rules and queries can read. */
  readonly claims: readonly string[]
}

type CustomRolesSource = Pick<CachedCallers, 'epoch' | 'roles' | 'checkReadable'>

interface Verified {
  readonly caller: Caller
  readonly epoch: number
  readonly untilMs: number
}

const form = /^bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i

export class JwtScheme implements AuthenticationScheme {
  private readonly settings: JwtSettings
  private readonly keys: KeySource
  private readonly callers: CustomRolesSource
  /** Callers by digest of the token, oldest first. */
  private readonly verified = new Map<string, Verified>()

  constructor(settings: JwtSettings, keys: KeySource, callers: CustomRolesSource) {
    this.settings = settings
    this.keys = keys
    this.callers = callers
  }

  async authenticate(request: ArrivedRequest): Promise<Caller | undefined> {
    const { authorization } = request.headers
    if (authorization === undefined || authorization.length > jwtCharactersMax) return undefined
    const token = form.exec(authorization)?.[1]
    if (token === undefined) return undefined
    const digest = hash('sha256', token, 'base64')
    this.callers.checkReadable()
    const cached = this.verified.get(digest)
    if (cached === undefined || Date.now() >= cached.untilMs) return this.verify(token, digest, request)
    return cached.epoch === this.callers.epoch ? cached.caller : this.updateRoles(digest, cached)
  }

  /** Must be called after roles have changed. */
  private async updateRoles(digest: string, cached: Verified): Promise<Caller> {
    const { epoch } = this.callers
    const caller = withRoles(cached.caller, await this.callers.roles())
    this.verified.set(digest, { ...cached, caller, epoch })
    return caller
  }

  /** Signatures are verified off the event loop. */
  private async verify(token: string, digest: string, request: ArrivedRequest): Promise<Caller> {
    const { issuer, audience, algorithms, clockToleranceSeconds: clockTolerance } = this.settings
    let payload: JWTPayload
    try {
      const options = { issuer, audience, algorithms: [...algorithms], clockTolerance, requiredClaims: ['exp'] }
      const verified = await jwtVerify(token, this.keys, options)
      this.checkType(verified.protectedHeader.typ, request)
      payload = verified.payload
    } catch (error) {
      if (error instanceof ServerError) throw error
      throw unauthenticated(request, `The token is not valid: ${reasonFor(error)}.`)
    }
    const { epoch } = this.callers
    const caller = withRoles(this.callerOf(payload, request), await this.callers.roles())
    this.cache(digest, caller, epoch)
    return caller
  }

  /** Issuers sign other data with the same keys, such as notices of ended sessions (RFC 8725, 3.11). Throws Unauthenticated. */
  private checkType(typ: string | undefined, request: ArrivedRequest): void {
    if (this.settings.types.some((type) => plainType(type) === plainType(typ ?? 'JWT'))) return
    throw unauthenticated(request, 'The token is not valid: its header typ is not one of those accepted.')
  }

  private cache(digest: string, caller: Caller, epoch: number): void {
    const untilMs = Math.min(Date.now() + jwtCachedMsMax, caller.expiresAtMs)
    setYoungest(this.verified, digest, { caller, epoch, untilMs }, jwtCachedMax)
  }

  private callerOf(payload: JWTPayload, request: ArrivedRequest): CallerFacts {
    const { issuer, nameClaim, rolesClaim, roles, claims, requiredClaims, clockToleranceSeconds } = this.settings
    const { sub, exp = 0 } = payload
    for (const [claim, value] of Object.entries(requiredClaims)) {
      if (at(payload, claim) === value) continue
      throw unauthenticated(request, `The token is not valid: its claim ${claim} is not as required.`)
    }
    // Otherwise, a registration with another person's address would give access as that user.
    if (nameClaim === 'email' && payload.email_verified === false)
      throw unauthenticated(request, 'The token is not valid: its email address is not verified.')
    const name = claimText(at(payload, nameClaim))
    if (name === undefined) throw unauthenticated(request, `The token is not valid: it has no claim ${nameClaim}.`)
    const subject = claimText(sub) ?? name
    const exposed = claims.flatMap((claim) => {
      const text = claimText(at(payload, claim))
      return text === undefined ? [] : [[claim, text] as const]
    })
    return {
      kind: 'jwt',
      name,
      identity: `jwt:${issuer} ${subject}`,
      grants: valuesOf(at(payload, rolesClaim)).flatMap((value) =>
        Object.hasOwn(roles, value) ? (roles[value] ?? []) : [],
      ),
      claims: Object.fromEntries(exposed),
      credential: { kind: 'jwt', id: subject },
      expiresAtMs: momentOf(exp + clockToleranceSeconds),
    }
  }
}

function plainType(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, '')
}

/** The latest `Date`, in milliseconds. */
const latestMs = 8.64e15

/** Returns milliseconds; infinity beyond all dates. */
function momentOf(seconds: number): number {
  const ms = seconds * 1_000
  return ms <= latestMs ? ms : Number.POSITIVE_INFINITY
}

/** The claim of that name, or at the path of names. */
function at(payload: object, name: string): unknown {
  if (Object.hasOwn(payload, name)) return (payload as Record<string, unknown>)[name]
  let value: unknown = payload
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

/** Returns a string, number or boolean as text, unless it is too long. */
function claimText(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
  const text = String(value)
  return text === '' || text.length > jwtClaimCharactersMax ? undefined : text
}

/** Issuers write them as a list, or as one space-separated text (RFC 8693, 4.2). */
function valuesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(' ')
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []
}

/** A reason for the client, without any part of the token. */
function reasonFor(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired'
  if (error instanceof errors.JWTClaimValidationFailed) return `its claim ${error.claim} is not as required`
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not allowed'
  if (error instanceof errors.JWKSNoMatchingKey) return 'its key is not one of the issuer'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong'
  return 'it is not a token of this issuer'
}
