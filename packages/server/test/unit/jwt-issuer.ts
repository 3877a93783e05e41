/** An issuer of JWTs in this process: its keys, tokens of it, and servers that take them. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { Authenticator } from '../../src/security/authenticator.ts'
import { JwtScheme, type JwtSettings } from '../../src/security/jwt.ts'
import { type KeyTimes, keysOf } from '../../src/security/jwt-keys.ts'
import { noCustomRoles } from '../../src/security/roles.ts'
import { openServer } from './open-server.ts'

export const issuer = 'https://id.example.com/'
export const audience = 'ashlar'
export const clerk = [{ role: 'writer', aliases: ['default'] }]
const auditor = [{ role: 'operator', aliases: undefined }]

export const settings: JwtSettings = {
  issuer,
  audience,
  algorithms: ['ES256'],
  clockToleranceSeconds: 0,
  types: ['at+jwt', 'JWT'],
  requiredClaims: {},
  nameClaim: 'email',
  rolesClaim: 'realm_access.roles',
  roles: { clerks: clerk, auditors: auditor },
  claims: ['team', 'level', 'absent'],
}

export type Key = Awaited<ReturnType<typeof newKey>>

export async function newKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  return { kid, publicKey, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' } }
}

interface Issuing {
  url: string
  /** How often its keys were asked for. */
  asked: number
  body: string
  status: number
  /** In place of status and body. */
  answer: RequestListener | undefined
}

export async function openIssuer(...keys: Key[]): Promise<Issuing> {
  const made: Issuing = { url: '', asked: 0, body: jwksOf(...keys), status: 200, answer: undefined }
  const server = createServer((request, response) => {
    made.asked++
    if (made.answer !== undefined) return void made.answer(request, response)
    response.statusCode = made.status
    response.end(made.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  made.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`
  return made
}

export function jwksOf(...keys: Key[]): string {
  return JSON.stringify({ keys: keys.map(({ jwk }) => jwk) })
}

export const usual = {
  email: 'ann@example.com',
  realm_access: { roles: ['clerks', 'others'] },
  team: 'north',
  level: 3,
}
export const whose = { sub: 'u-1', iss: issuer, aud: audience }
export const longAfter = 4_000_000_000

export function sign({ kid, privateKey }: Key, claims: object = {}, expires: string | number = '1h'): Promise<string> {
  return signWith({ alg: 'ES256', kid }, privateKey, claims, expires)
}

/** With a header of one's own. */
export function signWith(
  header: JWTHeaderParameters,
  key: Parameters<SignJWT['sign']>[0],
  claims: object = {},
  expires: string | number = '1h',
): Promise<string> {
  return new SignJWT({ ...whose, ...usual, ...claims }).setProtectedHeader(header).setExpirationTime(expires).sign(key)
}

/** A part of a token. */
export function part(value: object | string): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

export function secondsFromNow(seconds: number): number {
  return Math.floor(Date.now() / 1_000) + seconds
}

export const silent = pino({ level: 'silent' })
export const withoutRoles = { epoch: 0, roles: async () => noCustomRoles, checkReadable: () => undefined }
export const times: KeyTimes = { freshMs: 60_000, repeatMs: 0, staleMsMax: 60_000, fetchMsMax: 5_000 }

export function arrived(token: string) {
  return { headers: { authorization: `Bearer ${token}` }, socket: undefined as never }
}

export async function openWith(url: string, keyTimes = times, changed: Partial<JwtSettings> = {}) {
  const scheme = new JwtScheme({ ...settings, ...changed }, keysOf(url, silent, keyTimes), withoutRoles)
  const { app } = await openServer({ authenticator: new Authenticator([scheme]) })
  const get = (token: string, path = '/v1/schema/namespace') =>
    app.inject({ method: 'GET', url: path, headers: { authorization: `Bearer ${token}` } })
  return { scheme, get }
}
