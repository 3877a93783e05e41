/** Entity tags of objects, and changes that depend on them (contract 4.1.13, 4.1.17, 4.1.18). */
import { createHash, hash } from 'node:crypto'
import { AshlarError, assert } from '../errors.ts'
import { readAndRequireLinkEntries } from '../links/attribute-links.ts'
import { revisionPrefixOf } from '../records/record-format.ts'
import type { Awaitable, Entry } from '../store/store.ts'
import { laterTurn, openTimeSlice } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { objectJson, shownLinks } from './read.ts'
import { loadExisting } from './update.ts'

/** Asked for the object's entity tag as it is when the change is committed. */
export type Condition = (entityTag: string) => boolean

/** Of a representation that is hashed between two looks at the clock: about a millisecond's worth. */
const hashedAtOnce = 1_048_576

/**
 * The same for the same representation: attributes, links, and the schema that shows them. In double quotes. That of some megabytes is made with turns
 * for others in between: with its links, an object may take a hundred.
 */
export function entityTagOf(representation: Uint8Array): Awaitable<string> {
  if (representation.length > hashedAtOnce) return largeEntityTag(representation)
  return `"${hash('sha1', representation, 'base64url')}"`
}

async function largeEntityTag(representation: Uint8Array): Promise<string> {
  // To make the representation has taken what is left of this turn.
  await laterTurn()
  const slice = openTimeSlice()
  const digest = createHash('sha1')
  for (let at = 0; at < representation.length; at += hashedAtOnce) {
    digest.update(representation.subarray(at, at + hashedAtOnce))
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return `"${digest.digest('base64url')}"`
}

/** `action`: what depends on it. Throws ObjectNotFound, Forbidden, PreconditionFailed. What was looked at is required to be the same at the commit. */
export async function checkCondition(
  unit: UnitOfWork,
  oid: Oid,
  condition: Condition,
  action: 'read' | 'update' | 'delete',
): Promise<void> {
  const { transaction } = unit
  const { stored, key, format } = await loadExisting(unit, oid, action)
  assert(stored !== undefined, 'the entity tag is that of an object as it is stored')
  transaction.requireRevision(key, revisionPrefixOf(stored))
  const links = new Map<number, readonly Entry[] | Buffer>()
  const { guard } = unit
  for (const attribute of (guard?.formatOf(format) ?? format).linkAttributes) {
    const entries = await readAndRequireLinkEntries(transaction, oid, attribute)
    if (guard === undefined) links.set(attribute.index, await shownLinks(attribute, entries))
  }
  const shown = guard === undefined ? objectJson(format, oid, stored, links) : await guard.representationOf(oid)
  const entityTag = await entityTagOf(shown)
  if (condition(entityTag)) return
  throw new AshlarError(
    'PreconditionFailed',
    `Object ${oid} does not meet the condition: its ETag is ${entityTag}. Read it again, then repeat the request.`,
  )
}
