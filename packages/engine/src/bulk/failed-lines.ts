/** Determines which lines of a batch failed, and with which errors (contract 2.2.9, 2.2.19). */
import { AshlarError, type ErrorDetail } from '../errors.ts'
import type { BulkCommand } from './bulk-command.ts'
import { unknownName } from './named-objects.ts'

export interface CommandOfLine {
  readonly line: number
  readonly command: BulkCommand
}

/** Errors of lines that fail independently of the rest of the batch; their places begin with positions. */
export class FailedLines extends AshlarError {
  readonly others: readonly AshlarError[]

  constructor({ type, message, errors, extensions, isFatal }: AshlarError, others: readonly AshlarError[]) {
    super(type, message, errors, extensions, isFatal)
    this.others = others
  }
}

/** Returns errors by position, with places relative to the line; empty if the failed line is unknown. */
export function failuresIn(entries: readonly CommandOfLine[], error: AshlarError): Map<number, AshlarError> {
  const failures = placedFailures(entries, error)
  if (failures.size === 0 || !(error instanceof FailedLines)) return failures
  for (const other of error.others) {
    for (const [position, inLine] of placedFailures(entries, other)) failures.set(position, inLine)
  }
  return failures
}

/** In ascending order. */
function placedFailures(entries: readonly CommandOfLine[], error: AshlarError): Map<number, AshlarError> {
  const details = new Map<number, ErrorDetail[]>()
  for (const detail of error.errors) {
    const [position, ...inLine] = detail.place
    const at = typeof position === 'number' ? entries[position]?.command.at : undefined
    if (typeof position !== 'number' || at === undefined) return new Map()
    const isInBody = inLine[0] === 'attributes' || inLine[0] === 'class'
    details.set(position, [
      ...(details.get(position) ?? []),
      { ...detail, place: isInBody ? [...at, ...inLine] : inLine },
    ])
  }
  const isOne = details.size === 1
  const positions = [...details.keys()].sort((one, other) => one - other)
  return new Map(
    positions.map((position) => {
      const own = details.get(position) as ErrorDetail[]
      const message = isOne ? error.message : (own[0] as ErrorDetail).message
      return [position, new AshlarError(error.type, message, own, error.extensions, error.isFatal)]
    }),
  )
}

export function addDependents(entries: readonly CommandOfLine[], failures: Map<number, AshlarError>): void {
  const failed = [...failures.keys()].map((position) => entries[position]?.command)
  if (!failed.some((command) => command?.kind === 'create' && command.id !== undefined)) return
  const dependents = new Map<string, number[]>()
  for (const [position, { command }] of entries.entries()) {
    for (const id of command.refersTo ?? []) {
      const positions = dependents.get(id)
      if (positions === undefined) dependents.set(id, [position])
      else positions.push(position)
    }
  }
  for (let command = failed.pop(); command !== undefined; command = failed.pop()) {
    if (command.kind !== 'create' || command.id === undefined) continue
    for (const position of dependents.get(command.id) ?? []) {
      if (failures.has(position)) continue
      const { type, message } = unknownName(command.id)
      failures.set(position, new AshlarError(type, message, [{ place: [], message }]))
      failed.push(entries[position]?.command)
    }
  }
}

/** For an atomic load: the error whose message and `line` identify the failed line. */
export function withLineNumber(entries: readonly CommandOfLine[], error: unknown): unknown {
  if (!(error instanceof AshlarError)) return error
  const [found] = failuresIn(entries, error)
  if (found === undefined) return error
  const [position, inLine] = found
  const { line } = entries[position] as CommandOfLine
  const { type, message, errors, extensions, isFatal } = inLine
  return new AshlarError(type, `Line ${line}: ${message}`, errors, { ...extensions, line }, isFatal)
}

/** False if retrying other lines cannot help: the store is unreachable, or the statement was stopped. */
export function isLineError({ kind, type }: AshlarError): boolean {
  return kind !== 'unavailable' && kind !== 'outcomeUnknown' && kind !== 'fault' && type !== 'StatementStopped'
}

/** Moves error places, which begin with positions. */
export function withPositions(error: unknown, positionOf: (position: number) => number): unknown {
  if (!(error instanceof AshlarError)) return error
  const { type, message, errors, extensions, isFatal } = error
  const moved = errors.map((detail) => {
    const [position, ...inLine] = detail.place
    const place = typeof position === 'number' ? [positionOf(position), ...inLine] : detail.place
    return { ...detail, place }
  })
  return new AshlarError(type, message, moved, extensions, isFatal)
}
