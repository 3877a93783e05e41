/** Errors for changes that a caller may not make: they name class and action, but reveal nothing of the rules. */
import { AshlarError } from '../errors.ts'

export function denied(message: string): AshlarError {
  return new AshlarError('Forbidden', message)
}

/** For an attribute that no grant with the action allows to set. */
export function attributeReadOnly(action: 'create' | 'update', attributeName: string, className: string): AshlarError {
  const rest = action === 'update' ? 'it keeps its value' : 'new objects have its default value'
  return denied(`Attribute ${attributeName} of class ${className} is read-only for the caller: ${rest}.`)
}

/** For an attribute that may be set, but not to this value: hidden data would be lost or moved. */
export function attributeDenied(action: 'create' | 'update', attributeName: string, className: string): AshlarError {
  return denied(
    action === 'update'
      ? `The caller may not update attribute ${attributeName} of class ${className} to that value.`
      : `The caller may not create objects of class ${className} with that value of attribute ${attributeName}.`,
  )
}

/** For a list of embedded objects that is replaced. */
export function elementsUnclear(attributeName: string, className: string): AshlarError {
  return denied(
    `Attribute ${attributeName} of class ${className}: it is not clear which of its elements these are, and the caller may not see all that they hold. ` +
      'Change one element at a time, or name it by its place in a statement; add and remove elements apart from that.',
  )
}
