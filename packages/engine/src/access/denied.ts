/** What a caller is told that may not do something to objects: the class and the action, and nothing of the rules. */
import { AshlarError } from '../errors.ts'

export function denied(message: string): AshlarError {
  return new AshlarError('Forbidden', message)
}

export function attributeDenied(action: 'create' | 'update', attributeName: string, className: string): AshlarError {
  return denied(
    action === 'update'
      ? `The caller may not update attribute ${attributeName} of class ${className} to that value.`
      : `The caller may not create objects of class ${className} with that value of attribute ${attributeName}.`,
  )
}
