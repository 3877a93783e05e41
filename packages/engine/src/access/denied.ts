/** What a caller is told that may not do something to objects: the class and the action, and nothing of the rules. */
import { AshlarError } from '../errors.ts'

export function denied(message: string): AshlarError {
  return new AshlarError('Forbidden', message)
}

/** Of an attribute that no grant with the action lets be set, to whatever value. */
export function attributeReadOnly(action: 'create' | 'update', attributeName: string, className: string): AshlarError {
  const rest = action === 'update' ? 'it keeps its value' : 'new objects have its default value'
  return denied(`Attribute ${attributeName} of class ${className} is read-only for the caller: ${rest}.`)
}

/** Of one that can be set, but not to that: something that is hidden would be lost or taken. */
export function attributeDenied(action: 'create' | 'update', attributeName: string, className: string): AshlarError {
  return denied(
    action === 'update'
      ? `The caller may not update attribute ${attributeName} of class ${className} to that value.`
      : `The caller may not create objects of class ${className} with that value of attribute ${attributeName}.`,
  )
}

/** Of a list of embedded objects that is replaced. */
export function elementsUnclear(attributeName: string, className: string): AshlarError {
  return denied(
    `Attribute ${attributeName} of class ${className}: it is not clear which of its elements these are, and the caller may not see all that they hold. ` +
      'Change one element at a time, or name it by its place in a statement; add and remove elements apart from that.',
  )
}
