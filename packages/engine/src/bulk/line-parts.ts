/** Divides lines into parts, each of which is run as a unit of work: no line of a part changes what an earlier line of it has changed (contract 2.2.23). */
import { AshlarError } from '../errors.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import type { BulkCommand } from './bulk-command.ts'

/** Yields every position where lines can be divided: no line before it refers to a line after it. Ends with the number of lines. */
export function* divisions(
  commands: readonly BulkCommand[],
  creators: ReadonlyMap<string, number> = linesOfIds(commands),
): Generator<number> {
  let reach = 0
  for (const [position, { refersTo }] of commands.entries()) {
    for (const id of refersTo ?? []) reach = Math.max(reach, creators.get(id) ?? 0)
    if (reach <= position) yield position + 1
  }
}

function linesOfIds(commands: readonly BulkCommand[]): ReadonlyMap<string, number> {
  const positions = new Map<string, number>()
  for (const [position, command] of commands.entries()) {
    if (command.kind === 'create' && command.id !== undefined) positions.set(command.id, position)
  }
  return positions
}

const linesPerClockCheck = 1_000

/** The objects that lines create, change or delete, and what they depend on. */
export interface LineObjects {
  /** By position; undefined if no other line can address the object. */
  readonly ofLines: readonly (string | undefined)[]
  /** Whether a line has to see what is stored of the lines before it. */
  mustSeeStored(command: BulkCommand): boolean
  /** The position of the line that creates the object of an id; none if the object exists. */
  readonly creators: ReadonlyMap<string, number>
}

/**
 * Returns the ends of the parts. Deletions and changes are in different parts, since deletions may concern any object. Throws
 * LimitExceeded, placed at a line, if lines that refer to each other would have to be divided.
 */
export async function partsOf(
  commands: readonly BulkCommand[],
  { ofLines, creators, mustSeeStored }: LineObjects,
): Promise<number[]> {
  const slice = openTimeSlice()
  const ends: number[] = []
  const allowed = divisions(commands, creators)
  /** The last division up to the current line, and the one after it. */
  let division = 0
  let next = allowed.next().value ?? commands.length
  const lastOf = { change: -1, deletion: -1 }
  const lastOn = new Map<string, number>()
  let start = 0
  for (const [position, command] of commands.entries()) {
    if (position % linesPerClockCheck === 0) await slice.yieldIfDue()
    while (next <= position) {
      division = next
      next = allowed.next().value ?? commands.length
    }
    const isDeletion = command.kind === 'delete'
    const object = ofLines[position]
    const before = object === undefined ? -1 : (lastOn.get(object) ?? -1)
    const conflict = Math.max(
      before,
      isDeletion ? lastOf.change : lastOf.deletion,
      mustSeeStored(command) ? lastOf.change : -1,
    )
    if (conflict >= start) {
      if (division <= conflict) throw indivisible(command, commands[conflict] as BulkCommand, position)
      ends.push(division)
      start = division
    }
    if (object !== undefined) lastOn.set(object, position)
    lastOf[isDeletion ? 'deletion' : 'change'] = position
  }
  return [...ends, commands.length]
}

function indivisible(command: BulkCommand, earlier: BulkCommand, position: number): AshlarError {
  const what =
    (command.kind === 'delete') === (earlier.kind === 'delete')
      ? `changes the object of line ${earlier.line} again`
      : `and line ${earlier.line} delete and change objects`
  const message = `The line ${what} while lines around them refer to each other: move it behind the lines that they refer to.`
  return new AshlarError('LimitExceeded', message, [{ place: [], message }]).within(position)
}
