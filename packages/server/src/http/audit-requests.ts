/** Has each request noted by the audit log, where there is one. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AuditLog, RequestAudit } from '../audit/audit-log.ts'
import { namedByPath, triedAs } from '../audit/shown-in-request.ts'
import { subjectOf } from '../audit/subject.ts'
import type { Caller } from '../security/caller.ts'
import { clientAddressOf } from '../shares/client-address.ts'
import { clientDisconnectedStatus } from './send-problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Where there is an audit log: what it is to be told. */
    audit?: RequestAudit
  }
}

/** To be called when a request begins. `unknownCaller`: whoever shows no valid credential. The client is told under which id it is in the log. */
export function auditRequest(log: AuditLog, unknownCaller: Caller, request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = reply
  const audit = new RequestAudit(request.headers, clientAddressOf(request.raw))
  request.audit = audit
  raw.setHeader('x-request-id', audit.requestId)
  raw.once('close', () => {
    const isSent = raw.writableFinished || raw.headersSent
    const status = isSent ? raw.statusCode : clientDisconnectedStatus
    const {
      caller = unknownCaller,
      routeOptions: { url = '', config },
    } = request
    audit.subject ??= subjectOf(url, request.params, undefined)
    if (caller.kind === 'nobody' && status >= 400) {
      audit.subject = triedAs(request.headers) ?? audit.subject
    }
    if (status >= 400 && !audit.hasChanged) audit.wanted(namedByPath(url, request.params))
    // The path of what is not there is of the client's making.
    const operation = `${request.method} ${request.is404 || config.isRefused === true ? '?' : url}`
    log.ended(audit, caller, operation, status, isSent)
  })
}
