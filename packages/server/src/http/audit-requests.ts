/** Records each request in the audit log, if there is one. */
import { type AuditLog, RequestAudit } from '../audit/audit-log.ts'
import { rejectedCredential, subjectInPath, subjectOf } from '../audit/subject.ts'
import type { Caller } from '../security/caller.ts'
import { clientAddressOf } from '../shares/client-address.ts'
import type { HttpRequest } from './http-request.ts'
import { clientDisconnectedStatus } from './send-problem.ts'

/** Call when a request begins. `unknownCaller`: for requests without a valid credential. Sends the client the ID of the log entry. */
export function auditRequest(log: AuditLog, unknownCaller: Caller, request: HttpRequest): void {
  const { response } = request
  const audit = new RequestAudit(request.headers, clientAddressOf(request.raw))
  request.audit = audit
  response.setHeader('x-request-id', audit.requestId)
  response.once('close', () => {
    const isSent = response.writableFinished || response.headersSent
    const status = isSent ? response.statusCode : clientDisconnectedStatus
    const { caller = unknownCaller, route: { path = '' } = {}, params } = request
    audit.subject ??= subjectOf(path, params, undefined)
    if (caller.kind === 'nobody' && status >= 400) {
      audit.subject = rejectedCredential(request.headers) ?? audit.subject
    }
    if (status >= 400 && !audit.hasChanged) audit.noteTarget(subjectInPath(path, params))
    // The path of an unknown resource is chosen by the client.
    const operation = `${request.method} ${request.route === undefined ? '?' : path}`
    log.ended(audit, caller, operation, status, isSent)
  })
}
