/** What a line of a bulk load does to one object (contract 2.2.9). */
import type { CommandPlace } from '../errors.ts'
import type { Attributes } from '../requests/read-object-command.ts'
import type { Oid } from '../types/oid.ts'

/** An object by the values of a unique index. */
export interface UniqueKey {
  /** Its name. */
  readonly index: string
  /** JSON by the names of the key attributes. */
  readonly values: Attributes
}

/** `oid`: in which `${x}` may stand for the object that line `x` makes. */
export type BulkTarget = { readonly oid: string } | { readonly key: UniqueKey }

interface OfLine {
  /** From 1. */
  readonly line: number
  /** Where its class and attributes stand in the line, for places of errors. */
  readonly at: CommandPlace
  /** The ids that its values and its target refer to, each once; undefined for most, which refer to none. */
  readonly refersTo: readonly string[] | undefined
}

export interface BulkCreate extends OfLine {
  readonly kind: 'create'
  /** Full name or class number. */
  readonly class: string
  readonly attributes: Attributes
  /** By which other lines refer to the object. */
  readonly id: string | undefined
}

export interface BulkUpdate extends OfLine {
  readonly kind: 'update'
  readonly target: BulkTarget
  /** Where given, it has to be the object's. */
  readonly class: string | undefined
  readonly attributes: Attributes
}

export interface BulkDelete extends OfLine {
  readonly kind: 'delete'
  readonly target: BulkTarget
}

export type BulkCommand = BulkCreate | BulkUpdate | BulkDelete

/** What became of a command. */
export interface BulkDone {
  readonly oid: Oid
  readonly change: 'created' | 'updated' | 'deleted'
}
