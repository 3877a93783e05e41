/** The configuration of a server, complete or from one source. */
import type { ChangeLogSetting, Dialect, Isolation } from '@ashlar/engine'
import type { BackupSettings } from '../backups/backup-settings.ts'
import type { Limits } from '../limits.ts'
import type { CertificateName } from '../tls/certificate-files.ts'
import type { WebhookSettings } from '../webhooks/webhook-settings.ts'

export interface FederatedDatabaseConfig {
  readonly alias: string
  /** `lmdb:<directory>`, `postgres://…` or `memory:`. May hold a password: never to be printed. */
  readonly store: string
  /** As the configuration of the original names it. */
  readonly bootFile?: string | undefined
  /** Of queries that ask for none. */
  readonly dialect?: Dialect
  /** Of transactions and queries that ask for none. */
  readonly isolation?: Isolation
  /** Whether its commits are logged, for who follows them: on where the store can (`auto`), without it. */
  readonly changeLog?: ChangeLogSetting
}

/** What is done where the audit log cannot be written: changes are refused, or done and counted. */
export type AuditFailure = 'refuse' | 'continue'

/** How a proxy names its clients. */
export type ProxyHeader = 'x-forwarded-for' | 'forwarded' | 'proxy-protocol'

/** The trusted proxies, as addresses, networks and names of networks, and the header that they use. */
export interface ProxySettings {
  readonly trusted: readonly string[]
  readonly header: ProxyHeader
}

/** Whether clients may show certificates, or have to. */
export type ClientCertificates = 'request' | 'require'

/** Whose the certificates of clients are. */
export interface CertificatesConfig {
  readonly name: CertificateName
  /** By the name in the certificate: the name of the user, where it is another one. */
  readonly users: Readonly<Record<string, string>>
  /** By the name in the certificate: roles as of a user, of holders who are no users. */
  readonly roles: Readonly<Record<string, readonly string[]>>
}

/** Of an issuer: whose tokens are taken, and what their claims mean. */
export interface JwtConfig {
  readonly issuer: string
  readonly audience: string
  /** Of its public keys: an address by https, or a file. */
  readonly jwks: string
  readonly algorithms: readonly string[]
  readonly clockToleranceSeconds: number
  /** The values of the header `typ` that are accepted; a token without it is a `JWT`. */
  readonly types: readonly string[]
  /** Claims that each token must have, with this value: a string, number or boolean. */
  readonly requiredClaims: Readonly<Record<string, string | number | boolean>>
  /** The claim that is the name of the caller. */
  readonly name: string
  /** The claim of which the values are looked up in `roles`; dots lead into objects. */
  readonly rolesClaim: string
  /** By value: roles as of a user, such as `writer@orders`. */
  readonly roles: Readonly<Record<string, readonly string[]>>
  /** Those that rules and queries may see. */
  readonly claims: readonly string[]
}

export interface Config {
  readonly host: string
  readonly port: number
  readonly data: string
  /** Processes that answer on the port, together; 0: the one that was started, which no other watches. */
  readonly workers: number
  /** Alias of the federated database that a request without fdAlias means. */
  readonly default: string | undefined
  readonly federatedDatabases: readonly FederatedDatabaseConfig[]
  readonly limits: Partial<Limits>
  readonly allowShutdown: boolean
  /** Whether callers have to authenticate. */
  readonly auth: boolean
  /** The store of the security database. May hold a password: never to be printed. */
  readonly securityStore: string
  /** Whether listening beyond this machine is meant, though nobody has to authenticate. */
  readonly insecure: boolean
  /** Names of the server, in lower case, or `*`, that requests may have in `Host` beside its addresses. Undefined: not said. */
  readonly hosts: readonly string[] | undefined
  /** Origins whose pages may use the server from a browser, in lower case. */
  readonly cors: readonly string[]
  /** Addresses and networks of the proxies that are trusted to name the addresses of their clients, and the header that they use. */
  readonly trustedProxies: readonly string[]
  readonly proxyHeader: ProxyHeader | undefined
  /** PEM files; without them requests come unencrypted. */
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  /** A PEM file of the authorities whose certificates clients may show; undefined where they are not asked for any. */
  readonly tlsClientCa: string | undefined
  readonly tlsClientCerts: ClientCertificates
  readonly certificates: CertificatesConfig
  /** The file of the audit log; undefined where none is kept. */
  readonly auditLog: string | undefined
  /** What becomes of changes while it cannot be written. */
  readonly auditOnFailure: AuditFailure
  /** Whose JWTs are taken, where any are. */
  readonly jwt: JwtConfig | undefined
  readonly logLevel: string
  /** The directory below which queries may read files, absolute; without one they read none. */
  readonly importDir: string | undefined
  /** The directory of temporary files, absolute; made when it is needed. */
  readonly temporaryDir: string
  /** Where backups are kept, and which the server makes by itself. */
  readonly backups: BackupSettings | undefined
  /** Where changes are delivered by themselves. */
  readonly webhooks: WebhookSettings | undefined
}

/** The addresses of all stores that the server opens. */
export function storesOf({
  federatedDatabases,
  auth,
  securityStore,
}: Pick<Config, 'federatedDatabases' | 'auth' | 'securityStore'>): string[] {
  return [...federatedDatabases.map(({ store }) => store), ...(auth ? [securityStore] : [])]
}

/** What one source says: the fields of `Config`, and what only sources have. */
export interface ConfigSource extends Partial<Omit<Config, 'federatedDatabases'>> {
  /** The file that says the rest. */
  readonly config?: string
  /** An `alias` without a store is kept below the data directory. */
  readonly federatedDatabases?: readonly (Omit<FederatedDatabaseConfig, 'store'> & { readonly store?: string })[]
  /** By alias; they come before what another source says of the federated database. */
  readonly dialects?: Readonly<Record<string, Dialect>>
  /** The same. */
  readonly isolations?: Readonly<Record<string, Isolation>>
  /** The same. */
  readonly changeLogs?: Readonly<Record<string, ChangeLogSetting>>
}

/** What a configuration file, or the environment, says. */
export interface NotedSource {
  readonly source: ConfigSource
  /** Sentences about what was ignored, shown when the server starts. */
  readonly notes: readonly string[]
}

/** A mistake of whoever configures; told in one sentence, without a stack. */
export class ConfigError extends Error {}
