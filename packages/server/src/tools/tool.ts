/** The interface of an administrative tool (contract 2.2). */
import { AshlarError, type CancelSignal, type FederatedDatabase } from '@ashlar/engine'
import type { BackupSettings } from '../backups/backup-settings.ts'
import { quoteNames } from '../errors/problem.ts'

export interface Flag {
  /** Numbers must be positive. */
  readonly type: 'text' | 'boolean' | 'number'
  readonly description: string
  readonly isRequired?: true
  /** An alias of the flag. */
  readonly otherName?: string
}

export type Flags = Readonly<Record<string, string | boolean | number | undefined>>

export interface Tool {
  readonly name: string
  readonly description: string
  readonly flags: Readonly<Record<string, Flag>>
  /** Permissions that the caller needs on the whole federated database: the same as for equivalent operations. */
  readonly needs: readonly ('read' | 'define' | 'operate')[]
  /** The tool does not depend on the federated database. */
  readonly isServerWide?: true
  /** The tool may change something; it is idempotent. */
  readonly changes?: true
  /** Throws AshlarError if the tool cannot perform its work. */
  run(fd: FederatedDatabase, flags: Flags, run: ToolRun): Promise<ToolResult>
}

export interface ToolResult {
  readonly output: string
  readonly error?: string
}

export interface ToolRun {
  /** Undefined if no backup directory is configured. */
  readonly backups: BackupSettings | undefined
  readonly signal: CancelSignal
  /** Reports the progress; `total` if it is known. */
  report(done: number, total?: number): void
}

/** Numbers and booleans may be texts, as in all requests. Throws MalformedRequest, MalformedValue, UnknownField. */
export function readFlags(tool: Tool, input: unknown): Flags {
  if (input === undefined || input === null) return checked(tool, {})
  if (typeof input !== 'object' || Array.isArray(input)) {
    throw new AshlarError('MalformedRequest', 'flags is an object of flags by their names.')
  }
  const names = new Map(
    Object.entries(tool.flags).flatMap(([name, { otherName = name }]) => [
      [name, name],
      [otherName, name],
    ]),
  )
  const unknown = Object.keys(input).filter((name) => !names.has(name))
  if (unknown.length > 0) {
    throw new AshlarError('UnknownField', `The tool ${tool.name} has no flag ${quoteNames(unknown)}.`)
  }
  const flags: Record<string, string | boolean | number> = {}
  for (const [spelling, value] of Object.entries(input)) {
    const name = names.get(spelling) as string
    const read = readFlag(spelling, tool.flags[name] as Flag, value)
    if (flags[name] !== undefined && plain(flags[name]) !== plain(read)) {
      const { otherName } = tool.flags[name] as Flag
      throw new AshlarError(
        'MalformedRequest',
        `The flags ${name} and ${otherName} are one, and are given with different values.`,
      )
    }
    flags[name] = read
  }
  return checked(tool, flags)
}

/** Trims blanks around the parts of a list. */
function plain(value: string | boolean | number): string {
  return String(value)
    .replace(/\s*,\s*/g, ',')
    .trim()
}

function checked(tool: Tool, flags: Flags): Flags {
  for (const [name, { isRequired }] of Object.entries(tool.flags)) {
    if (isRequired !== true || flags[name] !== undefined) continue
    throw new AshlarError('MalformedRequest', `The tool ${tool.name} needs the flag ${name}.`)
  }
  return flags
}

function readFlag(name: string, { type }: Flag, value: unknown): string | boolean | number {
  if (type === 'text' && typeof value === 'string') return value
  if (type === 'boolean') {
    if (typeof value === 'boolean') return value
    if (value === 'true' || value === 'false') return value === 'true'
  }
  if (type === 'number') {
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
    if (typeof number === 'number' && Number.isFinite(number) && number > 0) return number
  }
  throw new AshlarError('MalformedValue', `The flag ${name} is a ${type}.`)
}
