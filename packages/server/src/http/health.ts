/** /health/live and /health/ready, for whoever runs the server. */
import { AshlarError } from '@ashlar/engine'
import type { FastifyInstance } from 'fastify'
import type { FederatedDatabases } from '../federated-databases.ts'

/** Live: the process answers. Ready: it takes requests, each federated database can be read, and its files can be changed. */
export function registerHealth(app: FastifyInstance, fds: FederatedDatabases, isStopping: () => boolean): void {
  app.get('/health/live', () => ({ status: 'live' }))
  app.get('/health/ready', async () => {
    if (isStopping()) throw new AshlarError('ShuttingDown', 'The server is stopping.')
    for (const fd of fds.all) {
      const problem = fd.store.problem?.()
      if (problem !== undefined) throw problem
      await fd.listNamespaces()
    }
    return { status: 'ready', federatedDatabases: fds.all.map(({ alias }) => alias) }
  })
}
