/** Operations on the service itself and on a whole federated database (contract 2.1). */

import type { FdOperation, OperationReply, OperationRequest, ServiceOperation } from '../dispatch/operation.ts'
import { ServerError } from '../errors/server-errors.ts'
import { readersOf, readersTogether } from '../statements/aborted-replies.ts'
import type { Static } from '../wire/json-schema.ts'
import { FederatedDatabaseRecord, ResourceList, ServiceRoot } from '../wire/wire-schemas.ts'

function shutDown({ service }: OperationRequest): OperationReply {
  if (!service.isShutdownAllowed) {
    throw new ServerError('ShutdownNotAllowed', 'The server was started without --allow-shutdown.')
  }
  service.stop()
  return {}
}

const shutdown: Omit<ServiceOperation, 'path'> = {
  scope: 'service',
  method: 'POST',
  needs: 'operate',
  summary: 'Stop the server',
  description: 'Requests in progress are finished. Requires the setting `allowShutdown`.',
  tag: 'Service',
  status: 204,
  isTransactional: false,
  errors: ['ShutdownNotAllowed'],
  run: shutDown,
}

export const serviceOperations: readonly ServiceOperation[] = [
  {
    scope: 'service',
    method: 'GET',
    path: '/',
    needs: 'identify',
    summary: 'The service',
    tag: 'Service',
    status: 200,
    reply: ServiceRoot,
    errors: [],
    run({ service }) {
      const uptime = Math.round(performance.now() - service.startedAt)
      return { body: { uptime, versions: ['v1'] } satisfies Static<typeof ServiceRoot> }
    },
  },
  {
    scope: 'service',
    method: 'GET',
    path: '/v1',
    needs: 'identify',
    summary: 'The resources of version 1',
    tag: 'Service',
    status: 200,
    reply: ResourceList,
    errors: [],
    run: ({ service }) => ({
      body: { version: 'v1', resources: service.resources } satisfies Static<typeof ResourceList>,
    }),
  },
  { ...shutdown, path: '/shutdown' },
  { ...shutdown, path: '/v1/shutdown' },
]

export const fdOperations: readonly FdOperation[] = [
  {
    scope: 'fd',
    method: 'GET',
    path: '/v1/fd',
    needs: 'read',
    isFdWide: true,
    summary: 'The federated database',
    tag: 'Service',
    status: 200,
    reply: FederatedDatabaseRecord,
    errors: [],
    async run(_database, { fd, service }) {
      const { kind, location, isDurable } = fd.store.capabilities
      const counts = { ...(await fd.statistics()) }
      const unresolvedTransactions = await fd.store.unresolvedTransactions?.()
      const unresolved = unresolvedTransactions === undefined ? {} : { unresolvedTransactions }
      const { alias, dialect, isolation } = fd
      const own = readersOf([fd], service.statements.abortedReplies)
      const readers = readersTogether([...own, ...(await service.peers.gather({ about: 'readers' }))], alias)
      const body: Static<typeof FederatedDatabaseRecord> = {
        bootfile: location,
        alias,
        store: { kind, isDurable },
        dialect,
        isolation,
        limits: { ...service.limits },
        counts,
        readers,
        ...unresolved,
      }
      return { body }
    },
  },
]
