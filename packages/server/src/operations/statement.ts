/** The operations on running statements (contract 2.3). */

import { param, type ServiceOperation } from '../dispatch/operation.ts'
import { quoteForMessage } from '../errors/problem.ts'
import { ServerError } from '../errors/server-errors.ts'
import { type Caller, credentialText } from '../security/caller.ts'
import type { Whose } from '../statements/statement.ts'
import { type Static, Type } from '../wire/json-schema.ts'
import { StatementRecord } from '../wire/wire-schemas.ts'

/** Returns the owner whose statements the caller may see and stop; undefined for all statements. */
function visibleTo(caller: Caller): Whose | undefined {
  if (caller.may('operate', undefined)) return undefined
  const { identity, bounds, credential } = caller
  return { identity, credential: bounds === undefined ? undefined : credentialText(credential) }
}

export const statementOperations: readonly ServiceOperation[] = [
  {
    scope: 'service',
    method: 'GET',
    path: '/v1/statement',
    needs: 'identify',
    summary: 'List running statements',
    description:
      'Queries, transactions and tool runs that a client waits for, in all federated databases; callers without the right to operate the server see only their own.',
    tag: 'Statements',
    status: 200,
    reply: Type.Array(StatementRecord),
    isTransactional: false,
    errors: [],
    async run({ caller, service }) {
      const whose = visibleTo(caller)
      const others = await service.peers.gather({ about: 'statements', whose })
      const records = [...service.statements.records(whose), ...others]
      records.sort((one, other) => one.startedAt.localeCompare(other.startedAt))
      return { body: records satisfies readonly Static<typeof StatementRecord>[] }
    },
  },
  {
    scope: 'service',
    method: 'DELETE',
    path: '/v1/statement/:id',
    needs: 'identify',
    summary: 'Stop a statement',
    description:
      'Your own, or any with the right to operate the server. It ends soon, and uncommitted changes are discarded. Its client gets 409 StatementStopped; if the reply has begun, it is aborted (JSON), or its last line is the error (NDJSON).',
    tag: 'Statements',
    params: { id: 'The Statement-Id of its reply, or the id of GET /v1/statement.' },
    status: 204,
    isTransactional: false,
    errors: ['StatementNotFound'],
    async run(request) {
      const { service } = request
      const id = param(request, 'id')
      const whose = visibleTo(request.caller)
      const isHere = service.statements.stop(id, whose)
      if (!isHere && (await service.peers.gather({ about: 'stop', statement: id, whose })).length === 0) {
        throw new ServerError('StatementNotFound', `There is no statement ${quoteForMessage(id)} in progress.`)
      }
      return {}
    },
  },
]
