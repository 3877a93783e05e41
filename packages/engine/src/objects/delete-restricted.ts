/** DeleteRestricted: remaining objects refer to a deleted one by attributes that restrict deletions (contract 10.4). */
import { AshlarError } from '../errors.ts'
import type { Oid } from '../types/oid.ts'
import type { ChangeGuard } from '../write/change-guard.ts'
import type { DeletionRule } from './deletion-rules.ts'

/** The maximum number of OIDs reported per attribute. */
export const reportedRestrictingMax = 10

/** The objects that refer to deleted ones by one attribute. */
export interface Restricting {
  readonly rule: DeletionRule
  count: number
  /** The first OIDs. */
  readonly oids: Oid[]
}

/** For hidden objects, the error says only that they exist. */
export async function deleteRestricted(
  all: readonly Restricting[],
  guard: ChangeGuard | undefined,
): Promise<AshlarError> {
  const references: Record<string, unknown>[] = []
  const sentences: string[] = []
  for (const restricting of all) {
    const { rule, count, oids } = restricting
    const { className, attributeName } = nameOf(rule, guard)
    const visibleOids = guard === undefined ? oids : await seenAmong(oids, guard)
    if (className === undefined || (guard !== undefined && visibleOids.length < oids.length)) {
      references.push(className === undefined ? {} : { className, attributeName, oids: visibleOids })
      sentences.push(
        className === undefined ? 'other objects' : `objects by attribute ${attributeName} of ${className}`,
      )
      continue
    }
    references.push({ className, attributeName, count, oids: visibleOids })
    const objects =
      count === 1
        ? `object ${visibleOids[0]}`
        : `${count} objects (${visibleOids.join(', ')}${count > visibleOids.length ? ', …' : ''})`
    sentences.push(`${objects} by attribute ${attributeName} of class ${className}`)
  }
  const message = `The deletion is restricted: what would be deleted is referred to by ${sentences.join('; ')}.`
  return new AshlarError('DeleteRestricted', message, [], { references })
}

async function seenAmong(oids: readonly Oid[], guard: ChangeGuard): Promise<Oid[]> {
  const hidden = await guard.hiddenAmong(oids)
  return oids.filter((oid) => !hidden.has(oid))
}

/** Omits attributes that are hidden from the caller. */
export function nameOf(
  { attribute, cls }: Pick<DeletionRule, 'attribute' | 'cls'>,
  guard: ChangeGuard | undefined,
): { readonly className?: string; readonly attributeName?: string } {
  const named = { className: cls.name, attributeName: attribute.name }
  if (guard === undefined) return named
  const visibleAttributes = guard.catalog.classByNumber(cls.number)?.attributes
  return visibleAttributes?.some(({ number }) => number === attribute.number) === true ? named : {}
}
