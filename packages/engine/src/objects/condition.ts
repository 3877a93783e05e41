/** Entity tags of objects, and changes that depend on them (contract 4.1.13, 4.1.17, 4.1.18). */
import { hash } from 'node:crypto'
import { AshlarError } from '../errors.ts'
import { readAndExpectLinks } from '../links/attribute-links.ts'
import { revisionPrefixOf } from '../records/record-format.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { readObject } from './read.ts'
import { loadExisting } from './update.ts'

/** Asked for the object's entity tag as it is when the change is committed. */
export type Condition = (entityTag: string) => boolean

/** The same for the same representation: attributes, links, and the schema that shows them. In double quotes. */
export function entityTagOf(representation: Uint8Array): string {
  return `"${hash('sha1', representation, 'base64url')}"`
}

/** Throws ObjectNotFound, PreconditionFailed. What was looked at is expected to be the same at the commit. */
export async function checkCondition(unit: UnitOfWork, oid: Oid, condition: Condition): Promise<void> {
  const { transaction, catalog } = unit
  const { stored, key, format } = await loadExisting(unit, oid)
  if (stored !== undefined) transaction.expectRevision(key, revisionPrefixOf(stored))
  for (const attribute of format.linkAttributes) await readAndExpectLinks(transaction, oid, attribute)
  const entityTag = entityTagOf(await readObject(transaction.overlay(), catalog, oid))
  if (condition(entityTag)) return
  throw new AshlarError('PreconditionFailed', `Object ${oid} does not meet the condition: its ETag is ${entityTag}.`)
}
