/** Counts the links of an object for its checks (contract 10.6.21). */
import type { AttributeFormat } from '../records/class-format.ts'
import { kindOfForm, linkRange } from '../records/link-keys.ts'
import type { LinkStorage } from '../types/link-storage.ts'
import type { Oid } from '../types/oid.ts'
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
  const result = [...values]
  for (const [index, limit] of counted) {
    result[index] = await countLinks(unit, oid, format.attributes[index] as AttributeFormat, limit)
  }
  return result
}

/** `attribute`: a collection stored as links. Elements beyond `limit` are not counted. */
export async function countLinks(
  { transaction }: UnitOfWork,
  oid: Oid,
  { attribute, linkStorage }: AttributeFormat,
  limit: number,
): Promise<number> {
  await transaction.sortWrites()
  const range = linkRange(oid, attribute.number, kindOfForm[linkStorage as LinkStorage])
  let count = 0
  const batches = transaction.overlay().scan(range, () => undefined, { limit, keysOnly: true })
  for await (const batch of batches) count += batch.length
  return count
}
