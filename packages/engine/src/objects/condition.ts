/** Entity tags of objects, and changes conditional on them (contract 4.1.13, 4.1.17, 4.1.18). */
import { createHash, hash } from 'node:crypto'
import { AshlarError, assert } from '../errors.ts'
import { readAndRequireLinkEntries } from '../links/attribute-links.ts'
import { revisionPrefixOf } from '../records/record-format.ts'
import type { Awaitable, Entry } from '../store/store.ts'
import { openTimeSlice, yieldToNewWork } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { objectJson, visibleLinks } from './read.ts'
import { loadExisting } from './update.ts'

/** Receives the object's entity tag as of the commit. */
export type TagCondition = (entityTag: string) => boolean

/** Bytes hashed per time slice check: about a millisecond of work. */
const hashSliceBytes = 1_048_576

/**
 * A hash, in double quotes, of the representation: attributes, links, and the schema used to show them. Yields to other
 * requests for large representations, which may reach a hundred megabytes with their links.
 */
export function entityTagOf(representation: Uint8Array): Awaitable<string> {
  if (representation.length > hashSliceBytes) return largeEntityTag(representation)
  return `"${hash('sha1', representation, 'base64url')}"`
}

async function largeEntityTag(representation: Uint8Array): Promise<string> {
  // Building the representation has used up this time slice.
  await yieldToNewWork()
  const slice = openTimeSlice()
  const digest = createHash('sha1')
  for (let at = 0; at < representation.length; at += hashSliceBytes) {
    digest.update(representation.subarray(at, at + hashSliceBytes))
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return `"${digest.digest('base64url')}"`
}

/**
 * `action`: the change that depends on the condition. The commit requires the representation to be unchanged. Throws
 * ObjectNotFound, Forbidden, PreconditionFailed.
 */
export async function checkCondition(
  unit: UnitOfWork,
  oid: Oid,
  condition: TagCondition,
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
    if (guard === undefined) links.set(attribute.index, await visibleLinks(attribute, entries))
  }
  const representation =
    guard === undefined ? objectJson(format, oid, stored, links) : await guard.representationOf(oid)
  const entityTag = await entityTagOf(representation)
  if (condition(entityTag)) return
  throw new AshlarError(
    'PreconditionFailed',
    `Object ${oid} does not meet the condition: its ETag is ${entityTag}. Read it again, then repeat the request.`,
  )
}
