/** The commands that change objects, with resolved attributes and values as stored. */
import type { AttributeChange } from '../records/attribute-change.ts'
import type { ClassFormat } from '../records/class-format.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import type { Awaitable } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'

export interface CreateObject {
  readonly cls: SchemaClass
  readonly changes: readonly AttributeChange[]
}

export interface UpdateObject {
  readonly oid: Oid
  readonly changesOf: ChangesOf
}

/**
 * Returns the changes for an object of that class. The class is known only after the object is read, so attributes are resolved
 * then. Throws the errors of reading the command.
 */
export type ChangesOf = (format: ClassFormat, oid: Oid) => Awaitable<readonly AttributeChange[]>

export interface DeleteObject {
  readonly oid: Oid
}
