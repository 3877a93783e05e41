/** Faults in the attributes of a command, told with class, attribute and place. */
import { AshlarError, type CommandPlace, type ErrorKind } from '../errors.ts'
import { truncateForMessage } from '../schema/command-error.ts'
import { ValueError } from '../types/logical-type.ts'

/** Where a command says something about an attribute. */
export function attributePlace(name: string, path: readonly (string | number)[] = []): CommandPlace {
  return ['attributes', name, ...path]
}

/** What a value can be to blame for; the rest is the store's, or ours. */
const kindsOfValues: ReadonlySet<ErrorKind> = new Set(['malformed', 'notFound', 'conflict', 'unprocessable'])

/** A ValueError as an error of the command; an error without a place gets the attribute's; anything else stays as it is. */
export function attributeError(error: unknown, className: string, name: string): unknown {
  if (error instanceof AshlarError && error.errors.length === 0 && kindsOfValues.has(error.kind)) {
    return new AshlarError(error.type, error.message, [{ place: attributePlace(name), message: error.message }])
  }
  if (!(error instanceof ValueError)) return error
  const path = error.path.map(String)
  const inner = path.length === 0 ? '' : ` (at ${truncateForMessage(path.join('.'))})`
  const message = `Class ${className}, attribute ${name}${inner}: ${error.message}.`
  return new AshlarError(error.type, message, [{ place: attributePlace(name, error.path), message: error.message }])
}
