/** The operations on statements under way (REST interface, section 9). */
import { ServerError } from '../server-errors.ts'
import { Type } from './json-schema.ts'
import { param, type ServiceOperation } from './operation.ts'
import { StatementRecord } from './wire-schemas.ts'

export const statementOperations: readonly ServiceOperation[] = [
  {
    scope: 'service',
    method: 'GET',
    path: '/v1/statement',
    summary: 'The statements under way',
    description: 'Queries, transactions and runs of tools that a client waits for, of all federated databases.',
    tag: 'Statements',
    status: 200,
    reply: Type.Array(StatementRecord),
    standsAlone: true,
    errors: [],
    async run({ service }) {
      const records = [...service.statements.records(), ...(await service.siblings.ask({ about: 'statements' }))]
      return { body: records.sort((one, other) => one.startedAt.localeCompare(other.startedAt)) }
    },
  },
  {
    scope: 'service',
    method: 'DELETE',
    path: '/v1/statement/:id',
    summary: 'Stop a statement',
    description:
      'It ends soon, and nothing that it has not committed is done. Its client gets 409 StatementStopped; where the reply has begun, that is broken off (JSON), or its last line is the error (NDJSON).',
    tag: 'Statements',
    params: { id: 'The Statement-Id of its reply, or the id of GET /v1/statement.' },
    status: 204,
    standsAlone: true,
    errors: ['StatementNotFound'],
    async run(request) {
      const { service } = request
      const id = param(request, 'id')
      const isHere = service.statements.stop(id)
      if (!isHere && (await service.siblings.ask({ about: 'stop', statement: id })).length === 0) {
        throw new ServerError('StatementNotFound', `There is no statement '${id.slice(0, 60)}' in progress.`)
      }
      return {}
    },
  },
]
