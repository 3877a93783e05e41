/** Counts the links of an object for its checks (contract 10.6.21). */
import { kindOfForm, linkRange } from '../records/link-keys.ts'
import type { LinkStorage } from '../types/link-storage.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import type { ObjectState } from './working-set.ts'

/**
 * The values of the object, with the number of elements for the collections in `counted`: indexes, and the number from which on
 * further elements are not counted. Changes of these collections conflict at the object, which gets a new revision.
 */
export async function valuesWithCounts(
  unit: UnitOfWork,
  { oid, format, values }: ObjectState,
  counted: ReadonlyMap<number, number>,
): Promise<readonly unknown[]> {
  if (counted.size === 0) return values
  const { transaction } = unit
  await transaction.sortWrites()
  const overlay = transaction.overlay()
  const result = [...values]
  for (const [index, limit] of counted) {
    const { attribute, linkStorage } = format.attributes[index] as (typeof format.attributes)[number]
    const range = linkRange(oid, attribute.number, kindOfForm[linkStorage as LinkStorage])
    let count = 0
    for await (const batch of overlay.scan(range, () => undefined, { limit, keysOnly: true })) count += batch.length
    result[index] = count
  }
  return result
}
