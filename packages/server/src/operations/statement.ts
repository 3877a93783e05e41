/** The operations on statements under way (contract 2.3). */

import { param, type ServiceOperation } from '../dispatch/operation.ts'
import { quote } from '../errors/quote-names.ts'
import { ServerError } from '../errors/server-errors.ts'
import { type Static, Type } from '../wire/json-schema.ts'
import { StatementRecord } from '../wire/wire-schemas.ts'

export const statementOperations: readonly ServiceOperation[] = [
  {
    scope: 'service',
    method: 'GET',
    path: '/v1/statement',
    needs: 'operate',
    summary: 'The statements under way',
    description: 'Queries, transactions and runs of tools that a client waits for, of all federated databases.',
    tag: 'Statements',
    status: 200,
    reply: Type.Array(StatementRecord),
    isTransactional: false,
    errors: [],
    async run({ service }) {
      const records = [...service.statements.records(), ...(await service.peers.gather({ about: 'statements' }))]
      records.sort((one, other) => one.startedAt.localeCompare(other.startedAt))
      return { body: records satisfies readonly Static<typeof StatementRecord>[] }
    },
  },
  {
    scope: 'service',
    method: 'DELETE',
    path: '/v1/statement/:id',
    needs: 'operate',
    summary: 'Stop a statement',
    description:
      'It ends soon, and nothing that it has not committed is done. Its client gets 409 StatementStopped; where the reply has begun, that is broken off (JSON), or its last line is the error (NDJSON).',
    tag: 'Statements',
    params: { id: 'The Statement-Id of its reply, or the id of GET /v1/statement.' },
    status: 204,
    isTransactional: false,
    errors: ['StatementNotFound'],
    async run(request) {
      const { service } = request
      const id = param(request, 'id')
      const isHere = service.statements.stop(id)
      if (!isHere && (await service.peers.gather({ about: 'stop', statement: id })).length === 0) {
        throw new ServerError('StatementNotFound', `There is no statement ${quote(id)} in progress.`)
      }
      return {}
    },
  },
]
