/** InvalidReference, for references that are newly set. */
import { AshlarError } from '../errors.ts'
import type { Oid } from '../types/oid.ts'

/** The position of a reference in the request, for messages. */
export interface ReferenceLocation {
  readonly className: string
  readonly attributeName: string
}

export function noSuchTarget(target: Oid, { attributeName, className }: ReferenceLocation): AshlarError {
  return new AshlarError(
    'InvalidReference',
    `Attribute ${attributeName} of class ${className} refers to ${target}, but there is no such object.`,
  )
}

/** `expectedClass`: the class that the attribute refers to; undefined if it is hidden from the caller. */
export function targetOfOtherClass(
  target: Oid,
  className: string,
  expectedClass: string | undefined,
  place: ReferenceLocation,
): AshlarError {
  const refers =
    expectedClass === undefined ? 'does not refer to such objects' : `refers to objects of class ${expectedClass}`
  return new AshlarError(
    'InvalidReference',
    `Attribute ${place.attributeName} of class ${place.className} ${refers}, but ${target} is of class ${className}.`,
  )
}
