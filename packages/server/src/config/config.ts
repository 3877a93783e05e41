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
  /** The boot file in a configuration of the original server. */
  readonly bootFile?: string | undefined
  /** The default dialect of queries. */
  readonly dialect?: Dialect
  /** The default isolation level of transactions and queries. */
  readonly isolation?: Isolation
  /** Whether its commits are logged, for who follows them: on where the store can (`auto`), without it. */
  readonly changeLog?: ChangeLogSetting
}

/** Whether changes are refused, or made and counted, while the audit log cannot be written. */
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

/** Maps client certificates to callers. */
export interface CertificatesConfig {
  readonly name: CertificateName
  /** User names by name in the certificate, if they differ. */
  readonly users: Readonly<Record<string, string>>
  /** Roles by name in the certificate, for holders who are not users. */
  readonly roles: Readonly<Record<string, readonly string[]>>
}

/** An accepted issuer of tokens, and the meaning of its claims. */
export interface JwtConfig {
  readonly issuer: string
  readonly audience: string
  /** Its public keys: an https address or a file. */
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
  /** Roles by value of the claim, such as `writer@orders`. */
  readonly roles: Readonly<Record<string, readonly string[]>>
  /** Claims that rules and queries can read. */
  readonly claims: readonly string[]
}

export interface Config {
  readonly host: string
  readonly port: number
  readonly data: string
  /** Processes that serve the port; 0: only the one that was started, without supervision. */
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
  /** A PEM file of the authorities for client certificates; undefined if clients are not asked for any. */
  readonly tlsClientCa: string | undefined
  readonly tlsClientCerts: ClientCertificates
  readonly certificates: CertificatesConfig
  /** The file of the audit log; undefined if there is none. */
  readonly auditLog: string | undefined
  readonly auditOnFailure: AuditFailure
  /** The accepted issuer of JWTs, if any. */
  readonly jwt: JwtConfig | undefined
  readonly logLevel: string
  /** The directory below which queries may read files, absolute; without one they read none. */
  readonly importDir: string | undefined
  /** The directory of temporary files, absolute; made when it is needed. */
  readonly temporaryDir: string
  /** The backup directory, and the schedule of automatic backups. */
  readonly backups: BackupSettings | undefined
  /** Receivers of changes. */
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

/** The settings of one source. */
export interface ConfigSource extends Partial<Omit<Config, 'federatedDatabases'>> {
  /** The configuration file with the other settings. */
  readonly config?: string
  /** The store of an `alias` without an address is below the data directory. */
  readonly federatedDatabases?: readonly (Omit<FederatedDatabaseConfig, 'store'> & { readonly store?: string })[]
  /** Dialects by alias. They take precedence over those in `federatedDatabases`. */
  readonly dialects?: Readonly<Record<string, Dialect>>
  /** Isolation levels by alias, likewise. */
  readonly isolations?: Readonly<Record<string, Isolation>>
  /** Change log settings by alias, likewise. */
  readonly changeLogs?: Readonly<Record<string, ChangeLogSetting>>
}

/** The settings of a configuration file or the environment. */
export interface NotedSource {
  readonly source: ConfigSource
  /** Sentences about what was ignored, shown when the server starts. */
  readonly notes: readonly string[]
}

/** An error in the configuration; reported in one sentence, without a stack. */
export class ConfigError extends Error {}
