/** The configuration of a server, complete or from one source. */
import type { ChangeLogSetting, Dialect, Isolation } from '@ashlar/engine'
import type { BackupSettings } from '../backups/backup-settings.ts'
import type { Limits } from '../limits.ts'
import type { CertificateName } from '../tls/certificate-files.ts'
import type { WebhookSettings } from '../webhooks/webhook-settings.ts'

export interface FederatedDatabaseConfig {
  readonly alias: string
  /** `lmdb:<directory>`, `postgres://…` or `memory:`. Must not be printed, since it may contain a password. */
  readonly store: string
  /** The boot file in a configuration of the original server. */
  readonly bootFile?: string | undefined
  readonly dialect?: Dialect
  readonly isolation?: Isolation
  /** Whether commits are logged for followers of changes; `auto`: if the store supports it. */
  readonly changeLog?: ChangeLogSetting
}

/** Whether changes are refused, or executed and counted, while the audit log cannot be written. */
export type AuditFailure = 'refuse' | 'continue'

/** The header by which a proxy names the client. */
export type ProxyHeader = 'x-forwarded-for' | 'forwarded' | 'proxy-protocol'

/** The trusted proxies, as addresses, networks and names of networks, and the header that they use. */
export interface ProxySettings {
  readonly trusted: readonly string[]
  readonly header: ProxyHeader
}

export type ClientCertificates = 'request' | 'require'

export interface CertificatesConfig {
  readonly name: CertificateName
  readonly users: Readonly<Record<string, string>>
  /** Roles by name in the certificate, for holders who are not users. */
  readonly roles: Readonly<Record<string, readonly string[]>>
}

/** An accepted issuer of tokens, and the meaning of its claims. */
export interface JwtConfig {
  readonly issuer: string
  readonly audience: string
  /** The public keys of the issuer: an https address or a file. */
  readonly jwks: string
  readonly algorithms: readonly string[]
  readonly clockToleranceSeconds: number
  /** Accepted values of the header `typ`, which is `JWT` by default. */
  readonly types: readonly string[]
  readonly requiredClaims: Readonly<Record<string, string | number | boolean>>
  /** The claim with the name of the caller. */
  readonly name: string
  /** The claim whose values are keys of `roles`; dots lead into objects. */
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
  /** Processes that serve the port; 0: a single process without supervision. */
  readonly workers: number
  /** Alias of the federated database for requests without fdAlias. */
  readonly default: string | undefined
  readonly federatedDatabases: readonly FederatedDatabaseConfig[]
  readonly limits: Partial<Limits>
  readonly allowShutdown: boolean
  readonly auth: boolean
  /** The store of the security database. Must not be printed, since it may contain a password. */
  readonly securityStore: string
  /** Allows listening beyond this machine without authentication. */
  readonly insecure: boolean
  /** Names accepted in `Host` besides the addresses, in lower case, or `*`. Undefined if not configured. */
  readonly hosts: readonly string[] | undefined
  /** Origins whose pages may use the server from a browser, in lower case. */
  readonly cors: readonly string[]
  /** Addresses and networks of trusted proxies, and the header by which they name clients. */
  readonly trustedProxies: readonly string[]
  readonly proxyHeader: ProxyHeader | undefined
  /** PEM files; without them, connections are unencrypted. */
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  /** A PEM file of the authorities for client certificates; undefined if the server does not request certificates. */
  readonly tlsClientCa: string | undefined
  readonly tlsClientCerts: ClientCertificates
  readonly certificates: CertificatesConfig
  /** The file of the audit log; undefined if there is none. */
  readonly auditLog: string | undefined
  readonly auditOnFailure: AuditFailure
  readonly jwt: JwtConfig | undefined
  readonly logLevel: string
  /** The absolute path of the directory from which queries may read files; without it, they read none. */
  readonly importDir: string | undefined
  /** The absolute path of the directory of temporary files, created on demand. */
  readonly temporaryDir: string
  readonly backups: BackupSettings | undefined
  readonly webhooks: WebhookSettings | undefined
}

/** Returns the addresses of all stores that the server opens. */
export function storesOf({
  federatedDatabases,
  auth,
  securityStore,
}: Pick<Config, 'federatedDatabases' | 'auth' | 'securityStore'>): string[] {
  return [...federatedDatabases.map(({ store }) => store), ...(auth ? [securityStore] : [])]
}

export interface ConfigSource extends Partial<Omit<Config, 'federatedDatabases'>> {
  /** The path of the configuration file. */
  readonly config?: string
  /** An `alias` without an address is stored in the data directory. */
  readonly federatedDatabases?: readonly (Omit<FederatedDatabaseConfig, 'store'> & { readonly store?: string })[]
  /** Dialects by alias. They take precedence over those in `federatedDatabases`. */
  readonly dialects?: Readonly<Record<string, Dialect>>
  /** Isolation levels by alias, with the same precedence. */
  readonly isolations?: Readonly<Record<string, Isolation>>
  /** Change log settings by alias, with the same precedence. */
  readonly changeLogs?: Readonly<Record<string, ChangeLogSetting>>
}

export interface NotedSource {
  readonly source: ConfigSource
  /** Sentences about ignored settings, shown when the server starts. */
  readonly notes: readonly string[]
}

/** An error in the configuration; reported in one sentence, without a stack. */
export class ConfigError extends Error {}
