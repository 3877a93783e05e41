/** Authentication by the client certificate of the connection (contract 9.1.10). */
import type { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { isSameHost } from '../browsers/origins.ts'
import type { CertificateName } from '../tls/certificate-files.ts'
import { type ArrivedRequest, type AuthenticationScheme, unauthenticated } from './authenticator.ts'
import { type Caller, makeCaller } from './caller.ts'
import type { CachedCallers } from './known-callers.ts'
import type { RoleGrant } from './roles.ts'

export interface CertificateMapping {
  /** The part of a certificate that names its holder. */
  readonly name: CertificateName
  /** User names by name in the certificate; by default that name. */
  readonly users: Readonly<Record<string, string>>
  /** Grants by name in the certificate, for holders who are not users. */
  readonly roles: Readonly<Record<string, readonly RoleGrant[]>>
}

/** The certificate of a connection, read once for all of its requests. */
interface ClientCertificate {
  /** The id of the certificate, for logs. */
  readonly id: string
  readonly expiresAtMs: number
  /** Undefined if there is no name of the kind, or several. */
  readonly name: string | undefined
  readonly isVerified: boolean
}

export class CertificateScheme implements AuthenticationScheme {
  private readonly mapping: CertificateMapping
  private readonly callers: CachedCallers
  private readonly certificates = new WeakMap<object, ClientCertificate | null>()
  /** Callers who are not users. */
  private readonly holders = new WeakMap<ClientCertificate, { readonly caller: Caller; readonly epoch: number }>()

  constructor(mapping: CertificateMapping, callers: CachedCallers) {
    this.mapping = mapping
    this.callers = callers
  }

  async authenticate(request: ArrivedRequest): Promise<Caller | undefined> {
    const { headers, socket } = request
    if (headers.authorization !== undefined) return undefined
    const certificate = this.certificateOn(socket as TLSSocket)
    if (certificate === null) return undefined
    // Pages of other origins may send requests, but not with the certificate of the browser's user.
    if (headers.origin !== undefined && !isSameHost(headers.origin, headers.host)) return undefined
    const problem = problemOf(certificate, this.mapping.name)
    if (problem !== undefined) throw unauthenticated(request, `The certificate of the client ${problem}.`)
    const { id, expiresAtMs, name = '' } = certificate
    const grants = entryOf(this.mapping.roles, name)
    if (grants !== undefined) return this.holder(certificate, name, grants)
    const user = await this.callers.certificate(entryOf(this.mapping.users, name) ?? name, id, expiresAtMs)
    if (user !== undefined) return user
    throw unauthenticated(request, 'The client certificate does not belong to a user of this server.')
  }

  private certificateOn(socket: TLSSocket): ClientCertificate | null {
    const before = this.certificates.get(socket)
    if (before !== undefined) return before
    const x509 = socket.getPeerX509Certificate?.()
    const certificate = x509 === undefined ? null : read(x509, this.mapping.name, socket.authorized)
    this.certificates.set(socket, certificate)
    return certificate
  }

  private async holder(certificate: ClientCertificate, name: string, grants: readonly RoleGrant[]): Promise<Caller> {
    this.callers.checkReadable()
    const before = this.holders.get(certificate)
    const { epoch } = this.callers
    if (before?.epoch === epoch) return before.caller
    const customRoles = await this.callers.roles()
    const caller = makeCaller({
      kind: 'certificate',
      name,
      identity: `certificate:${name}`,
      grants,
      customRoles,
      claims: {},
      credential: { kind: 'certificate', id: certificate.id },
      expiresAtMs: certificate.expiresAtMs,
    })
    this.holders.set(certificate, { caller, epoch })
    return caller
  }
}

function entryOf<T>(entries: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined
}

function problemOf({ isVerified, expiresAtMs, name }: ClientCertificate, kind: CertificateName): string | undefined {
  if (!isVerified) return 'is not signed by an accepted authority, or has expired'
  if (Date.now() >= expiresAtMs) return 'has expired'
  return name === undefined ? `does not have exactly one name of the kind ${kind}` : undefined
}

/** Characters of the digest that names a certificate. */
const idCharacters = 16

function read(certificate: X509Certificate, kind: CertificateName, isVerified: boolean): ClientCertificate {
  const names = kind === 'CN' ? commonNames(certificate) : alternativeNames(certificate.subjectAltName, kind)
  return {
    id: certificate.fingerprint256.replaceAll(':', '').slice(0, idCharacters).toLowerCase(),
    expiresAtMs: Date.parse(certificate.validTo),
    name: names.length === 1 ? names[0] : undefined,
    isVerified,
  }
}

function commonNames(certificate: X509Certificate): readonly string[] {
  const { CN } = certificate.toLegacyObject().subject as { readonly CN?: string | readonly string[] }
  return CN === undefined ? [] : [CN].flat()
}

/** One name of `subjectAltName`; those with commas or quotes are JSON strings. */
const alternativeName = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)/y

/** Empty if a part of the text cannot be parsed: quoted text must not be treated as a name. */
export function alternativeNames(text: string | undefined, kind: Exclude<CertificateName, 'CN'>): readonly string[] {
  if (text === undefined) return []
  const names: string[] = []
  alternativeName.lastIndex = 0
  let end = 0
  for (let one = alternativeName.exec(text); one !== null; one = alternativeName.exec(text)) {
    const [, valueKind, value = ''] = one
    // A quoted value has special characters, which no user name has.
    if (valueKind === kind && !value.startsWith('"')) names.push(value)
    end = alternativeName.lastIndex
  }
  return end === text.length ? names : []
}
