/** How far the change of a class in the background has come: kept in the store, so that any process can tell. */
import type { ClassDefinition } from '../schema/class-definition.ts'
import type { Snapshot } from '../store/store.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { catalogKey } from './catalog-keys.ts'

export interface ValidationProgress {
  readonly objectsDone: number
  readonly objectsTotal: number
}

const none: ValidationProgress = { objectsDone: 0, objectsTotal: 0 }

export async function readValidationProgress(snapshot: Snapshot, cls: ClassNumber): Promise<ValidationProgress> {
  const [stored] = (await snapshot.read([catalogKey('validation', cls)])).values
  return stored === undefined ? none : (JSON.parse(Buffer.from(stored).toString()) as ValidationProgress)
}

export function encodeValidationProgress(progress: ValidationProgress): Buffer {
  return Buffer.from(JSON.stringify(progress))
}

/** The entry begins and ends with the change. */
export function putValidationProgress(
  transaction: Transaction,
  before: ClassDefinition | undefined,
  after: ClassDefinition,
): void {
  const [was, is] = [before?.validation?.session, after.validation?.session]
  if (was === is) return
  const key = catalogKey('validation', after.number)
  if (is === undefined) transaction.delete(key)
  else transaction.put(key, encodeValidationProgress(none))
}
