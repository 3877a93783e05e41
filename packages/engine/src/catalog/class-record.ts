/** A class as replies show it: its representation, and the change that is being made in the background or has failed there. */
import type { Catalog } from '../schema/catalog.ts'
import type { ValidationFailure } from '../schema/class-definition.ts'
import { type ClassRepresentation, readClass } from '../schema/representation.ts'
import type { Snapshot } from '../store/store.ts'
import { readValidationProgress, type ValidationProgress } from './validation-progress.ts'

export interface ClassRecord extends ClassRepresentation {
  readonly validation?:
    | { readonly state: 'running'; readonly progress: ValidationProgress }
    | { readonly state: 'failed'; readonly failure: ValidationFailure }
}

/** By full name or class number. Throws ClassNotFound. */
export async function readClassRecord(
  snapshot: Snapshot,
  catalog: Catalog,
  nameOrNumber: string,
): Promise<ClassRecord> {
  const representation = readClass(catalog, nameOrNumber)
  const cls = catalog.findClass(nameOrNumber)
  const validation = cls?.definition.validation
  if (cls === undefined || validation === undefined) return representation
  if (validation.failure !== undefined) {
    return { ...representation, validation: { state: 'failed', failure: validation.failure } }
  }
  const progress = await readValidationProgress(snapshot, cls.number)
  return { ...representation, validation: { state: 'running', progress } }
}
