/** Audit entries of requests that change something or are refused: caller, operation and outcome, never a value or a secret (contract 9.6). */

import { randomUUID } from 'node:crypto'
import type { ChangeSet } from '@ashlar/engine'
import type { AuditFailure } from '../config/config.ts'
import { ServerError } from '../errors/server-errors.ts'
import { auditedClassesMax, auditedOidsMax, auditedRefusalsMax, auditedRefusalsPerSecond } from '../limits.ts'
import { type Caller, credentialText } from '../security/caller.ts'
import { TokenBucket } from '../shares/token-bucket.ts'
import type { AuditFile } from './audit-file.ts'

export interface AuditEntry {
  readonly time: string
  readonly requestId: string
  readonly caller: string | null
  readonly callerKind: string
  readonly credential: string
  readonly address: string
  readonly operation: string
  /** The changed user, token or role, or the token of a refused caller, such as `user:alice`. */
  readonly subject?: string
  readonly fd?: string
  readonly classes?: readonly string[]
  readonly oids?: readonly string[]
  readonly objects?: number
  readonly schema?: true
  readonly outcome: 'done' | 'refused' | 'failed' | 'unknown'
  readonly status: number
  readonly type?: string
}

const requestIdForm = /^[\x21-\x7e]{1,128}$/
const traceParentForm = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}$/
const tooManyStatus = 429
const refusals: readonly number[] = [401, 403, tooManyStatus]

type Headers = Readonly<Record<string, string | string[] | undefined>>

export class RequestAudit {
  readonly requestId: string
  readonly address: string
  /** Whether the operation is of a kind that changes something. */
  isChange = false
  fd: string | undefined
  subject: string | undefined
  problemType: string | undefined
  private readonly classes = new Set<string>()
  private readonly oids = new Set<string>()
  private objects = 0
  private hasSchema = false

  constructor(headers: Headers, address: string) {
    this.requestId = requestIdSent(headers) ?? randomUUID()
    this.address = address
  }

  get hasChanged(): boolean {
    return this.objects > 0 || this.hasSchema
  }

  /** Records a commit of the request. */
  readonly changed = ({ objects, oids, classes, hasSchema }: ChangeSet): void => {
    this.objects += objects
    this.hasSchema ||= hasSchema
    for (const oid of oids) if (this.oids.size < auditedOidsMax) this.oids.add(oid)
    for (const name of classes) if (this.classes.size < auditedClassesMax) this.classes.add(name)
  }

  /** Records the class or object in the path of a request that changed nothing. */
  noteTarget({ cls, oid }: { readonly cls?: string; readonly oid?: string }): void {
    if (cls !== undefined) this.classes.add(cls)
    if (oid !== undefined) this.oids.add(oid)
  }

  entry(caller: Caller, operation: string, status: number, isSent: boolean): AuditEntry {
    const { requestId, address, fd, subject, classes, oids, objects, hasSchema, problemType } = this
    return {
      time: new Date().toISOString(),
      requestId,
      caller: caller.name,
      callerKind: caller.kind,
      credential: credentialText(caller.credential),
      address,
      operation,
      ...(subject !== undefined && { subject }),
      ...(fd !== undefined && { fd }),
      ...(classes.size > 0 && { classes: [...classes] }),
      ...(oids.size > 0 && { oids: [...oids] }),
      ...(objects > 0 && { objects }),
      ...(hasSchema && { schema: true as const }),
      outcome: outcomeOf(status, isSent, this.hasChanged),
      status,
      ...(problemType !== undefined && { type: problemType }),
    }
  }
}

function outcomeOf(status: number, isSent: boolean, hasChanged: boolean): AuditEntry['outcome'] {
  if (refusals.includes(status)) return 'refused'
  if (hasChanged) return 'done'
  if (!isSent) return 'unknown'
  return status < 400 ? 'done' : 'failed'
}

/** Returns the client's ID of the request; undefined if there is none that may be logged. */
export function requestIdSent({ 'x-request-id': header, traceparent }: Headers): string | undefined {
  if (typeof header === 'string' && requestIdForm.test(header)) return header
  return typeof traceparent === 'string' ? traceParentForm.exec(traceparent)?.[1] : undefined
}

export class AuditLog {
  readonly file: AuditFile
  private readonly onFailure: AuditFailure
  /** Number of refusals not logged since the last line. */
  private unlisted = 0
  private readonly bucket = new TokenBucket(auditedRefusalsMax, auditedRefusalsPerSecond)

  constructor(file: AuditFile, onFailure: AuditFailure) {
    this.file = file
    this.onFailure = onFailure
  }

  /** Call before a change begins. Throws AuditLogUnavailable. */
  check(): void {
    if (!this.file.hasFailed || this.onFailure === 'continue') return
    throw new ServerError(
      'AuditLogUnavailable',
      'The audit log cannot be written, and changes are refused until it can (auditOnFailure).',
    )
  }

  /** Call after the reply, or when the client has disconnected. `operation`: method and path of the route, without values. */
  ended(audit: RequestAudit, caller: Caller, operation: string, status: number, isSent: boolean): void {
    const isRefusal = refusals.includes(status)
    if (!audit.isChange && !audit.hasChanged && !isRefusal) return
    if (isRefusal && !this.hasRoomFor(caller, status)) {
      this.unlisted++
      return
    }
    const unlisted = this.unlisted === 0 ? undefined : { unlisted: this.unlisted }
    this.unlisted = 0
    this.file.append(JSON.stringify({ ...audit.entry(caller, operation, status, isSent), ...unlisted }))
  }

  /** Limits lines for refused callers, who could otherwise fill the files, so that the oldest are removed. */
  private hasRoomFor({ kind }: Caller, status: number): boolean {
    if (kind !== 'everyone' && kind !== 'nobody' && status !== tooManyStatus) return true
    return this.bucket.take()
  }
}
