/** A server in this process, over federated databases in memory unless told otherwise; verified before it is closed. */
import { defaultEngineLimits, FederatedDatabase, openStore } from '@ashlar/engine'
import inject, { type InjectOptions, type Response } from 'light-my-request'
import { pino } from 'pino'
import { expect, onTestFinished } from 'vitest'
import type { AuditLog } from '../../src/audit/audit-log.ts'
import type { ProxySettings } from '../../src/config/config.ts'
import type { HttpServer } from '../../src/http/http-server.ts'
import { type Browsers, buildServer, type TlsOptions } from '../../src/http/server.ts'
import { defaultServerLimits, type Limits } from '../../src/limits.ts'
import type { Authenticator } from '../../src/security/authenticator.ts'
import type { Security } from '../../src/security/security.ts'
import { threadProgram } from '../../src/thread-program.ts'

export interface ServerSetting {
  readonly aliases?: readonly string[]
  /** The address of the store; in memory where it is left out. */
  readonly store?: string
  readonly defaultAlias?: string
  readonly limits?: Partial<Limits>
  readonly isShutdownAllowed?: boolean
  readonly onStop?: () => void
  readonly authenticator?: Authenticator
  readonly tls?: TlsOptions
  readonly audit?: AuditLog
  readonly browsers?: Browsers
  readonly proxies?: ProxySettings
  readonly security?: Security
  readonly isStopping?: () => boolean
  /** Called with each line of the log. */
  readonly onLog?: (line: string) => void
}

export type TestServer = HttpServer & { inject(request: InjectOptions | string): Promise<Response> }

/** The same server, which answers requests without a connection, too. */
export function withoutConnections(server: HttpServer): TestServer {
  return Object.assign(server, { inject: (request: InjectOptions | string) => inject(server.handle, request) })
}

export interface OpenServer {
  readonly app: TestServer
  readonly federatedDatabases: readonly FederatedDatabase[]
  /** Verifies and closes; done at the end of the test where it has not been before. */
  close(): Promise<void>
}

export async function openServer(setting: ServerSetting = {}): Promise<OpenServer> {
  const federatedDatabases: FederatedDatabase[] = []
  for (const alias of setting.aliases ?? ['default']) {
    const store = await openStore(setting.store ?? 'memory:')
    federatedDatabases.push(
      await FederatedDatabase.open({ alias, store, limits: setting.limits ?? {}, changeLog: 'auto', threadProgram }),
    )
  }
  const server = await buildServer({
    federatedDatabases,
    defaultAlias: setting.defaultAlias,
    limits: { ...defaultServerLimits, ...defaultEngineLimits, ...setting.limits },
    isShutdownAllowed: setting.isShutdownAllowed ?? false,
    logger: pino({ level: setting.onLog === undefined ? 'silent' : 'info' }, { write: setting.onLog ?? (() => {}) }),
    ...(setting.authenticator === undefined ? {} : { authenticator: setting.authenticator }),
    ...(setting.audit === undefined ? {} : { audit: setting.audit }),
    ...(setting.tls === undefined ? {} : { tls: setting.tls }),
    ...(setting.browsers === undefined ? {} : { browsers: setting.browsers }),
    ...(setting.security === undefined ? {} : { security: setting.security }),
    proxies: setting.proxies,
    onStop: setting.onStop ?? (() => {}),
    isStopping: setting.isStopping ?? (() => false),
  })
  const app = withoutConnections(server)
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    closed ??= closeAll(app, federatedDatabases)
    return closed
  }
  onTestFinished(close)
  return { app, federatedDatabases, close }
}

async function closeAll(app: TestServer, federatedDatabases: readonly FederatedDatabase[]): Promise<void> {
  await app.close()
  for (const fd of federatedDatabases) {
    expect((await fd.verify()).problems).toEqual([])
    await fd.close()
  }
}

/** A class with an attribute of each kind that bodies are told apart by. */
export async function defineGadget(
  app: TestServer,
  query = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const attributes = [
    { attributeName: 'name', logicalType: 'string' },
    { attributeName: 'size', logicalType: 'integer', storage: 'b64', encoding: 'unsigned' },
    { attributeName: 'isNew', logicalType: 'boolean' },
  ]
  const payload = [{ className: 'Shop.Gadget', isReferenceable: true, attributes }]
  const reply = await app.inject({ method: 'PUT', url: `/v1/schema${query}`, headers, payload })
  expect(reply.statusCode).toBe(201)
}
