/** Adds the lines of commands on users, tokens and roles to the audit log of the server, if there is one. */
import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { AuditFile, ServerError } from '@ashlar/server/security'
import { type Config, defaultServerLimits } from '@ashlar/server/shared'
import { pino } from 'pino'

type AuditConfig = Pick<Config, 'auditLog' | 'auditOnFailure' | 'limits'>

/** Logs a change by `work`. `subject`: the changed item, or a function of the result. Throws before `work` if changes require a log that fails. */
export type Audited = <T>(
  command: string,
  subject: string | ((result: T) => string),
  work: () => Promise<T>,
) => Promise<T>

export function auditedBy(config: AuditConfig): Audited {
  return async (command, subject, work) => {
    const file = await openLog(config)
    if (file === undefined) return work()
    const note = (fields: object): void => file.append(JSON.stringify({ ...entryOf(command), ...fields }))
    try {
      const result = await work()
      note({ subject: typeof subject === 'string' ? subject : subject(result), outcome: 'done' })
      return result
    } catch (error) {
      const type = error instanceof ServerError ? error.type : undefined
      note({ ...(typeof subject === 'string' && { subject }), outcome: 'failed', ...(type !== undefined && { type }) })
      throw error
    } finally {
      await file.close()
    }
  }
}

/** Returns undefined if there is no audit log, or changes continue without it. */
async function openLog({ auditLog, auditOnFailure, limits }: AuditConfig): Promise<AuditFile | undefined> {
  if (auditLog === undefined) return undefined
  const { auditFileBytesMax, auditFilesMax } = { ...defaultServerLimits, ...limits }
  const options = { file: resolve(auditLog), fileBytesMax: auditFileBytesMax, filesMax: auditFilesMax }
  const file = new AuditFile(options, pino({ base: null }, { write: (line) => void process.stderr.write(line) }))
  try {
    await file.start()
    return file
  } catch (error) {
    if (auditOnFailure === 'refuse') throw error
    process.stderr.write(`ashlar: ${(error as Error).message}\n`)
    return undefined
  }
}

function entryOf(command: string): object {
  return {
    time: new Date().toISOString(),
    requestId: randomUUID(),
    caller: userName(),
    callerKind: 'commandLine',
    credential: 'none',
    operation: `ashlar ${command}`,
  }
}

/** Returns the user name in the operating system, or the user ID. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}
