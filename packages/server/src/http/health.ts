/** /health/live and /health/ready, for monitoring and load balancers. */
import { AshlarError } from '@ashlar/engine'
import type { BackupSchedule } from '../backups/backup-schedule.ts'
import type { FederatedDatabases } from '../federated-databases.ts'
import { everyone } from '../security/caller.ts'
import type { Security } from '../security/security.ts'
import type { HttpRequest, RouteTable } from './http-request.ts'
import { contentTypeOf } from './negotiate.ts'
import { sendReply } from './send-reply.ts'

interface HealthSources {
  isStopping(): boolean
  readonly security?: Security | undefined
  readonly backups?: BackupSchedule | undefined
}

/**
 * Live: the process responds. Ready: it accepts requests, and each federated database can be read and written. Only callers who may operate the
 * server see names and the reason why it is not ready.
 */
export function registerHealth(
  routes: RouteTable,
  fds: FederatedDatabases,
  { isStopping, security, backups }: HealthSources,
): void {
  const live = '/health/live'
  const ready = '/health/ready'
  routes.add('GET', live, { path: live, handle: (request) => sendJson(request, { status: 'live' }) })
  // Concurrent health checks share a read, so that unauthenticated requests cost the stores at most one read at a time.
  let check: Promise<void> | undefined
  const answerReady = async (request: HttpRequest): Promise<void> => {
    if (isStopping()) throw new AshlarError('ShuttingDown', 'The server is stopping.')
    const { caller = everyone } = request
    const isOperator = caller.may('operate', undefined)
    check ??= checkStores(fds, security).finally(() => {
      check = undefined
    })
    try {
      await check
    } catch (error) {
      throw isOperator ? error : withoutReason(error)
    }
    if (!isOperator) return sendJson(request, { status: 'ready' })
    const aliases = fds.all.map(({ alias }) => alias)
    const backupStates = backups === undefined ? {} : { backups: backups.states() }
    sendJson(request, { status: 'ready', federatedDatabases: aliases, ...backupStates })
  }
  routes.add('GET', ready, { path: ready, mayHaveCaller: true, handle: answerReady })
}

async function checkStores(fds: FederatedDatabases, security: Security | undefined): Promise<void> {
  security?.callers.checkReadable()
  for (const fd of fds.all) {
    const problem = fd.store.problem?.()
    if (problem !== undefined) throw problem
    await fd.store.checkServing?.()
    await fd.listNamespaces()
  }
}

function withoutReason(error: unknown): unknown {
  if (!(error instanceof AshlarError) || error.type !== 'StoreUnavailable') return error
  return new AshlarError(
    'StoreUnavailable',
    'A store cannot be used. Callers who may operate the server are shown which, and why.',
  )
}

function sendJson(request: HttpRequest, value: object): undefined {
  sendReply(request, 200, undefined, contentTypeOf.json, JSON.stringify(value))
}
