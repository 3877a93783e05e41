/** Callers who are known by the certificate of their connection (contract 9.1.10). */
import type { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { isSameHost } from '../browsers/origins.ts'
import type { CertificateName } from '../tls/certificate-files.ts'
import { type ArrivedRequest, type AuthenticationScheme, unauthenticated } from './authenticator.ts'
import { type Caller, makeCaller } from './caller.ts'
import type { KnownCallers } from './known-callers.ts'
import type { Grant } from './roles.ts'

/** Maps certificates to callers. */
export interface CertificateMapping {
  /** The part of a certificate that names its holder. */
  readonly name: CertificateName
  /** User names by name in the certificate; by default that name. */
  readonly users: Readonly<Record<string, string>>
  /** Grants by name in the certificate, for holders who are not users. */
  readonly roles: Readonly<Record<string, readonly Grant[]>>
}

/** The certificate of a connection, read once for all of its requests. */
interface Shown {
  /** The id of the certificate, for logs. */
  readonly id: string
  readonly expiresAtMs: number
  /** Undefined: it has none of the kind, or several. */
  readonly name: string | undefined
  readonly isVerified: boolean
}

export class CertificateScheme implements AuthenticationScheme {
  private readonly mapping: CertificateMapping
  private readonly callers: KnownCallers
  private readonly shown = new WeakMap<object, Shown | null>()
  /** Callers who are not users. */
  private readonly holders = new WeakMap<Shown, { readonly caller: Caller; readonly epoch: number }>()

  constructor(mapping: CertificateMapping, callers: KnownCallers) {
    this.mapping = mapping
    this.callers = callers
  }

  async authenticate(request: ArrivedRequest): Promise<Caller | undefined> {
    const { headers, socket } = request
    if (headers.authorization !== undefined) return undefined
    const shown = this.shownOn(socket as TLSSocket)
    if (shown === null) return undefined
    // Pages of other origins may send requests, but not with the certificate of the browser's user.
    if (headers.origin !== undefined && !isSameHost(headers.origin, headers.host)) return undefined
    const problem = problemOf(shown, this.mapping.name)
    if (problem !== undefined) throw unauthenticated(request, `The certificate of the client ${problem}.`)
    const { id, expiresAtMs, name = '' } = shown
    const grants = own(this.mapping.roles, name)
    if (grants !== undefined) return this.holder(shown, name, grants)
    const user = await this.callers.certificate(own(this.mapping.users, name) ?? name, id, expiresAtMs)
    if (user !== undefined) return user
    throw unauthenticated(request, 'The client certificate does not belong to a user of this server.')
  }

  private shownOn(socket: TLSSocket): Shown | null {
    const before = this.shown.get(socket)
    if (before !== undefined) return before
    const certificate = socket.getPeerX509Certificate?.()
    const shown = certificate === undefined ? null : read(certificate, this.mapping.name, socket.authorized)
    this.shown.set(socket, shown)
    return shown
  }

  private async holder(shown: Shown, name: string, grants: readonly Grant[]): Promise<Caller> {
    this.callers.checkReadable()
    const before = this.holders.get(shown)
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
      credential: { kind: 'certificate', id: shown.id },
      expiresAtMs: shown.expiresAtMs,
    })
    this.holders.set(shown, { caller, epoch })
    return caller
  }
}

function own<T>(entries: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined
}

function problemOf({ isVerified, expiresAtMs, name }: Shown, wanted: CertificateName): string | undefined {
  if (!isVerified) return 'is not signed by an accepted authority, or has expired'
  if (Date.now() >= expiresAtMs) return 'has expired'
  return name === undefined ? `does not have exactly one name of the kind ${wanted}` : undefined
}

/** Characters of the digest that names a certificate. */
const idCharacters = 16

function read(certificate: X509Certificate, wanted: CertificateName, isVerified: boolean): Shown {
  const names = wanted === 'CN' ? commonNames(certificate) : alternativeNames(certificate.subjectAltName, wanted)
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

/** One name of `subjectAltName`; those with commas or quotes are written as JSON texts. */
const alternativeName = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)/y

/** Returns no names if a part of the text is not understood: quoted text must not be mistaken for a name. */
export function alternativeNames(text: string | undefined, wanted: Exclude<CertificateName, 'CN'>): readonly string[] {
  if (text === undefined) return []
  const names: string[] = []
  alternativeName.lastIndex = 0
  let end = 0
  for (let one = alternativeName.exec(text); one !== null; one = alternativeName.exec(text)) {
    const [, kind, value = ''] = one
    // A quoted value has special characters, which no user name has.
    if (kind === wanted && !value.startsWith('"')) names.push(value)
    end = alternativeName.lastIndex
  }
  return end === text.length ? names : []
}
