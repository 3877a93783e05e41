/** Commands of a bulk load, one per line (contract 2.2.9). */
import type { CommandPlace } from '../errors.ts'
import type { Attributes } from '../requests/read-object-command.ts'
import type { Oid } from '../types/oid.ts'

export interface UniqueKey {
  readonly index: string
  /** JSON values by the names of the key attributes. */
  readonly values: Attributes
}

/** In `oid`, `${x}` refers to the object created by line `x`. */
export type BulkTarget = { readonly oid: string } | { readonly key: UniqueKey }

interface LineCommand {
  /** 1-based. */
  readonly line: number
  /** Path of class and attributes within the line, for error places. */
  readonly at: CommandPlace
  /** The distinct ids that values and target refer to; undefined if there are none. */
  readonly refersTo: readonly string[] | undefined
}

export interface BulkCreate extends LineCommand {
  readonly kind: 'create'
  /** Full name or class number. */
  readonly class: string
  readonly attributes: Attributes
  /** The id by which other lines refer to the object. */
  readonly id: string | undefined
}

export interface BulkUpdate extends LineCommand {
  readonly kind: 'update'
  readonly target: BulkTarget
  /** If present, must match the class of the object. */
  readonly class: string | undefined
  readonly attributes: Attributes
}

export interface BulkDelete extends LineCommand {
  readonly kind: 'delete'
  readonly target: BulkTarget
}

export type BulkCommand = BulkCreate | BulkUpdate | BulkDelete

export interface BulkDone {
  readonly oid: Oid
  readonly change: 'created' | 'updated' | 'deleted'
}

/** The unique index by which the line finds its object. `upsertOn`: that of lines that create. */
export function indexOf(command: BulkCommand, upsertOn: string | undefined): string | undefined {
  if (command.kind === 'create') return upsertOn
  return 'key' in command.target ? command.target.key.index : undefined
}
