/** Opens the configured federated databases, serves them, and stops gracefully. */
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import {
  defaultEngineLimits,
  FederatedDatabase,
  MemoryPool,
  type OpenOptions,
  openStore,
  type Store,
  TemporarySpace,
  type WorkSpans,
  withoutCredentials,
} from '@ashlar/engine'
import type { Logger } from 'pino'
import { AuditFile } from './audit/audit-file.ts'
import { AuditLog } from './audit/audit-log.ts'
import { BackupSchedule, type ScheduleListener } from './backups/backup-schedule.ts'
import type { CertificatesConfig, Config, JwtConfig } from './config/config.ts'
import { collectSooner, prepareHeap, watchHeap } from './heap.ts'
import type { HttpServer } from './http/http-server.ts'
import { buildServer, type TlsOptions } from './http/server.ts'
import { defaultServerLimits, type Limits, type ServerLimits, unacceptedConnectionsMax } from './limits.ts'
import type { Peers } from './peers/peers.ts'
import type { AuthenticationScheme } from './security/authenticator.ts'
import { CertificateScheme } from './security/certificates.ts'
import { makeFirstAdministrator } from './security/first-administrator.ts'
import type { CachedCallers } from './security/known-callers.ts'
import { RoleWarnings } from './security/role-warnings.ts'
import { type CustomRoles, isRole, type RoleGrant, readGrant } from './security/roles.ts'
import { Security } from './security/security.ts'
import { hasSecurityClasses, SecurityDatabase } from './security/security-database.ts'
import { threadProgram } from './thread-program.ts'
import { CertificateFiles, readTlsFiles, type TlsMaterial } from './tls/certificate-files.ts'
import { requestTraces } from './tracing/request-traces.ts'
import { version } from './version.ts'
import type { WorkerListener } from './webhooks/webhook-worker.ts'
import { Webhooks } from './webhooks/webhooks.ts'

export interface RunningServer {
  readonly url: string
  readonly federatedDatabases: readonly FederatedDatabase[]
  /** Reloads certificate and key. */
  reload(): void
  /** Completes running requests within a time limit, and closes the federated databases. Repeated calls wait for the first. Throws errors of closing. */
  stop(): Promise<void>
  /** Resolves with the exit code when the server has stopped for any reason; it is not 0 if another process has to open a store. */
  readonly stopped: Promise<number>
}

/** `peers`: the other processes of the server. Throws an Error that names the reason, such as a database that cannot be opened. */
export async function startServer(config: Config, logger: Logger, peers?: Peers): Promise<RunningServer> {
  prepareHeap()
  const limits = { ...defaultServerLimits, ...defaultEngineLimits, ...config.limits }
  const traces = await requestTraces(version)
  const { promise: unusable, resolve: onUnusable } = withResolvers<Error>()
  const { tls, audit, security, fds } = await openParts(config, limits, { logger, onUnusable }, traces)
  let exitCode = 0
  let stopping: Promise<void> | undefined
  let app: HttpServer
  let warnings: RoleWarnings | undefined
  const backups = config.backups && new BackupSchedule(config.backups, fds, backupLogger(logger))
  let webhooks: Webhooks | undefined
  let unwatchHeap: (() => void) | undefined
  const { promise: stopped, resolve: hasStopped } = withResolvers<number>()
  const stop = (): Promise<void> => {
    tls?.files.close()
    unwatchHeap?.()
    stopping ??= Promise.resolve(warnings?.stop())
      .then(() => Promise.all([backups?.stop(), webhooks?.stop()]))
      .then(() => stopAll(app, fds, security))
      .finally(() => audit?.file.close())
      .finally(() => hasStopped(exitCode))
    return stopping
  }
  try {
    webhooks = config.webhooks && new Webhooks(config.webhooks, fds, limits, webhookLogger(logger))
    app = await buildServer({
      federatedDatabases: fds,
      defaultAlias: config.default,
      places: new Map(config.federatedDatabases.map((fd) => [fd.alias, fd])),
      limits,
      isShutdownAllowed: config.allowShutdown,
      browsers: { host: config.host, hosts: config.hosts, cors: config.cors },
      proxies: config.proxyHeader && { trusted: config.trustedProxies, header: config.proxyHeader },
      logger,
      tls: tls?.options,
      audit,
      backups,
      webhooks,
      peers,
      processes: peers && Math.max(1, config.workers),
      security,
      traces,
      onStop: () => (peers?.stopAll === undefined ? setImmediate(() => void stop()) : peers.stopAll()),
      isStopping: () => stopping !== undefined,
    })
    // A single worker listens directly: connections do not go through the primary.
    const { host, port, workers } = config
    await app.listen({ host, port, exclusive: workers <= 1, backlog: unacceptedConnectionsMax })
  } catch (error) {
    tls?.files.close()
    await audit?.file.close()
    await closeAll([...fds, ...(security === undefined ? [] : [security])])
    throw listenError(error as NodeJS.ErrnoException, config)
  }
  warnings = security && new RoleWarnings(security.callers, fds, (message) => logger.warn(message))
  void unusable.then((error) => {
    exitCode = 1
    return giveUp(error, stop, logger)
  })
  unwatchHeap = watchHeap()
  warnings?.start()
  backups?.start()
  webhooks?.start()
  const reload = (): void => reloadFiles(tls, audit, logger)
  return { url: urlOf(app, config, tls), federatedDatabases: fds, reload, stop, stopped }
}

function reloadFiles(tls: Tls | undefined, audit: AuditLog | undefined, logger: Logger): void {
  tls?.files.reload()
  audit?.file
    .reopen()
    .catch((err) => logger.error({ err }, `The audit log ${audit.file.name} could not be closed to be begun anew.`))
}

function urlOf(app: HttpServer, config: Config, tls: Tls | undefined): string {
  const { port } = app.server.address() as AddressInfo
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  return `${tls === undefined ? 'http' : 'https'}://${host}:${port}`
}

/** Stops the process, since the store is usable again only when another process opens it. */
async function giveUp({ message }: Error, stop: () => Promise<void>, logger: Logger): Promise<void> {
  logger.fatal(`${message} This process ends so that another one can open it.`)
  await stop().catch((err: unknown) => logger.error({ err }, 'a store could not be closed'))
}

interface Parts {
  readonly tls: Tls | undefined
  readonly audit: AuditLog | undefined
  readonly security: Security | undefined
  readonly fds: readonly FederatedDatabase[]
}

interface Listeners {
  readonly logger: Logger
  /** See `StoreOptions`. */
  onUnusable(error: Error): void
}

/** Opens all parts of a server; if one cannot be opened, the rest are closed. */
async function openParts(
  config: Config,
  limits: Limits,
  listeners: Listeners,
  spans: WorkSpans | undefined,
): Promise<Parts> {
  const { logger } = listeners
  const tls = openTls(config, logger)
  const opened: { close(): Promise<void> }[] = []
  try {
    const audit = await openAudit(config, limits, logger)
    if (audit !== undefined) opened.push(audit.file)
    const security = config.auth ? await openSecurity(config, listeners) : undefined
    if (security !== undefined) opened.push(security)
    return { tls, audit, security, fds: await openAll(config, limits, listeners, spans) }
  } catch (error) {
    tls?.files.close()
    await closeAll(opened)
    throw error
  }
}

interface Tls {
  readonly options: TlsOptions
  readonly files: CertificateFiles
}

/** Throws an Error with a one-sentence message if certificate or key cannot be used. */
function openTls({ tlsCert, tlsKey, tlsClientCa, tlsClientCerts }: Config, logger: Logger): Tls | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined
  const named = { cert: tlsCert, key: tlsKey, clientCa: tlsClientCa }
  const material = readTlsFiles(named)
  let exchange: (material: TlsMaterial) => void = () => undefined
  const files = new CertificateFiles(named, logger, (read) => exchange(read))
  const onServers = (listener: typeof exchange): void => {
    exchange = listener
  }
  const certificateMode = tlsClientCerts === 'require' ? 'required' : 'optional'
  const clientCertificates = tlsClientCa === undefined ? 'none' : certificateMode
  return { files, options: { material, clientCertificates, onServers } }
}

/** Throws an Error with a one-sentence message if it cannot be written. */
async function openAudit(
  { auditLog, auditOnFailure }: Config,
  { auditFileBytesMax, auditFilesMax }: ServerLimits,
  logger: Logger,
): Promise<AuditLog | undefined> {
  if (auditLog === undefined) return undefined
  const options = { file: resolve(auditLog), fileBytesMax: auditFileBytesMax, filesMax: auditFilesMax }
  const file = new AuditFile(options, logger)
  await file.start()
  return new AuditLog(file, auditOnFailure)
}

/** Opens the security database and creates the first administrator, whose password is printed once on standard output. */
async function openSecurity(config: Config, { logger, onUnusable }: Listeners): Promise<Security> {
  const { securityStore } = config
  const configured = await configuredSchemes(config, logger)
  const onFault = (err: unknown): void => logger.error({ err }, 'the security database cannot be used')
  const warn = (message: string): void => logger.warn(message)
  let database: SecurityDatabase
  try {
    database = await SecurityDatabase.open(securityStore, { warn, onUnusable, onFault })
  } catch (error) {
    const place = withoutCredentials(securityStore)
    throw new Error(`The security database (${place}) cannot be opened: ${(error as Error).message}`, { cause: error })
  }
  const security = new Security(database, onFault, (callers) => configured.map((one) => one.of(callers)))
  try {
    const notice = await makeFirstAdministrator(database, security.hashes, process.env)
    if (notice !== undefined) process.stdout.write(notice)
    await security.start()
    const customRoles = await security.callers.roles()
    for (const { checkRoles } of configured) checkRoles(customRoles)
    return security
  } catch (error) {
    await security.close()
    throw error
  }
}

interface ConfiguredScheme {
  of(callers: CachedCallers): AuthenticationScheme
  /** Logs roles that do not exist, which may be created later. */
  checkRoles(customRoles: CustomRoles): void
}

/** Returns the configured schemes that complement the security database. Throws an Error with one sentence for an invalid role. */
async function configuredSchemes(
  { jwt, tlsClientCa, certificates }: Config,
  logger: Logger,
): Promise<readonly ConfiguredScheme[]> {
  return [
    ...(jwt === undefined ? [] : [await jwtScheme(jwt, logger)]),
    ...(tlsClientCa === undefined ? [] : [certificateScheme(certificates, logger)]),
  ]
}

async function jwtScheme({ jwks, name, roles, ...config }: JwtConfig, logger: Logger): Promise<ConfiguredScheme> {
  const { grants, checkRoles } = readRoles(roles, 'jwt', logger)
  // Loaded only by servers that accept such tokens.
  const [{ JwtScheme }, { keysOf }] = await Promise.all([import('./security/jwt.ts'), import('./security/jwt-keys.ts')])
  const settings = { ...config, nameClaim: name, roles: grants }
  return { of: (callers) => new JwtScheme(settings, keysOf(jwks, logger), callers), checkRoles }
}

function certificateScheme({ name, users, roles }: CertificatesConfig, logger: Logger): ConfiguredScheme {
  const { grants, checkRoles } = readRoles(roles, 'certificates', logger)
  return { of: (callers) => new CertificateScheme({ name, users, roles: grants }, callers), checkRoles }
}

interface ReadRoles extends Pick<ConfiguredScheme, 'checkRoles'> {
  readonly grants: Readonly<Record<string, readonly RoleGrant[]>>
}

function readRoles(
  roles: Readonly<Record<string, readonly string[]>>,
  setting: keyof Config,
  logger: Logger,
): ReadRoles {
  const grants = Object.entries(roles).map(([value, texts]) => {
    try {
      return [value, texts.map(readGrant)] as const
    } catch (error) {
      throw new Error(`${setting}: the roles of '${value}' cannot be: ${(error as Error).message}`)
    }
  })
  const checkRoles = (customRoles: CustomRoles): void => {
    for (const [value, granted] of grants) {
      for (const { role } of granted) {
        if (isRole(role, customRoles)) continue
        logger.warn(
          `${setting}: '${value}' is mapped to role '${role}', which does not exist: it grants nothing until it does.`,
        )
      }
    }
  }
  return { grants: Object.fromEntries(grants), checkRoles }
}

async function openAll(
  { federatedDatabases: configured, importDir, temporaryDir }: Config,
  limits: NonNullable<Parameters<typeof FederatedDatabase.open>[0]['limits']>,
  { logger, onUnusable }: Listeners,
  spans: WorkSpans | undefined,
): Promise<FederatedDatabase[]> {
  const opened: FederatedDatabase[] = []
  const memory = new MemoryPool(collectSooner)
  const temporary = new TemporarySpace(temporaryDir)
  await temporary.removeLeftovers()
  try {
    for (const { alias, store, dialect = 'ashlar', isolation, changeLog = 'auto' } of configured) {
      const options = {
        alias,
        limits,
        memory,
        temporary,
        dialect,
        isolation,
        changeLog,
        spans,
        threadProgram,
        ...faultLogger(logger, alias),
        ...(importDir === undefined ? {} : { importDir }),
      }
      const warn = (message: string): void => logger.warn({ fdAlias: alias }, message)
      const fd = await openOn(await openStore(store, { warn, onUnusable }), options)
      opened.push(fd)
      logOpened(logger, fd)
    }
    return opened
  } catch (error) {
    await closeAll(opened)
    const failed = configured[opened.length]
    throw new Error(
      `The federated database ${failed?.alias} (${withoutCredentials(failed?.store ?? '')}) cannot be opened: ${(error as Error).message}`,
      {
        cause: error,
      },
    )
  }
}

/** Logs whether the store was created, which may mean that a volume is missing, or migrated, after which earlier versions cannot read it. */
function logOpened(logger: Logger, { alias: fdAlias, format, store }: FederatedDatabase): void {
  const { kind, location, isDurable } = store.capabilities
  const { found, present } = format
  const opened = { fdAlias, kind, location, format: present, bytes: store.fileBytes?.() }
  if (found === undefined && isDurable) logger.warn(opened, 'created: a new, empty store, since there was none')
  else if (found !== undefined && found < present)
    logger.warn(
      { ...opened, formatBefore: found },
      'migrated: earlier versions of Ashlar cannot read the store any more',
    )
  else logger.info(opened, 'opened')
}

/** Closes a store whose federated database cannot be opened: its connections would keep the process from ending. */
async function openOn(store: Store, options: Omit<OpenOptions, 'store'>): Promise<FederatedDatabase> {
  let fd: FederatedDatabase
  try {
    fd = await FederatedDatabase.open({ ...options, store })
  } catch (error) {
    await Promise.allSettled([store.close()])
    throw error
  }
  // Access to the security database by an alias would let callers make themselves administrators.
  if (!(await hasSecurityClasses(fd))) return fd
  await fd.close()
  throw new Error('it is a security database, which is served under no alias')
}

function backupLogger(logger: Logger): ScheduleListener {
  return {
    onBackup: (fdAlias, backup, removed) => logger.info({ fdAlias, backup, removed }, 'a backup was made'),
    onFailure: (fdAlias, message) => logger.error({ fdAlias }, message),
  }
}

function webhookLogger(logger: Logger): WorkerListener {
  return {
    onFailure: (webhook, reason) => logger.warn({ webhook }, `A delivery has failed: ${reason}`),
    onDeadLetter: (webhook, reason) => logger.error({ webhook }, `A delivery was abandoned: ${reason}`),
    onDisabled: (webhook, reason) => logger.error({ webhook }, reason),
    onFault: (err) => logger.error({ err }, 'work for a webhook failed'),
  }
}

function faultLogger(logger: Logger, fdAlias: string): Pick<OpenOptions, 'onFault' | 'onFormatChanged'> {
  return {
    onFault: (err) => logger.error({ err, fdAlias }, 'work in the background failed'),
    onFormatChanged: (message) => logger.fatal({ fdAlias }, `${message} Stop it, and start the newer version.`),
  }
}

async function stopAll(
  app: HttpServer,
  fds: readonly FederatedDatabase[],
  security: Security | undefined,
): Promise<void> {
  await app.close()
  const failed = (await closeAll([...fds, ...(security === undefined ? [] : [security])])).find(
    ({ status }) => status === 'rejected',
  )
  if (failed?.status === 'rejected') throw failed.reason
}

/** Closes all, even if one fails; failures do not hide the reason why the server has not started. */
function closeAll(fds: readonly { close(): Promise<void> }[]): Promise<PromiseSettledResult<void>[]> {
  return Promise.allSettled(fds.map((fd) => fd.close()))
}

function listenError(error: NodeJS.ErrnoException, { host, port }: Config): Error {
  if (error.code === 'EADDRINUSE') return new Error(`Port ${port} of ${host} is in use; choose another with --port.`)
  if (error.code === 'EACCES') return new Error(`Listening on port ${port} of ${host} is not permitted.`)
  if (error.code === 'EADDRNOTAVAIL') return new Error(`${host} is not an address of this machine.`)
  return error
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
