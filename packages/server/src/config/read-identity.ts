/** The settings `jwt` and `certificates`: issuers of tokens, and holders of client certificates. */

import type { CertificateName } from '../tls/certificate-files.ts'
import { type CertificatesConfig, ConfigError, type JwtConfig } from './config.ts'
import { oneOf, readText, readTexts, refuseUnknownSettings, requireConfigObject } from './read-value.ts'

/** Algorithms with public keys: verifiers of a token cannot create one. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const toleranceSecondsMax = 300

type Reader<T> = (value: unknown, name: string) => T
type Readers = {
  readonly [Field in keyof JwtConfig]: {
    readonly read: Reader<JwtConfig[Field]>
    readonly otherwise?: JwtConfig[Field]
  }
}

const readers: Readers = {
  issuer: { read: readText },
  audience: { read: readText },
  jwks: { read: readPlace },
  algorithms: { read: readAlgorithms, otherwise: ['RS256', 'PS256', 'ES256', 'EdDSA'] },
  clockToleranceSeconds: { read: readTolerance, otherwise: 5 },
  types: { read: readTypes, otherwise: ['at+jwt', 'JWT'] },
  requiredClaims: { read: readRequiredClaims, otherwise: {} },
  name: { read: readText, otherwise: 'sub' },
  rolesClaim: { read: readText, otherwise: 'roles' },
  roles: { read: (value, name) => mapped(value, name, readTexts), otherwise: {} },
  claims: { read: readTexts, otherwise: [] },
}

export function readJwt(value: unknown, name: string): JwtConfig {
  const object = requireConfigObject(value, name)
  const fields = Object.keys(readers) as (keyof JwtConfig)[]
  refuseUnknownSettings(object, fields, name)
  const read = fields.map((field) => {
    const { read, otherwise } = readers[field]
    if (object[field] !== undefined) return [field, read(object[field], `${field} of ${name}`)]
    if (otherwise === undefined) throw new ConfigError(`${name} needs ${field}.`)
    return [field, otherwise]
  })
  return Object.fromEntries(read) as JwtConfig
}

/** Plain http is allowed only on this machine, where it cannot be intercepted. */
function readPlace(value: unknown, name: string): string {
  const place = readText(value, name)
  if (!/^[a-z]+:\/\//i.test(place)) return place
  if (/^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/])/i.test(place) && URL.canParse(place)) return place
  throw new ConfigError(`${name} is an address by https, or a file, not '${place}'.`)
}

function readAlgorithms(value: unknown, name: string): readonly string[] {
  const texts = readTexts(value, name)
  const unknown = texts.find((one) => !algorithms.includes(one))
  if (unknown === undefined && texts.length > 0) return texts
  throw new ConfigError(`${name} are of ${algorithms.join(', ')}${unknown === undefined ? '' : `, not '${unknown}'`}.`)
}

function readTolerance(value: unknown, name: string): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= toleranceSecondsMax)
    return value as number
  throw new ConfigError(
    `${name} is a number of seconds from 0 to ${toleranceSecondsMax}, not ${JSON.stringify(value)}.`,
  )
}

function readTypes(value: unknown, name: string): readonly string[] {
  const texts = readTexts(value, name)
  if (texts.length > 0) return texts
  throw new ConfigError(`${name} needs at least one value of the header typ, such as at+jwt.`)
}

function readRequiredClaims(value: unknown, name: string): JwtConfig['requiredClaims'] {
  const claims = requireConfigObject(value, name)
  for (const [claim, required] of Object.entries(claims)) {
    if (['string', 'number', 'boolean'].includes(typeof required)) continue
    throw new ConfigError(`${claim} of ${name} is a string, a number or a boolean, not ${JSON.stringify(required)}.`)
  }
  return claims as JwtConfig['requiredClaims']
}

const readNameKind = oneOf<CertificateName>('CN', 'email', 'DNS', 'URI')
const certificateFields = ['name', 'users', 'roles']

export function readCertificates(value: unknown, setting: string): CertificatesConfig {
  const object = requireConfigObject(value, setting)
  refuseUnknownSettings(object, certificateFields, setting)
  const { name = 'CN', users = {}, roles = {} } = object
  return {
    name: readNameKind(name, `name of ${setting}`),
    users: mapped(users, `users of ${setting}`, readText),
    roles: mapped(roles, `roles of ${setting}`, readTexts),
  }
}

function mapped<T>(value: unknown, what: string, read: (one: unknown, name: string) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(
    Object.entries(requireConfigObject(value, what)).map(([name, one]) => [name, read(one, `${name} of ${what}`)]),
  )
}
