/** /health/live and /health/ready, for whoever runs the server. */
import { AshlarError } from '@ashlar/engine'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { BackupSchedule } from '../backups/backup-schedule.ts'
import type { FederatedDatabases } from '../federated-databases.ts'
import type { Security } from '../security/security.ts'
import { contentTypeOf } from './negotiate.ts'
import { sendReply } from './send-reply.ts'

interface HealthSources {
  isStopping(): boolean
  readonly security?: Security | undefined
  readonly backups?: BackupSchedule | undefined
}

/** Live: the process answers. Ready: it takes requests, each federated database can be read, and its files can be changed. */
export function registerHealth(
  app: FastifyInstance,
  fds: FederatedDatabases,
  { isStopping, security, backups }: HealthSources,
): void {
  app.get('/health/live', (_request, reply) => sendJson(reply, { status: 'live' }))
  app.get('/health/ready', async (_request, reply) => {
    if (isStopping()) throw new AshlarError('ShuttingDown', 'The server is stopping.')
    security?.callers.checkReadable()
    for (const fd of fds.all) {
      const problem = fd.store.problem?.()
      if (problem !== undefined) throw problem
      await fd.store.checkServing?.()
      await fd.listNamespaces()
    }
    const aliases = fds.all.map(({ alias }) => alias)
    const kept = backups === undefined ? {} : { backups: backups.states() }
    sendJson(reply, { status: 'ready', federatedDatabases: aliases, ...kept })
  })
}

function sendJson(reply: FastifyReply, value: object): void {
  sendReply(reply, 200, undefined, contentTypeOf.json, JSON.stringify(value))
}
