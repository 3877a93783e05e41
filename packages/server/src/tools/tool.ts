/** What an administrative tool is (REST interface, section 2: POST /v1/tool). */
import { AshlarError, type FederatedDatabase } from '@ashlar/engine'
import { listed } from '../problem.ts'

export interface Flag {
  /** Numbers are greater than 0. */
  readonly type: 'text' | 'boolean' | 'number'
  readonly description: string
  readonly isRequired?: true
}

export type Flags = Readonly<Record<string, string | boolean | number | undefined>>

export interface Tool {
  readonly name: string
  readonly description: string
  readonly flags: Readonly<Record<string, Flag>>
  /** It may change something; done again, it does no more. */
  readonly changes?: true
  /** Throws AshlarError for what the tool cannot do. */
  run(fd: FederatedDatabase, flags: Flags, run: ToolRun): Promise<ToolResult>
}

export interface ToolResult {
  readonly output: string
  /** What the tool found wrong. */
  readonly error?: string
}

export interface ToolRun {
  readonly signal: AbortSignal
  /** How far it has come; `total` where that is known. */
  report(done: number, total?: number): void
}

/** Numbers and booleans may be texts, as everywhere. Throws MalformedRequest, MalformedValue, UnknownField. */
export function readFlags(tool: Tool, given: unknown): Flags {
  if (given === undefined || given === null) return checked(tool, {})
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw new AshlarError('MalformedRequest', 'flags is an object of flags by their names.')
  }
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(tool.flags, name))
  if (unknown.length > 0) {
    throw new AshlarError('UnknownField', `The tool ${tool.name} has no flag ${listed(unknown)}.`)
  }
  const flags: Record<string, string | boolean | number> = {}
  for (const [name, value] of Object.entries(given)) {
    const flag = tool.flags[name]
    if (flag !== undefined) flags[name] = readFlag(name, flag, value)
  }
  return checked(tool, flags)
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
