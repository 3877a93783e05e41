/** Reading the audit log (contract 9.6). */
import { AshlarError } from '@ashlar/engine'
import { readAudit } from '../audit/read-audit.ts'
import type { OperationRequest, ServiceOperation } from '../dispatch/operation.ts'
import { ServerError } from '../errors/server-errors.ts'
import { auditPageMax } from '../limits.ts'
import { Type } from '../wire/json-schema.ts'
import { AuditPage } from '../wire/wire-schemas.ts'

const defaultLimit = 100

export const auditOperations: readonly ServiceOperation[] = [
  {
    scope: 'service',
    method: 'GET',
    path: '/v1/security/audit',
    needs: 'operate',
    summary: 'The audit log, newest entries first',
    description:
      'Who changed what, and what was refused, from all processes that write to the log. For older entries, pass the `next` of a page as `before`.',
    tag: 'Service',
    queryParameters: {
      limit: {
        description: `Entries of a page, ${auditPageMax} at most; ${defaultLimit} without it.`,
        schema: Type.Integer(),
      },
      before: { description: 'The `next` of an earlier page.', schema: Type.String() },
    },
    status: 200,
    reply: AuditPage,
    isTransactional: false,
    errors: ['AuditLogNotConfigured', 'MalformedValue'],
    async run(request) {
      const { audit } = request.service
      if (audit === undefined) {
        throw new ServerError('AuditLogNotConfigured', 'The server has no audit log; enable it with --audit-log.')
      }
      const { before } = request.query
      const limit = limitOf(request)
      await audit.file.flush()
      const page = await readAudit(audit.file.name, limit, before === undefined ? undefined : String(before))
      if (page === undefined) throw new AshlarError('MalformedValue', 'before must be the next of an earlier page.')
      return { body: page }
    },
  },
]

function limitOf({ query }: OperationRequest): number {
  const limit = query.limit === undefined ? defaultLimit : Number(query.limit)
  if (Number.isInteger(limit) && limit >= 1 && limit <= auditPageMax) return limit
  throw new AshlarError('MalformedValue', `limit must be an integer from 1 to ${auditPageMax}.`)
}
